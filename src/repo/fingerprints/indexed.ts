/**
 * The repositories of one collection, as the notes in its manifest and the fingerprints in its folder name them: which
 * there are, when each was last used, and how one is forgotten.
 */
import { lstatSync, readdirSync, type Stats, utimesSync } from "node:fs";
import { join } from "node:path";
import { repoIdOf } from "../chunks/identity.ts";
import { Deadline } from "../files/deadline.ts";
import { type GitWorkTree, isGone } from "../files/work-tree.ts";
import { type Head, readHead, removeLog } from "./log.ts";
import { isLogName, type Note, readNote } from "./note.ts";
import type { RowSink } from "./row-sink.ts";

/** A repository's fingerprints. */
export interface Indexed {
  path: string;
  repoId: string;
  note: Note;
  /** When it was indexed, or found unchanged, within {@link USE_MS}; milliseconds since 1970. 0: its log is missing. */
  usedMs: number;
  /** Undefined where the log is missing, damaged or of another format. */
  readonly head: Head | undefined;
}

/** The time of the last use is noted no more often: a call that changes nothing writes nothing but this. */
const USE_MS = 60 * 60 * 1000;

/** The repositories of a collection, the last used first. Heads are read when they are looked at. */
export function indexedIn(folder: string, sink: Pick<RowSink, "notes">): Indexed[] {
  const found: Indexed[] = [];
  for (const [repoId, value] of sink.notes()) {
    const note = readNote(value, repoId);
    if (!note) continue;
    const path = join(folder, note.file);
    const stat = statOf(path);
    let head: { read: Head | undefined } | undefined;
    found.push({
      path,
      repoId,
      note,
      usedMs: stat?.isFile() ? stat.mtimeMs : 0,
      get head() {
        head ??= { read: ownHead(path, repoId) };
        return head.read;
      },
    });
  }
  return found.sort((a, b) => b.usedMs - a.usedMs || (a.repoId < b.repoId ? -1 : 1));
}

/** The root of a repository, as its note has it or its fingerprints; undefined where neither does. */
export function rootOf(folder: string, repoId: string, sink: Pick<RowSink, "noteOf">): string | undefined {
  const note = readNote(sink.noteOf(repoId), repoId);
  if (!note) return undefined;
  const root = note.root ?? ownHead(join(folder, note.file), repoId)?.root;
  // The head has no checksum of its own: the id is that of the root.
  return root !== undefined && repoIdOf(root) === repoId ? root : undefined;
}

/** Whether a folder has fingerprints: then it is a collection of repositories. */
export function hasLogs(folder: string): boolean {
  return namesIn(folder).some(isLogName);
}

/** Notes that a repository was used now, where that was not done within the last hour. Failures do not matter. */
export function noteUse(path: string): void {
  try {
    const stat = statOf(path);
    const now = Date.now();
    // A time to come is of a clock that was set back.
    if (stat?.isFile() && Math.abs(now - stat.mtimeMs) > USE_MS) utimesSync(path, now / 1000, now / 1000);
  } catch {
    // Another process removed it, or the file system is read-only.
  }
}

/** Rows that are deleted at once where there is a deadline: some hundredths of a second. */
const DELETED_AT_ONCE = 4096;

/**
 * Removes a repository's rows, its note with the last of them, then its fingerprints, so that what a crash or the
 * deadline leaves is still listed.
 * Returns how many rows it removed, and whether that were all.
 */
export async function forget(
  folder: string,
  repoId: string,
  sink: RowSink,
  deadline = new Deadline(),
): Promise<{ deleted: number; isComplete: boolean }> {
  const ids = await sink.idsOf(repoId);
  const noted = sink.noteOf(repoId);
  const count = deadline.isSet ? DELETED_AT_ONCE : Math.max(1, ids.length);
  let deleted = 0;
  for (let at = 0; at < ids.length || (at === 0 && noted !== undefined); at += count) {
    if (deadline.msLeft <= 0) return { deleted, isComplete: false };
    const note = at + count >= ids.length ? { note: () => undefined } : {};
    const done = await sink.replace(repoId, { deleteIds: ids.slice(at, at + count), rows: [], deadline, ...note });
    deleted += done?.deleted ?? 0;
  }
  const log = readNote(noted, repoId);
  if (log) removeLog(join(folder, log.file));
  return { deleted, isComplete: true };
}

/**
 * Forgets linked work trees that are gone: those of one repository, or of any. Returns the roots of those that are
 * forgotten, and whether the deadline left none.
 */
export async function forgetGone(
  folder: string,
  sink: RowSink,
  { of, deadline }: { of?: GitWorkTree; deadline?: Deadline | undefined } = {},
): Promise<{ roots: string[]; isComplete: boolean }> {
  const roots: string[] = [];
  for (const { repoId, head } of indexedIn(folder, sink)) {
    if (!head?.git || (of && head.git.common !== of.common)) continue;
    if (!isGone(head.root, head.git, head.device)) continue;
    if (!(await forget(folder, repoId, sink, deadline)).isComplete) return { roots, isComplete: false };
    roots.push(head.root);
  }
  return { roots, isComplete: true };
}

/** The head, where it is that of the repository. */
function ownHead(path: string, repoId: string): Head | undefined {
  const head = readHead(path);
  return head?.repoId === repoId ? head : undefined;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No collection of that name is saved.
    return [];
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // No permission.
    return undefined;
  }
}
