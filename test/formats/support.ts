/** Reading files as an import does, without a memory. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRows } from "../../src/formats/formats.ts";
import type { FormatFlags } from "../../src/formats/input/flags.ts";
import type { ForeignRow } from "../../src/formats/input/row.ts";

/** The samples of other memories. */
export const SAMPLES = join(import.meta.dir, "../data/imports");

/** What a file holds, or how it is refused. */
export interface Read {
  rows: ForeignRow[];
  remarks: readonly string[];
  /** As in "ValueError: …". */
  error: string | undefined;
}

/** Reads a file or a folder to its end, or to its first error. */
export async function read(
  path: string,
  { from, onBad, ...flags }: FormatFlags & { from?: string; onBad?: (error: Error) => void } = {},
): Promise<Read> {
  const { signal } = new AbortController();
  const rows: ForeignRow[] = [];
  let remarks: readonly string[] = [];
  try {
    const source = await openRows(path, from, { signal, flags, onBad });
    for await (const some of source.rows(signal)) for (const row of [some].flat()) rows.push(row);
    remarks = source.remarks?.() ?? [];
    return { rows, remarks, error: undefined };
  } catch (error) {
    return { rows, remarks, error: String(error) };
  }
}

/** A folder that is removed when the test process ends. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "svc-formats-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

const scratch = folder();
let files = 0;

/** A file of this content, in a folder of its own. */
export function file(name: string, content: string | Uint8Array): string {
  const path = join(mkdtempSync(join(scratch, `${files++}-`)), name);
  writeFileSync(path, content);
  return path;
}

/** A row without where it stands. */
export const plain = ({ where: _, ...row }: ForeignRow) => row;
