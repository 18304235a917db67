/** Writes a planned change: one at a time, durably, with a copy of what was before. */
import {
  chownSync,
  constants,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  makeDirectory,
  readCapped,
  removeDurable,
  syncDirectory,
  temporaryFor,
  withLock,
  writeDurable,
  writeNew,
} from "../durable.ts";
import { OSError, ValueError } from "../errors.ts";
import { CLIENT_FILE_BYTES_MAX } from "../limits.ts";
import { clientLockPath } from "../paths.ts";
import type { Change, Note } from "./client.ts";
import { shownFile } from "./clients.ts";
import { bytesOf, fileError, type Target, targetOf } from "./file.ts";
import { backupName, hashOf, homeOf, isKnown, keepNotes, readNote, writeNote } from "./notes.ts";

/** Backups of one file that are kept beside each other. */
const BACKUPS_MAX = 99;

/**
 * Writes a change. The file keeps its mode and owner; a link stays one. What was before is copied beside the file as
 * `FILE.svc-backup`, or with a number where another backup has that name, unless the notes have the way back; an
 * uninstall removes the copy of its install.
 *
 * @returns the path of the copy that was made
 * @throws ValueError where the file is read-only, of another user, or was changed since the plan; OSError where the disk
 *   fails; TimeoutError where another process changes files of clients all the time. The file is as it was then.
 */
export async function applyChange(change: Change): Promise<{ backup: string | undefined }> {
  if (change.action === "none" && change.note === undefined) return { backup: undefined };
  const home = homeOf(change.site);
  makeDirectory(home);
  return withLock(clientLockPath(home), () => applyLocked(change));
}

function applyLocked(change: Change): { backup: string | undefined } {
  const { site, name, note } = change;
  const label = shownFile(change.file, site);
  const target = targetOf(change.file, change.scope, site);
  refuseChanged(change, target, label);
  const former = readNote(site, target.path, name);
  const hashes = [hashOf(change.before), hashOf(change.after)] as const;
  if (change.action === "none") {
    writeNote(site, target.path, name, note ?? undefined, hashes);
    return { backup: undefined };
  }
  if (target.stat) refuseUnwritable(target.stat, label);

  const made = new Undo();
  try {
    removeLeftovers(target.path);
    const folders = target.stat ? [] : makeFolders(dirname(target.path), change.scope === "user" ? 0o700 : 0o777, made);
    const isCopied = change.before === undefined || isKnown(site, target.path, change.before);
    const backup = isCopied ? undefined : makeBackup(target, change.before!, made);
    if (note) {
      made.add(keepNotes(site));
      const earlier = former?.after === hashes[0] ? former.after : undefined;
      const full: Note = { ...note, earlier, folders: [...folders, ...note.folders], backup: note.backup ?? backup };
      writeNote(site, target.path, name, full, hashes);
    }
    if (change.after === undefined) {
      refuseChanged(change, target, label);
      removeDurable(target.path);
    } else {
      write(change, target, label, made);
    }
    if (note === null) {
      if (change.after === undefined) removeFolders(former?.folders ?? []);
      if (former?.backup) removeBackup(former.backup, former.before);
      writeNote(site, target.path, name, undefined, hashes);
    }
    return { backup };
  } catch (error) {
    made.run();
    throw fileError(error, "write", label);
  }
}

/** Removes what a change that was killed wrote and did not rename. The lock is held: no other one is under way. */
function removeLeftovers(path: string): void {
  const folder = dirname(path);
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return; // there is none, or it may not be listed
  }
  for (const name of names) {
    const [file] = temporaryFor(name)?.split(".svc-backup") ?? [];
    if (file === basename(path)) unlinkQuietly(join(folder, name));
  }
}

