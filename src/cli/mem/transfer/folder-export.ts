/**
 * `svc mem export --markdown`: a file a row. Files of a former export are brought up to date, those of deleted rows removed,
 * and what a person edited or wrote stays.
 */
import { join } from "node:path";
import { writeDurable } from "../../../durable.ts";
import { CancelledError } from "../../../errors.ts";
import { headOf } from "../../../formats/head.ts";
import type { Memory } from "../../../memory/memory.ts";
import type { CallContext, ExportRowsPayload } from "../../../memory/requests.ts";
import { stateOf } from "../../../memory/transfer-folder.ts";
import { type FolderFile, lockingFolder, readList, scanFolder } from "./folder.ts";
import { FolderFiles } from "./folder-files.ts";
import { LIST_NAME } from "./list-name.ts";
import { rowFile } from "./row-file.ts";
import { pathOf } from "./row-names.ts";

/** Rows of a page, whose texts are held at once. */
const PAGE_ROWS = 64;

/** What is to be exported. */
export interface FolderExport {
  readonly collection: string;
  readonly folder: string;
  /** The rows, in their order. */
  readonly ids: readonly string[];
  /** Whether these are all rows: files of others are of deleted ones. */
  readonly isWhole: boolean;
  readonly progress: (done: number) => void;
}

/** What was done, as numbers of rows, and the edited files that stayed. */
export interface FolderExported {
  exported: number;
  written: number;
  unchanged: number;
  removed: number;
  /** Rows without a text, which are left out. */
  without_text: number;
  /** Paths of files that differ from their rows, or whose rows are gone. */
  edited: string[];
  remarks: string[];
}

type ExportedRow = ExportRowsPayload["rows"][number];

/** Writes the folder. @throws ValueError, OSError; CancelledError: what was written stays, and a repeated call goes on */
export async function exportFolder(
  verbs: Memory,
  plan: FolderExport,
  { signal }: CallContext,
): Promise<FolderExported> {
  const files = new FolderFiles(plan.folder);
  const terminal = await verbs.terminal();
  await terminal.check_editable({ collection: plan.collection });
  const { schema } = await terminal.export_head({ collection: plan.collection });
  files.prepare();
  return lockingFolder(plan.folder, async () => {
    const work = new Work(plan, files, await scanFolder(plan.folder, signal ?? new AbortController().signal));
    for (let start = 0; start < plan.ids.length; start += PAGE_ROWS) {
      if (signal?.aborted) throw new CancelledError(`interrupted after ${start} rows: repeat the command to go on`);
      const ids = plan.ids.slice(start, start + PAGE_ROWS);
      const page = await terminal.export_rows({ collection: plan.collection, ids, with_vectors: false });
      for (const row of page.rows) work.row(row, schema.partition_by);
      await work.flush();
      plan.progress(start + ids.length);
      // Reading is synchronous: without this turn of the event loop Ctrl-C would have effect only at the end.
      await new Promise(setImmediate);
    }
    work.removeOthers();
    files.finish();
    work.writeList(headOf(plan.collection, schema));
    return work.done;
  });
}

class Work {
  readonly done: FolderExported;
  private readonly byId = new Map<string, FolderFile>();
  private readonly taken: Set<string>;
  private readonly states = new Map<string, string>();

  constructor(
    private readonly plan: FolderExport,
    private readonly files: FolderFiles,
    { files: found, problems, remarks }: Awaited<ReturnType<typeof scanFolder>>,
  ) {
    this.taken = new Set(found.map(({ path }) => path.toLowerCase()));
    for (const file of found) if (file.id !== undefined) this.byId.set(file.id, file);
    this.done = {
      ...{ exported: 0, written: 0, unchanged: 0, removed: 0, without_text: 0, edited: [] },
      remarks: [...remarks, ...problems.map(({ message }) => `left as it is: ${message}`)],
    };
  }

  /** Brings the file of a row up to date. */
  row(row: ExportedRow, partitionBy: string): void {
    const { id, text, metadata, created, updated } = row;
    if (text === undefined) {
      this.done.without_text += 1;
      return;
    }
    const state = stateOf({ id, text, metadata });
    const file = this.byId.get(id);
    this.byId.delete(id);
    this.done.exported += 1;
    this.states.set(id, state);
    if (file?.state === state && !file.isEdited) {
      this.done.unchanged += 1;
      return;
    }
    // Unless the row is by now as the file says, an edited file waits for its import.
    if (file?.isEdited && file.now !== state) {
      this.done.edited.push(file.path);
      // The state that the edit began with.
      if (file.state !== undefined) this.states.set(id, file.state);
      return;
    }
    const path =
      file?.path ?? pathOf({ id, text }, metadata?.[partitionBy], (one) => this.taken.has(one.toLowerCase()));
    this.taken.add(path.toLowerCase());
    const content = rowFile({ id, text, metadata, created, updated, state });
    this.files.write(path, content, file?.stamp);
    this.done.written += 1;
  }

  /** A file that was changed while this ran stays. */
  async flush(): Promise<void> {
    const others = await this.files.flush();
    this.done.written -= others.size;
    this.done.edited.push(...others);
  }

  /** Removes the files of rows that are not there any more, unless they were edited. */
  removeOthers(): void {
    if (!this.plan.isWhole) return;
    for (const { path, state, isEdited, stamp } of this.byId.values()) {
      // A file without a state is one that svc did not write, or was edited.
      if (state === undefined || isEdited) this.done.edited.push(path);
      else if (this.files.remove(path, stamp)) this.done.removed += 1;
    }
  }

  /** After an export of some rows, the list keeps the others. */
  writeList(head: Record<string, unknown>): void {
    const { folder, isWhole } = this.plan;
    const states = isWhole ? new Map<string, string>() : readList(folder).states;
    for (const [id, state] of this.states) states.set(id, state);
    writeList(folder, head, states);
  }
}

/** Writes the list of exported rows. @throws OSError */
export function writeList(folder: string, head: Record<string, unknown>, states: ReadonlyMap<string, string>): void {
  const lines = [...states].map(([id, state]) => `${JSON.stringify({ id, state })}\n`);
  writeDurable(join(folder, LIST_NAME), `${JSON.stringify(head)}\n${lines.join("")}`);
}
