/**
 * A server of a memory, until its stdin ends: of FIXTURE_MEMORY, or one whose tools are the verbs of `fixture-verbs.ts`.
 * It prints its address.
 */
import { join } from "node:path";
import { Memory } from "../../src/memory/memory.ts";
import { serve } from "../../src/remote/server/server.ts";
import { scratchDir } from "../fixture.ts";
import { openLocal } from "../remote/server/raw.ts";
import { verbs } from "./fixture-verbs.ts";

const dir = process.env.FIXTURE_MEMORY;
if (dir === undefined) Object.assign(Memory.prototype, verbs);
const store = await openLocal(dir ?? scratchDir());
const server = await serve({ store, socketPath: join(scratchDir(), "s.sock") });
console.log(server.address);
// Tools save what they change.
await Bun.stdin.bytes();
process.exit(0);
