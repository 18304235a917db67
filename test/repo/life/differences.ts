/** What of a repository in a lived collection is not as in a fresh one. */

import { QUERIES } from "./call-steps.ts";
import type { Caller } from "./caller.ts";
import type { Expected } from "./expected.ts";
import type { DumpedRow } from "./process.ts";

interface Compared {
  lived: Caller;
  fresh: Caller;
  root: string;
  /** Collection of the fresh index. */
  name: string;
  /** What git says, where it says something. */
  expected: Expected | undefined;
}

/** Lines about the first few differences; none where there are none. */
export async function differences({ lived, fresh, root, name, expected }: Compared): Promise<string[]> {
  // A search is what brings the index up to date for an agent, with the settings of the last run.
  const first = await lived.call("repo_search", { workspace: root, query: QUERIES[0], max_bytes: 0 });
  if (first.partial) return ["a search without a limit is partial"];
  await fresh.call("index_repo", { path: root, collection: name });
  const isKnown = (path: string) => !expected?.unknown.some((folder) => path.startsWith(`${folder}/`));
  const rowsOf = async (caller: Caller, collection: string) => {
    const rows: DumpedRow[] = await caller.call("rows", { root, collection });
    return new Map(rows.filter(([, metadata]) => isKnown(pathOf(metadata))).map((row) => [row[0], row]));
  };
  const [mine, theirs] = [await rowsOf(lived, "repo_symbols"), await rowsOf(fresh, name)];
  const lines = [
    ...sets("rows", new Set(mine.keys()), new Set(theirs.keys()), "a fresh index"),
    ...[...mine].flatMap(([id, row]) => changed(row, theirs.get(id))),
    ...(expected ? sets("files", filesOf(theirs), expected.paths, "git") : []),
  ];
  if (lines.length > 0 || (expected?.unknown.length ?? 0) > 0) return lines.slice(0, 12);
  for (const query of QUERIES) {
    const asked = { workspace: root, query, top_k: 1000, max_bytes: 0, with_text: true };
    const hits = (await lived.call("repo_search", asked)).hits;
    const others = (await fresh.call("repo_search", { ...asked, collection: name })).hits;
    const [one, two] = [hits, others].map((list) => list.map((hit: object) => JSON.stringify(hit)));
    const at = one!.findIndex((hit: string, i: number) => hit !== two![i]);
    if (one!.length !== two!.length || at >= 0) {
      lines.push(
        `"${query}" is answered otherwise from hit ${at} of ${one!.length}: ${cut(one![at])} not ${cut(two![at])}`,
      );
    }
    const bare = hits.find((hit: { text?: string }) => typeof hit.text !== "string");
    if (bare) lines.push(`"${query}" is answered with a hit without text: ${cut(JSON.stringify(bare))}`);
  }
  return lines;
}

const cut = (text: string | undefined) => text?.slice(0, 160);
const filesOf = (rows: ReadonlyMap<string, DumpedRow>) =>
  new Set([...rows.values()].map(([, metadata]) => pathOf(metadata)));
const pathOf = (metadata: string) => JSON.parse(metadata).path as string;

function sets(what: string, mine: ReadonlySet<string>, theirs: ReadonlySet<string>, other: string): string[] {
  const more = [...mine].filter((item) => !theirs.has(item)).map((item) => `${what}: ${item} is not there by ${other}`);
  const less = [...theirs]
    .filter((item) => !mine.has(item))
    .map((item) => `${what}: ${item} is missing, there by ${other}`);
  return [...more, ...less];
}

function changed(mine: DumpedRow, theirs: DumpedRow | undefined): string[] {
  if (theirs === undefined || (mine[1] === theirs[1] && mine[2] === theirs[2])) return [];
  return [`row ${mine[0]} has ${mine[1] === theirs[1] ? "another vector" : `${mine[1]}, not ${theirs[1]}`}`];
}
