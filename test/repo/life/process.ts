/** A process that works with one memory: requests as lines of JSON on stdin, an answer to each on stdout. */
import { REPO_COLLECTION } from "../../../src/checks/names.ts";
import type { VerbName } from "../../../src/memory/requests.ts";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { openStore, TestMemory } from "../../fixture.ts";

/** What it can be asked for beside the verbs. */
export interface Requests {
  /** Rows of a root in a collection: id, metadata and a hash of the stored vector, in the order of the ids. */
  rows: { root: string; collection: string };
  /** Ids of all repositories that have rows. */
  repositories: Record<string, never>;
  /** Reads everything and compares all checksums. */
  verify: Record<string, never>;
  forget: { root: string };
}

/** A row as it is compared. */
export type DumpedRow = [id: string, metadata: string, vector: string];

/** Ids in one read: vectors of 4,096 dimensions are large. */
const IDS = 64;

const memory = await TestMemory.open(process.argv[2]!);
/** A second look at the same collections, as of another process. */
const store = await openStore(memory.dir);

// biome-ignore lint/suspicious/noExplicitAny: lines of JSON
async function answer(what: string, args: any): Promise<unknown> {
  if (what === "rows") return rows(args);
  if (what === "forget") return (await memory.memory.repositories()).overview.forget(args.root);
  if (what === "verify") return store.find(REPO_COLLECTION)?.verify();
  if (what !== "repositories") return memory.call(what as VerbName, args);
  const ids = store.find(REPO_COLLECTION)?.ids() ?? [];
  return [...new Set(ids.map((id) => id.slice(0, 16)))];
}

function rows({ root, collection }: Requests["rows"]): DumpedRow[] {
  const found = store.find(collection);
  if (found === undefined) return [];
  const ids = found.ids({ where: { column: "repo_id", value: repoIdOf(root) } }).sort();
  const dumped: DumpedRow[] = [];
  for (let at = 0; at < ids.length; at += IDS) {
    for (const row of found.get(ids.slice(at, at + IDS), { metadata: true, vector: true })) {
      const vector = Buffer.from(row.vector!.buffer, row.vector!.byteOffset, row.vector!.byteLength);
      dumped.push([row.id, JSON.stringify(row.metadata), Bun.hash(vector).toString(36)]);
    }
  }
  return dumped;
}

process.stdout.write("ready\n");
for await (const line of console) {
  if (line === "") continue;
  const { what, args } = JSON.parse(line) as { what: string; args: object };
  const said = await answer(what, args).then(
    (value) => ({ value }),
    (error) => ({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }),
  );
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
await store.close();
await memory.close();
