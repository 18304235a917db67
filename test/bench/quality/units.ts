/** What is added and ranked for a set: its documents, or windows of them where they are long files. */
import { CHUNK_DEFAULTS, chunkBytes, textBytes, textOf } from "../../../src/repo/chunks/chunk.ts";
import { COMMITS } from "./commits.ts";
import { TOP } from "./score.ts";
import type { DataSet, Item } from "./sets.ts";

/** One row. */
export interface Unit {
  id: string;
  text: string;
  group?: string | undefined;
  session?: string | undefined;
  turn?: number | undefined;
}

/** The rows of a set, and how rankings of them become rankings of documents. */
export interface Units {
  rows: Unit[];
  /** How many rows have to be ranked for ten documents. */
  depth: number;
  /** Documents by their best row. */
  toDocuments(rows: readonly string[]): string[];
}

/** Windows that are ranked for ten files. */
const WINDOWS = 100;

/** The rows of a set; documents of one whose name begins with `commits` are files. */
export function unitsOf({ name, documents }: DataSet): Units {
  if (name.startsWith(COMMITS)) return { rows: documents.flatMap(windowsOf), depth: WINDOWS, toDocuments: filesOf };
  const rows = documents.map(({ title, text, ...rest }) => ({ ...rest, text: title ? `${title}\n${text}` : text }));
  return { rows, depth: TOP, toDocuments: (ids) => [...ids] };
}

/** Windows as the repository's indexer cuts and writes them, named file#n. */
export function windowsOf({ id, title, text, group }: Item): Unit[] {
  const bytes = textBytes(new TextEncoder().encode(text));
  return chunkBytes(bytes, CHUNK_DEFAULTS).map(({ from, to }, n) => ({
    id: `${id}#${n}`,
    text: `${title ?? id}\n${textOf(bytes.subarray(from, to))}`,
    group,
  }));
}

/** Files in the order of their best windows. */
export function filesOf(windows: readonly string[]): string[] {
  return [...new Set(windows.map((id) => id.slice(0, id.lastIndexOf("#"))))];
}
