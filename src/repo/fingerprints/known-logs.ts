/**
 * The fingerprints of repositories that this process has read, kept from one call to the next. What another process
 * appended to a log is read alone.
 */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Fingerprint } from "./fingerprints.ts";
import { type Head, readLog, recordBytes } from "./log.ts";
import { type Note, readNote } from "./note.ts";
import type { RowSink } from "./row-sink.ts";

/** Repositories whose fingerprints stay in memory: those of 5,000 files take 2 MB. */
const CACHED_MAX = 4;
/** Times that a note is read again because its log was replaced meanwhile. */
const TRIES = 3;

/** What is known of one log. */
export interface KnownLog {
  /** The note in the collection. */
  found: Note | undefined;
  /** The same where its log could be read, undefined where there are no fingerprints. */
  note: Note | undefined;
  head: Head | undefined;
  files: Map<string, Fingerprint>;
  /** Bytes of records that no later one supersedes, about. */
  live: number;
  /** The collection's save at which the rows were seen to be those of the note. */
  checkedAt: number;
  /** Paths whose record in memory is not on disk, though it has to be by the next save. */
  readonly pending: Set<string>;
  /** The same where only the mark differs: at worst the file is read again. */
  readonly renewed: Set<string>;
}

/** By folder and repository, the last used last. */
const cache = new Map<string, KnownLog>();

/** The records of a repository as its note has them, without any of a run that is under way. */
export function loadLog(folder: string, repoId: string, sink: Pick<RowSink, "noteOf">): KnownLog {
  let note: Note | undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    note = readNote(sink.noteOf(repoId), repoId);
    const before = cache.get(keyOf(folder, repoId));
    if (before && isDeepStrictEqual(before.note, note)) return keep(folder, repoId, before);
    drop(folder, repoId);
    if (!note) return nothing();
    const known = (before && follow(folder, repoId, before, note)) ?? readWhole(folder, repoId, note);
    if (known) return keep(folder, repoId, known);
  }
  return { ...nothing(), found: note };
}

/** What another process appended to a log that is known. */
function follow(folder: string, repoId: string, known: KnownLog, note: Note): KnownLog | undefined {
  const { note: before, head, files } = known;
  if (!before || !head || before.file !== note.file || known.pending.size > 0) return undefined;
  const later = new Map(files);
  if (!readLog(join(folder, note.file), repoId, note, later, { ...before, head })) return undefined;
  for (const path of known.renewed) if (later.get(path) !== files.get(path)) known.renewed.delete(path);
  return { ...known, found: note, note, files: later, live: liveBytes(later), checkedAt: 0 };
}

function readWhole(folder: string, repoId: string, note: Note): KnownLog | undefined {
  const files = new Map<string, Fingerprint>();
  const head = readLog(join(folder, note.file), repoId, note, files);
  return head && { ...nothing(), found: note, note, head, files, live: liveBytes(files) };
}

function liveBytes(files: ReadonlyMap<string, Fingerprint>): number {
  let bytes = 0;
  for (const [path, file] of files) bytes += recordBytes(path, file);
  return bytes;
}

/** The log of a repository without fingerprints. */
export function nothing(): KnownLog {
  return {
    found: undefined,
    note: undefined,
    head: undefined,
    files: new Map(),
    live: 0,
    checkedAt: 0,
    pending: new Set(),
    renewed: new Set(),
  };
}

/** Keeps what is known, as that of the repository that was used last. */
export function keep(folder: string, repoId: string, known: KnownLog): KnownLog {
  const key = keyOf(folder, repoId);
  cache.delete(key);
  cache.set(key, known);
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHED_MAX) break;
    cache.delete(oldest);
  }
  return known;
}

/** The next call reads it again. */
export function drop(folder: string, repoId: string): void {
  cache.delete(keyOf(folder, repoId));
}

function keyOf(folder: string, repoId: string): string {
  return `${folder}\0${repoId}`;
}