/** What was made on the way, to be taken back if the way ends early. */
class Undo {
  #steps: (() => void)[] = [];
  add(step: () => void): void {
    this.#steps.unshift(step);
  }
  keep(): void {
    this.#steps = [];
  }
  run(): void {
    for (const step of this.#steps) {
      try {
        step();
      } catch {
        // The error that led here is the one to report.
      }
    }
  }
}

function refuseChanged(change: Change, target: Target, label: string): void {
  const now = bytesOf(target, label);
  const same =
    now === undefined || change.before === undefined ? now === change.before : Buffer.compare(now, change.before) === 0;
  if (!same) throw new ValueError(`${label} was changed by another program meanwhile; run this again`);
}

function refuseUnwritable(stat: Stats, label: string): void {
  if ((stat.mode & constants.S_IWUSR) === 0) {
    throw new ValueError(`${label} is read-only: make it writable with chmod u+w, or change what it is made from`);
  }
  const uid = process.getuid?.();
  if (uid !== undefined && uid !== 0 && stat.uid !== uid) {
    throw new ValueError(`${label} belongs to another user; change it as that user`);
  }
}

/** Writes the bytes to a new file beside the old one and renames it over. */
function write(change: Change, target: Target, label: string, made: Undo): void {
  const { stat } = target;
  const created = change.scope === "user" ? 0o600 : 0o666 & ~process.umask();
  const temporary = join(dirname(target.path), `.${basename(target.path)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  made.add(() => unlinkSync(temporary));
  try {
    writeNew(temporary, change.after!, stat ? stat.mode & 0o7777 : created);
  } catch (error) {
    if (error instanceof OSError) error.message = error.message.replace(basename(temporary), basename(target.path));
    throw error;
  }
  if (stat && (stat.uid !== process.getuid?.() || stat.gid !== process.getgid?.())) {
    try {
      chownSync(temporary, stat.uid, stat.gid);
    } catch {
      // Only the superuser gives files away; the owner is the same here, and a group may be one the user has left.
    }
  }
  refuseChanged(change, { path: target.path, stat: statSync(target.path, { throwIfNoEntry: false }) }, label);
  renameSync(temporary, target.path);
  made.keep(); // from here on the change is there
  syncDirectory(dirname(target.path));
}

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never created.
  }
}

/** Makes a folder and its missing parents. @returns those that were made, the innermost first */
function makeFolders(folder: string, mode: number, made: Undo): string[] {
  if (statSync(folder, { throwIfNoEntry: false })) return [];
  const outer = makeFolders(dirname(folder), mode, made);
  mkdirSync(folder, { mode });
  made.add(() => rmdirSync(folder));
  syncDirectory(dirname(folder));
  return [folder, ...outer];
}

function removeFolders(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      rmdirSync(folder);
    } catch {
      return; // something else is in it
    }
  }
}

/** Copies what is there beside the file. A backup with the same bytes is one already. */
function makeBackup(target: Target, bytes: Uint8Array, made: Undo): string {
  for (let number = 1; number <= BACKUPS_MAX; number++) {
    const path = join(dirname(target.path), backupName(target.path, number));
    const stat = statSync(path, { throwIfNoEntry: false });
    if (
      stat?.isFile() &&
      stat.size === bytes.length &&
      hashOf(readCapped(path, CLIENT_FILE_BYTES_MAX)) === hashOf(bytes)
    ) {
      return path;
    }
    if (stat) continue;
    // Half of a copy would be taken for one of something else.
    writeDurable(path, bytes, target.stat!.mode & 0o777);
    made.add(() => unlinkSync(path));
    return path;
  }
  throw new ValueError(`there are ${BACKUPS_MAX} backups beside '${basename(target.path)}'; remove some of them`);
}

/** Removes the copy that an install made, if it is still that. */
function removeBackup(path: string, hash: string): void {
  try {
    if (hashOf(readCapped(path, CLIENT_FILE_BYTES_MAX, { noFollow: true })) === hash) removeDurable(path);
  } catch {
    // It stays.
  }
}
