/**
 * The ids and states that the files of a folder get after an import, and its list. The rows are saved by then: files that
 * cannot be written are counted and reported, and the import goes on.
 */
import { SvcError } from "../../../errors.ts";
import { headOf } from "../../../formats/head.ts";
import type { FolderDone } from "../../../memory/transfer-folder.ts";
import type { FolderFile, FolderList } from "./folder.ts";
import { writeList } from "./folder-export.ts";
import { FolderFiles } from "./folder-files.ts";
import { withState } from "./row-file.ts";

/** Files that are open at once. */
const FILES_AT_ONCE = 64;

/** Writes them. */
export class FolderStates {
  /** Files whose state could not be written. */
  unwritten = 0;
  /** Why not, once. */
  why: string | undefined;
  private readonly states: Map<string, string>;
  private readonly files: FolderFiles;
  /** Files that are written and have no name yet. */
  private waiting = 0;

  constructor(
    private readonly folder: string,
    private readonly list: FolderList,
    files: readonly FolderFile[],
  ) {
    this.files = new FolderFiles(folder);
    this.states = new Map(list.states);
    // Of a list that was lost.
    for (const { id, state } of files) {
      if (id !== undefined && state !== undefined && !this.states.has(id)) this.states.set(id, state);
    }
  }

  /** Writes the id and the state of a saved row into its file, if the file has others. */
  async keep(file: FolderFile, content: string, done: FolderDone): Promise<void> {
    this.states.set(done.id, done.state);
    if (file.id === done.id && file.state === done.state) return;
    // A row beside another one has its file, and the other one gets one by the next export.
    if (file.id !== undefined && file.id !== done.id) this.states.delete(file.id);
    if (this.waiting >= FILES_AT_ONCE) await this.flush(false);
    this.waiting += 1;
    try {
      this.files.write(file.path, withState(content, done), file.stamp);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Gives the files that were written their names. @param isLast whether the names are to be on the disk */
  async flush(isLast: boolean): Promise<void> {
    try {
      this.unwritten += (await this.files.flush()).size;
      if (isLast) this.files.finish();
      this.waiting = 0;
    } catch (error) {
      this.failed(error);
    }
  }

  /** Rows that were deleted. */
  drop(ids: readonly string[]): void {
    for (const id of ids) this.states.delete(id);
  }

  /** Writes the list, if it changed. @param collection where the list names none */
  finish(collection: string): void {
    const { list, states } = this;
    if (states.size === list.states.size && [...states].every(([id, state]) => list.states.get(id) === state)) return;
    try {
      writeList(this.folder, headOf(list.collection ?? collection, list.schema ?? {}), states);
    } catch (error) {
      this.failed(error);
    }
  }

  /** None of the files that wait has its name then. */
  private failed(error: unknown): void {
    if (!(error instanceof SvcError)) throw error;
    this.why ??= error.message;
    this.unwritten += this.waiting;
    this.waiting = 0;
  }
}
