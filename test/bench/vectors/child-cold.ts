/** A cold start to the first answer with the SDK: signature checks, opening and one query. */
import { readFileSync } from "node:fs";
import { Store } from "../../../src/sdk.ts";
import { COLLECTION } from "./contender.ts";
import type { Job } from "./protocol.ts";

const job = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as Job;
const bytes = readFileSync(job.queriesFile);
const store = await Store.open(job.dir);
const query = new Float32Array(bytes.buffer, bytes.byteOffset, job.dim);
const exact = process.argv[3] === "--exact" ? { targetRecall: 1 } : {};
const { ids } = await store.collection(COLLECTION).search(query, { topK: 10, ...exact });
process.stdout.write(`answer ${ids[0]}\n`);
const status = readFileSync("/proc/self/status", "utf8");
const resident = Number(status.match(/^VmRSS:\s+(\d+) kB/m)?.[1] ?? 0) * 1024;
process.stdout.write(`resident ${resident}\n`, () => process.exit(0));
