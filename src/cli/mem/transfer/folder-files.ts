/** Files of a folder that a person edits: replaced only as they were seen, and whole or not at all. */
import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { diskError, makeDirectory, syncDirectory, temporaryFor, writeNew } from "../../../durable.ts";
import { ValueError } from "../../../errors.ts";
import { stampOf } from "./folder.ts";

/** Writes and removes files below a folder; what was done is on the disk after `finish`. */
export class FolderFiles {
  private readonly changed = new Set<string>();
  private readonly swept = new Set<string>();

  constructor(private readonly folder: string) {}

  /** Makes the folder. @throws ValueError where something else has its name; OSError */
  prepare(): void {
    const found = lstatSync(this.folder, { throwIfNoEntry: false });
    if (found && !found.isDirectory() && !found.isSymbolicLink()) {
      throw new ValueError(`'${this.folder}' is a file, not a folder: name another one`);
    }
    if (!found) makeDirectory(this.folder);
  }

  /**
   * Writes a file.
   * @param stamp of the file that it replaces, as it was seen; absent: there is none
   * @returns false where there is another one by now: nothing is written
   * @throws OSError; ValueError where a folder of its path is a link, which may lead elsewhere
   */
  write(path: string, content: string, stamp?: string): boolean {
    const target = join(this.folder, path);
    const within = dirname(path);
    if (within !== "." && stamp === undefined) this.makeFolder(within);
    if (!this.swept.has(within)) this.sweep(within);
    const temporary = join(dirname(target), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
    writeNew(temporary, new TextEncoder().encode(content));
    try {
      const isSame = stampOf(this.folder, path) === (stamp ?? "");
      const isFree = stamp !== undefined || lstatSync(target, { throwIfNoEntry: false }) === undefined;
      if (!isSame || !isFree) {
        unlinkSync(temporary);
        return false;
      }
      renameSync(temporary, target);
    } catch (error) {
      try {
        unlinkSync(temporary);
      } catch {
        // It is renamed already.
      }
      throw diskError(error, "write", path);
    }
    this.changed.add(dirname(target));
    return true;
  }

  /** Removes a file that is as it was seen, and its folder if nothing else is in it. @throws OSError */
  remove(path: string, stamp: string): boolean {
    if (stampOf(this.folder, path) !== stamp) return false;
    const target = join(this.folder, path);
    try {
      unlinkSync(target);
    } catch (error) {
      throw diskError(error, "remove", path);
    }
    this.changed.add(dirname(target));
    if (dirname(path) !== ".") this.removeEmpty(dirname(target));
    return true;
  }

  /** Makes the names durable. @throws OSError */
  finish(): void {
    for (const folder of this.changed) syncDirectory(folder);
    this.changed.clear();
  }

  private removeEmpty(folder: string): void {
    try {
      rmdirSync(folder);
      this.changed.delete(folder);
      this.changed.add(dirname(folder));
    } catch {
      // Something is in it.
    }
  }

  private makeFolder(within: string): void {
    const path = join(this.folder, within);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return;
    if (found)
      throw new ValueError(`'${within}' is not a folder, and rows are to be written into one of that name: rename it`);
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      throw diskError(error, "create", within);
    }
    this.changed.add(this.folder);
  }

  /** Removes what a killed command has left. */
  private sweep(within: string): void {
    this.swept.add(within);
    for (const entry of readdirSync(join(this.folder, within), { withFileTypes: true })) {
      if (!entry.isFile() || !temporaryFor(entry.name)?.endsWith(".md")) continue;
      try {
        unlinkSync(join(this.folder, within, entry.name));
      } catch {
        // Gone meanwhile.
      }
    }
  }
}
