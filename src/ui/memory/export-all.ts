/** Every collection as a file of JSON lines in a folder. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { readFolder } from "../../checks/folders.ts";
import { shown } from "../../checks/kinds.ts";
import { diskError, makeDirectory } from "../../durable.ts";
import { CancelledError, SvcError, ValueError } from "../../errors.ts";
import type { Terminal } from "../../memory/terminal.ts";
import { exportPages, headLine } from "../../memory/transfer/export.ts";
import { ExportFile } from "../../memory/transfer/export-file.ts";
import type { LocalParts, Site } from "./site.ts";
import { call } from "./verb.ts";

export interface ExportedAll {
  readonly folder: string;
  readonly files: { readonly name: string; readonly rows: number; readonly bytes: number }[];
  /** Collections that could not be exported. */
  readonly left: { readonly name: string; readonly reason: string }[];
}

/**
 * Each file is there whole or not at all.
 * @throws ValueError where one of the files is there already: then nothing is written; OSError
 */
export async function exportAll(site: Site, local: LocalParts, to: string, signal: AbortSignal): Promise<ExportedAll> {
  const folder = readFolder(to, "the folder");
  const terminal = await local.terminal();
  const names = (await local.overview()).map(({ name }) => name);
  const taken = names.find((name) => isThere(fileOf(folder, name)));
  if (taken !== undefined)
    throw new ValueError(`${shown(fileOf(folder, taken))} exists already: name another folder, or remove the file`);
  makeDirectory(folder, 0o700);
  const done: ExportedAll = { folder, files: [], left: [] };
  for (const name of names) {
    if (signal.aborted) throw new CancelledError("interrupted");
    try {
      const { ids } = await call(site, "ids", { collection: name });
      done.files.push({ name, ...(await exportOne(terminal, name, ids, fileOf(folder, name))) });
    } catch (error) {
      // A damaged collection must not keep the others from their files.
      if (!(error instanceof SvcError) || error.code === "disk_full") throw error;
      done.left.push({ name, reason: error.message });
    }
  }
  return done;
}

/** @throws OSError where the system does not say it, as below a file */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw diskError(error, "write", path);
  }
}

function fileOf(folder: string, name: string): string {
  return join(folder, `${name}.jsonl`);
}

async function exportOne(terminal: Terminal, collection: string, ids: readonly string[], path: string) {
  const head = await terminal.export_head({ collection });
  const file = ExportFile.open({ path, force: false, key: crypto.randomUUID().replaceAll("-", "").slice(0, 16) });
  let rows = 0;
  try {
    file.write(`${headLine(head)}\n`);
    const options = { vectors: head.schema.embedder === null, metadata: true, times: true };
    for await (const page of exportPages(terminal, collection, ids, options)) {
      file.write(page.lines);
      rows += page.rows;
    }
    file.finish();
  } catch (error) {
    file.abandon(false);
    throw error;
  }
  return { rows, bytes: file.size };
}
