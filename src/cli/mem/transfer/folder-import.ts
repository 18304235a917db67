/**
 * `svc mem import` of a folder that `svc mem export --markdown` wrote: what was edited there comes back. After each save the
 * files get the state that their rows have, so that a later edit is compared with it.
 */
import { CancelledError, SvcError, ValueError } from "../../../errors.ts";
import { ContentIds } from "../../../formats/input/content-ids.ts";
import type { Memory } from "../../../memory/memory.ts";
import type { CallContext } from "../../../memory/requests.ts";
import type { FolderRow } from "../../../memory/transfer-folder.ts";
import type { WantedSchema } from "../../../memory/transfer-schema.ts";
import { type FolderContent, type FolderFile, lockingFolder, readFile, readList, scanFolder } from "./folder.ts";
import { FolderStates } from "./folder-states.ts";

/** Rows of a save, and UTF-16 units of their texts. */
const BATCH_ROWS = 1000;
const BATCH_UNITS = 16 * 1024 * 1024;

/** What is to be imported. */
export interface FolderImport {
  readonly collection: string;
  readonly folder: string;
  readonly schema: WantedSchema;
  /** Whether new rows get the times of their files. */
  readonly times: boolean;
  /** Whether rows whose files are gone are deleted. */
  readonly isDelete: boolean;
  /** Whether rows that were deleted since the export, and whose files were not edited, are added again. */
  readonly isRestore: boolean;
  readonly dryRun: boolean;
  /** Gets what is wrong with a file, which is then left out; absent: nothing is imported. */
  readonly onBad?: ((error: SvcError) => void) | undefined;
  readonly progress: (done: number, total: number) => void;
}

/** What was done, or would be. */
export interface FolderImported {
  readonly added: string[];
  readonly updated: string[];
  /** Versions of the folder beside rows that were changed in the collection too. */
  readonly beside: { readonly file: string; readonly id: string; readonly added: string }[];
  readonly deleted: string[];
  /** Rows that are as their files. */
  unchanged: number;
  /** Unedited files of rows that are not there any more. */
  gone: number;
  /** Rows whose files are not there any more and which stay, because they were changed or nothing was said of them. */
  missing: number;
  masked: number;
  remarks: string[];
  /** Files whose state could not be written. */
  readonly unwritten: number;
}

/** @throws ValueError, OSError naming the file; CancelledError: what was saved stays */
export async function importFolder(verbs: Memory, plan: FolderImport, context: CallContext): Promise<FolderImported> {
  return lockingFolder(plan.folder, async () => {
    const content = await scanFolder(plan.folder, context.signal ?? new AbortController().signal);
    for (const problem of content.problems) {
      if (!plan.onBad) throw problem;
      plan.onBad(problem);
    }
    return new FolderImporting(verbs, plan, content, context).run();
  });
}

/** A row to put, and the file that it is from. */
interface Pending {
  readonly file: FolderFile;
  readonly content: string;
  readonly row: FolderRow;
}

class FolderImporting {
  private readonly done: FolderImported;
  private readonly list: ReturnType<typeof readList>;
  private readonly states: FolderStates;
  private readonly ids: Set<string>;
  private readonly contentIds = new ContentIds();
  /** Files without an id and without a text. */
  private readonly blank: string[] = [];

  constructor(
    private readonly verbs: Memory,
    private readonly plan: FolderImport,
    private readonly content: FolderContent,
    private readonly context: CallContext,
  ) {
    this.list = readList(plan.folder);
    this.states = new FolderStates(plan.folder, this.list, content.files);
    this.ids = new Set(content.files.flatMap(({ id }) => (id === undefined ? [] : [id])));
    this.done = {
      ...{
        added: [],
        updated: [],
        beside: [],
        deleted: [],
        unchanged: 0,
        gone: 0,
        missing: 0,
        masked: 0,
        unwritten: 0,
      },
      remarks: [...content.remarks],
    };
  }

