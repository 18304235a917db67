/**
 * The MCP server in front of verbs that store nothing; with FIXTURE_MEMORY, of a memory in that directory. The
 * environment sets how the gate behaves. With SVC_TEST_REMOTE the verbs are those of a server, as with `svc mcp --remote`.
 */
import { openRemote } from "../../src/cli/access/remote.ts";
import { PermissionError } from "../../src/errors.ts";
import { serveMcp } from "../../src/mcp/server.ts";
import { defaultScope } from "../../src/memory/default-scope.ts";
import type { Verbs } from "../../src/memory/requests.ts";
import { log, verbs } from "./fixture-verbs.ts";
import { IS_REMOTE, startServed } from "./remote.ts";

let refusals = Number(process.env.FIXTURE_REFUSALS ?? 0);
let closeServed: (() => Promise<void>) | undefined;

async function openHere(): Promise<Verbs> {
  const dir = process.env.FIXTURE_MEMORY;
  if (dir !== undefined) return (await (await import("../fixture.ts")).TestMemory.open(dir)).memory;
  return verbs as Verbs;
}

async function openThere(): Promise<Verbs> {
  const dir = process.env.FIXTURE_MEMORY;
  const served = dir === undefined ? undefined : await startServed(dir);
  const memory = {
    address: served?.address ?? process.env.FIXTURE_ADDRESS!,
    tls: undefined,
    token: async () => undefined,
  };
  const there = await openRemote(memory, undefined, async () => verbs as Verbs);
  closeServed = async () => {
    await there.close();
    await served?.stop();
  };
  return there.verbs;
}

async function open(): Promise<Verbs> {
  log("gate");
  await Bun.sleep(5);
  if (refusals-- > 0) throw new PermissionError("not logged in: run 'svc login'");
  return IS_REMOTE ? openThere() : openHere();
}

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const named = process.env.FIXTURE_PROJECT;
const project = named === undefined ? undefined : defaultScope(named, { flag: process.env.FIXTURE_WORKSPACE }, []);
const monitorLog = process.env.FIXTURE_MONITOR;
await serveMcp({ verbs: open, isServed: IS_REMOTE, version: "1.2.3", project, monitorLog, signal: stop.signal });
await closeServed?.();
log("exit");
