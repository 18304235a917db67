/** What a collection's manifest says of a repository: saved with the rows, it tells which fingerprints are theirs. */
import { isObject } from "../../checks/kinds.ts";
import type { Extent } from "./log.ts";
import { isPartialIndex, type PartialIndex } from "./partial.ts";
import type { RowsState } from "./row-sink.ts";

export interface Note extends Extent {
  /** The log's name, of {@link logName}. */
  file: string;
  /**
   * As in the log's head, so that rows keep their texts where the log is damaged. Absent: the note is of a program that
   * left it out, and the next run adds it.
   */
  root?: string | undefined;
  /** The save that it was written by: while it is the last one, the rows are as the log says. */
  generation: number;
  /** Chunking parameters, `chunkKey`; others give other rows. */
  params: string;
  /** Larger files were left out; absent: none but those above `REPO_FILE_BYTES_MAX`. */
  maxFileBytes?: number | undefined;
  /** The repository's rows; absent: some may have no record. */
  rows?: RowsState | undefined;
  /** Text files with rows. */
  tracked: number;
  /** Absent: every file is indexed as it was last seen. */
  partial?: PartialIndex | undefined;
  /** The last path that was settled, where a limit ended the run early. */
  reached?: string | undefined;
}

const LOG_NAME = /^repo-([0-9a-f]{16})\.[0-9a-f]{8}\.fingerprints$/;
const NOTE_NAME = /^repo-([0-9a-f]{16})$/;

/** The name of a repository's note. */
export function noteName(repoId: string): string {
  return `repo-${repoId}`;
}

/** A name for a new log of a repository. */
export function logName(repoId: string): string {
  return `repo-${repoId}.${crypto.randomUUID().slice(0, 8)}.fingerprints`;
}

/** Whether a file in a collection's folder is a log of this format or an earlier one. */
export function isLogName(name: string): boolean {
  return /^repo-[0-9a-f]{16}(?:\.[0-9a-f]{8})?\.fingerprints$/.test(name);
}

/** The repository of a note's name; undefined for other notes. */
export function repoIdOfNote(name: string): string | undefined {
  return NOTE_NAME.exec(name)?.[1];
}

/** A repository's note, each field checked: other programs may have written it. Undefined if it is invalid. */
export function readNote(value: unknown, repoId: string): Note | undefined {
  if (!isObject(value)) return undefined;
  const note = value as Partial<Note>;
  const { file, bytes, sum, generation, params, tracked, maxFileBytes = 0, reached = "", root = "" } = note;
  const rows: unknown = note.rows ?? { count: 0, digest: "" };
  if (typeof file !== "string" || LOG_NAME.exec(file)?.[1] !== repoId || !isObject(rows)) return undefined;
  if (note.partial !== undefined && !isPartialIndex(note.partial)) return undefined;
  const numbers = [bytes, sum, generation, tracked, maxFileBytes, rows.count];
  if (!numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0)) return undefined;
  const strings = [params, reached, root, rows.digest];
  return strings.every((string) => typeof string === "string") ? (note as Note) : undefined;
}