  async run(): Promise<FolderImported> {
    const { content, plan, done } = this;
    // A file may only look as if it were gone.
    if (plan.isDelete && content.problems.length + content.remarks.length > 0) {
      const [why] = [...content.problems.map(({ message }) => message), ...content.remarks];
      throw new ValueError(
        `nothing was imported, as --delete needs a folder whose files can all be read as rows: ${why}`,
      );
    }
    const terminal = await this.verbs.terminal();
    const listed = [...this.list.states.keys()].filter((id) => !this.ids.has(id));
    const present = await terminal.present_ids({ collection: plan.collection, ids: [...this.ids, ...listed] });
    const wanted = content.files.filter((file) => this.isWanted(file, present));
    let batch: Pending[] = [];
    let units = 0;
    for (const [i, file] of wanted.entries()) {
      if (this.context.signal?.aborted) throw new CancelledError("interrupted");
      const pending = this.pendingOf(file);
      if (!pending) continue;
      batch.push(pending);
      units += pending.content.length;
      if (batch.length < BATCH_ROWS && units < BATCH_UNITS) continue;
      await this.put(batch);
      plan.progress(i + 1, wanted.length);
      [batch, units] = [[], 0];
    }
    if (batch.length > 0) await this.put(batch);
    if (this.blank.length > 0) {
      const named = this.blank.slice(0, 3).map((path) => `'${path}'`);
      done.remarks.push(`${this.blank.length} left out, without text: ${named.join("; ")}`);
    }
    await this.removeMissing(listed.filter((id) => present?.has(id)));
    if (!plan.dryRun) this.states.finish(plan.collection);
    const { unwritten, why } = this.states;
    if (why !== undefined) done.remarks.push(why);
    return { ...done, unwritten };
  }

  /** Whether a file has something to import; the others are counted. */
  private isWanted({ id, isEdited }: FolderFile, present: ReadonlySet<string> | undefined): boolean {
    if (isEdited || present === undefined || id === undefined) return true;
    if (!present.has(id)) {
      if (this.plan.isRestore) return true;
      this.done.gone += 1;
    } else this.done.unchanged += 1;
    return false;
  }

  /** The row that a file has now. */
  private pendingOf(file: FolderFile): Pending | undefined {
    const { plan, contentIds } = this;
    try {
      const read = readFile(plan.folder, file.path);
      if (!read) return undefined;
      const { row, content } = read;
      if (row.id !== file.id)
        throw new ValueError(`'${file.path}': it was changed while it was imported: repeat the command`);
      if (row.id === undefined && row.text.trim() === "") {
        this.blank.push(file.path);
        return undefined;
      }
      if (row.text === "" && file.isEdited) {
        throw new ValueError(`'${file.path}': its text is empty: remove the file, and --delete deletes its row`);
      }
      const where = `'${file.path}'`;
      const times = plan.times ? { created: row.created, updated: row.updated } : {};
      const own = row.id ?? contentIds.of({ ...row, where });
      const id = row.id === undefined && this.ids.has(own) ? Bun.randomUUIDv7() : own;
      const { text, metadata, state: base } = row;
      return { file, content, row: { id, text, metadata, base, where, ...times } };
    } catch (error) {
      if (!plan.onBad || !(error instanceof SvcError) || error instanceof CancelledError) throw error;
      plan.onBad(error);
      return undefined;
    }
  }

  private async put(batch: readonly Pending[]): Promise<void> {
    const { plan, done } = this;
    const { collection, schema, dryRun, onBad } = plan;
    const terminal = await this.verbs.terminal();
    const rows = batch.map(({ row }) => row);
    const result = await terminal.sync_rows(
      { collection, rows, schema, source: this.list.schema, dryRun, onBad },
      { signal: this.context.signal },
    );
    done.masked += result.masked;
    for (const [i, one] of result.rows.entries()) {
      if (!one) continue;
      const pending = batch[i]!;
      const { file, row } = pending;
      if (one.outcome === "same") done.unchanged += 1;
      else if (one.outcome === "beside") done.beside.push({ file: file.path, id: row.id, added: one.id });
      else done[one.outcome].push(one.id);
      this.ids.add(one.id);
      if (!dryRun) await this.states.keep(file, pending.content, one);
    }
    if (!dryRun) await this.states.flush(true);
  }

  /** Deletes rows whose files are gone, or counts them. */
  private async removeMissing(ids: readonly string[]): Promise<void> {
    const { plan, done } = this;
    if (ids.length === 0) return;
    if (!plan.isDelete) {
      // A file that cannot be read may be that of one of them.
      if (this.content.problems.length === 0) done.missing += ids.length;
      return;
    }
    const terminal = await this.verbs.terminal();
    for (let start = 0; start < ids.length; start += BATCH_ROWS) {
      const rows = ids.slice(start, start + BATCH_ROWS).map((id) => ({ id, base: this.list.states.get(id)! }));
      const { collection, dryRun } = plan;
      const { deleted, changed } = await terminal.delete_unchanged({ collection, rows, dryRun }, this.context);
      done.deleted.push(...deleted);
      done.missing += changed.length;
      if (!dryRun) this.states.drop(deleted);
    }
  }
}
