/**
 * One client of the soak: changes rows of its own range, saves, searches, reconnects, and keeps a journal, until it is
 * killed. A change is noted before it is sent (`try`) and after its answer (`done`), a save, synced, once acknowledged.
 */
import { closeSync, existsSync, fsyncSync, openSync, writeSync } from "node:fs";
import { connect, type RemoteTelys } from "../../../src/remote/client/client.ts";
import { random, unitVectors } from "../../random.ts";
import { makeTexts } from "../texts.ts";
import { type Entry, readJournal, rowId, SOAK, type SoakCollection } from "./soak-journal.ts";

const [address, client, path] = process.argv.slice(2) as [string, string, string];
const entries = existsSync(path) ? readJournal(path) : [];
let change = entries.reduce((most, { n = 0 }) => Math.max(most, n), 0);
const next = random(Date.now() ^ (Number(client) << 20));
const texts = makeTexts(200, 30, 17);
const vectors = unitVectors(200, SOAK.vectors.dim, random(19));
const journal = openSync(path, "a");

try {
  for (;;) {
    await using server = await connect(address);
    for (let round = 0; round < 40; round++) await oneRound(server);
  }
} catch (error) {
  // The benchmark stops the clients before the server, so no failure is expected.
  note({ kind: "error", message: (error as Error).message });
  closeSync(journal);
  process.exit(1);
}

async function oneRound(server: RemoteTelys): Promise<void> {
  const collection: SoakCollection = next() < 0.7 ? "vectors" : "notes";
  const rows = await server.openCollection(SOAK[collection].name);
  const ids = someIds(collection);
  const drawn = next();
  if (drawn < 0.1) {
    await changed(collection, "delete", ids, () => rows.delete(ids));
  } else if (drawn < 0.25) {
    await changed(collection, "delete", ids, () => rows.delete(ids));
    await changed(collection, "put", ids, (metadata) => put("add", ids, metadata));
  } else {
    await changed(collection, "put", ids, (metadata) => put("upsert", ids, metadata));
  }
  if (collection === "vectors") await rows.search(vectors.subarray(0, SOAK.vectors.dim), { withMetadata: true });
  else await rows.searchText(texts[Math.floor(next() * texts.length)]!.slice(0, 40));
  if (next() < 0.3) {
    await (next() < 0.02 ? rows.compact() : rows.save());
    note({ kind: "saved", collection, n: change });
    fsyncSync(journal);
  }

  function put(op: "add" | "upsert", ids: string[], metadata: object[]): Promise<unknown> {
    const options = { ids, metadata: metadata as Record<string, never>[] };
    const from = Math.floor(next() * 150);
    if (collection === "notes") return rows[`${op}Texts`](texts.slice(from, from + ids.length), options);
    const { dim } = SOAK.vectors;
    return rows[op](vectors.subarray(from * dim, (from + ids.length) * dim), options);
  }
}

async function changed(
  collection: SoakCollection,
  kind: "put" | "delete",
  ids: string[],
  run: (metadata: object[]) => Promise<unknown>,
): Promise<void> {
  const n = ++change;
  note({ kind: "try", collection, n, what: kind, ids });
  await run(ids.map(() => ({ n })));
  note({ kind: "done", collection, n });
}

function someIds(collection: SoakCollection): string[] {
  const { range } = SOAK[collection];
  const from = Math.floor(next() * (range - 20));
  const count = collection === "notes" ? 5 : 20;
  return Array.from({ length: count }, (_, i) => rowId(Number(client), from + i));
}

/** A line is one write, so that a killed client leaves whole lines, except for the last. */
function note(entry: Entry): void {
  writeSync(journal, `${JSON.stringify(entry)}\n`);
}
