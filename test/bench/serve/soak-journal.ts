/** The journals of the soak's clients, and which rows must exist by them. */
import { readFileSync } from "node:fs";

/** The collections; each client has `range` ids, so that the count of live rows stays the same. */
export const SOAK = {
  vectors: { name: "vectors", dim: 64, range: 500 },
  notes: { name: "notes", embedder: "multigram", range: 200 },
} as const;
export type SoakCollection = keyof typeof SOAK;

/** One line of a journal. `n` counts a client's changes over all its restarts. */
export interface Entry {
  kind: "try" | "done" | "saved" | "error";
  collection?: SoakCollection;
  n?: number;
  what?: "put" | "delete";
  ids?: string[];
  message?: string;
}

export function rowId(client: number, row: number): string {
  return `c${client}-${row}`;
}

/** A journal's entries; a last line that is torn counts as not written. */
export function readJournal(path: string): Entry[] {
  const entries: Entry[] = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    try {
      if (line !== "") entries.push(JSON.parse(line));
    } catch {
      // Torn by a kill.
    }
  }
  return entries;
}

/** Rows that are neither as an acknowledged save left them nor as a later change that may have been applied. */
export function lostRows(entries: Entry[], collection: SoakCollection, live: ReadonlyMap<string, number>): string[] {
  const own = entries.filter((entry) => entry.collection === collection);
  const done = new Set(own.filter(({ kind }) => kind === "done").map(({ n }) => n));
  const saved = Math.max(0, ...own.filter(({ kind }) => kind === "saved").map(({ n }) => n!));
  /** By id, the versions that it may have; undefined: no row. */
  const allowed = new Map<string, (number | undefined)[]>();
  for (const { kind, n, what, ids } of own) {
    if (kind !== "try") continue;
    const version = what === "put" ? n : undefined;
    for (const id of ids!) {
      // Acknowledged and saved: older versions no longer count. Otherwise it may be there or not.
      if (done.has(n) && n! <= saved) allowed.set(id, [version]);
      else allowed.set(id, [...(allowed.get(id) ?? [undefined]), version]);
    }
  }
  return [...allowed].filter(([id, versions]) => !versions.includes(live.get(id))).map(([id]) => id);
}
