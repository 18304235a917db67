/**
 * A folder of rows as Markdown files: which of them svc wrote, which were edited since, and the list of what was exported.
 * Rows are found by the ids in their files, so that files may be renamed and moved.
 */
import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { Breather } from "../../../breather.ts";
import { isObject } from "../../../checks/kinds.ts";
import { isBlank, LineSplitter, OversizeLine } from "../../../checks/lines.ts";
import { readCapped, withLock } from "../../../durable.ts";
import { attempt, SvcError, TimeoutError, ValueError } from "../../../errors.ts";
import { HEAD_FIELD, readHead } from "../../../formats/head.ts";
import { Remarks } from "../../../formats/input/remarks.ts";
import type { ForeignSchema } from "../../../formats/input/row.ts";
import { findNotes } from "../../../formats/notes/note-files.ts";
import { METADATA_BYTES_MAX, STDIO_LINE_BYTES_MAX, TEXT_BYTES_MAX } from "../../../limits.ts";
import type { Memory } from "../../../memory/memory.ts";
import type { CallContext } from "../../../memory/requests.ts";
import { stateOf } from "../../../memory/transfer-folder.ts";
import { LIST_NAME } from "./list-name.ts";
import { type RowFile, readRowFile } from "./row-file.ts";

const LOCK_NAME = ".svc-export.lock";
/** Bytes of the largest row as a file: YAML takes a few times the bytes of JSON at most. */
const FILE_BYTES_MAX = TEXT_BYTES_MAX + 8 * METADATA_BYTES_MAX;
const LIST_BYTES_MAX = 1024 * 1024 * 1024;

/** Opens the memory for as long as `work` takes. */
export type MemoryRun = <T>(work: (verbs: Memory, context: CallContext) => Promise<T>) => Promise<T>;

/** A file with a row, without its text. */
export interface FolderFile {
  /** Below the folder, with slashes. */
  readonly path: string;
  /** Absent: a row that a person wrote. */
  readonly id: string | undefined;
  /** The state that was exported, if it is in the file. */
  readonly state: string | undefined;
  /** The state of the row that the file has by now; absent without an id. */
  readonly now: string | undefined;
  /** Whether its row differs from the one that was exported. */
  readonly isEdited: boolean;
  /** Its size, time and inode, which change when it is written. */
  readonly stamp: string;
}

/** What a folder has. */
export interface FolderContent {
  readonly files: readonly FolderFile[];
  /** Files that cannot be read as rows, each with what is wrong: of two files of one id, both. */
  readonly problems: readonly SvcError[];
  /** Links, and other things that are not read as rows. */
  readonly remarks: readonly string[];
}

/** What an export wrote down of its collection. */
export interface FolderList {
  readonly collection: string | undefined;
  readonly schema: ForeignSchema | undefined;
  /** The state of each exported row, by id. */
  readonly states: Map<string, string>;
}

/** Files that are read to find out whether svc wrote the folder, if it has no list. */
const LOOKED_AT = 50;

/** Whether an export made the folder: it has the list, or one of its first files has a state. */
export function isExportFolder(folder: string): boolean {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  if (lstatSync(join(folder, LIST_NAME), { throwIfNoEntry: false })?.isFile()) return true;
  const files = attempt(() => findNotes(folder, new Remarks())) ?? [];
  return files.slice(0, LOOKED_AT).some(({ path }) => attempt(() => readFile(folder, path))?.row.state !== undefined);
}

/** Reads all files of rows below a folder. @throws OSError, ValueError for a folder that cannot be read; CancelledError */
export async function scanFolder(folder: string, signal: AbortSignal): Promise<FolderContent> {
  const remarks = new Remarks();
  const files: FolderFile[] = [];
  const problems: SvcError[] = [];
  const byId = new Map<string, FolderFile[]>();
  const breather = new Breather(signal, "interrupted");
  for (const { path } of findNotes(folder, remarks)) {
    if (breather.due) await breather.pause();
    try {
      const stamp = stampOf(folder, path);
      const read = readFile(folder, path);
      if (read === undefined) continue;
      const { id, state } = read.row;
      const now = id === undefined ? undefined : stateOf({ ...read.row, id });
      const file = { path, id, state, now, isEdited: now === undefined || now !== state, stamp };
      files.push(file);
      if (id !== undefined) byId.set(id, [...(byId.get(id) ?? []), file]);
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      problems.push(error);
    }
  }
  const doubled = new Set<FolderFile>();
  for (const [id, same] of byId) {
    if (same.length < 2) continue;
    for (const file of same) doubled.add(file);
    const named = same.slice(0, 3).map(({ path }) => `'${path}'`);
    problems.push(
      new ValueError(
        `${named.join(" and ")} have the same id '${id}': remove one of them, or its line 'id', which makes it a row of ` +
          "its own",
      ),
    );
  }
  return { files: files.filter((file) => !doubled.has(file)), problems, remarks: remarks.sentences() };
}

/** A file and its row; undefined where there is none any more. @throws ValueError, OSError naming it */
export function readFile(folder: string, path: string): { content: string; row: RowFile } | undefined {
  try {
    const bytes = readCapped(join(folder, path), FILE_BYTES_MAX, { noFollow: true });
    if (bytes === undefined) return undefined;
    const content = textOf(bytes);
    return { content, row: readRowFile(content) };
  } catch (error) {
    if (error instanceof SvcError && !error.message.startsWith(`'${path}'`))
      error.message = `'${path}': ${error.message}`;
    throw error;
  }
}

/** @throws ValueError for what is not UTF-8 */
function textOf(bytes: Uint8Array): string {
  try {
    // An editor of Windows begins a file with a byte order mark, which is dropped here.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ValueError("it is not UTF-8 text: save it as UTF-8");
  }
}

/** What changes when a file is written; empty for what is not a file any more. */
export function stampOf(folder: string, path: string): string {
  const stat = lstatSync(join(folder, path), { throwIfNoEntry: false });
  return stat?.isFile() ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}

/** The list of an export; an empty one where there is none. @throws ValueError for one that cannot be read */
export function readList(folder: string): FolderList {
  const states = new Map<string, string>();
  let [collection, schema]: [string | undefined, ForeignSchema | undefined] = [undefined, undefined];
  const bytes = readCapped(join(folder, LIST_NAME), LIST_BYTES_MAX, { noFollow: true });
  if (bytes === undefined) return { collection, schema, states };
  const splitter = new LineSplitter(STDIO_LINE_BYTES_MAX);
  let number = 0;
  for (const line of [...splitter.push(bytes), ...splitter.finish()]) {
    number += 1;
    const damaged = () =>
      new ValueError(
        `'${LIST_NAME}', line ${number}: not as svc wrote it: take it from a copy, or export into a new folder`,
      );
    if (line instanceof OversizeLine) throw damaged();
    if (isBlank(line)) continue;
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    } catch {
      throw damaged();
    }
    if (!isObject(value)) throw damaged();
    if (number === 1 && value[HEAD_FIELD] !== undefined) {
      schema = readHead(value);
      collection = typeof value.collection === "string" ? value.collection : undefined;
    } else if (typeof value.id === "string" && typeof value.state === "string") states.set(value.id, value.state);
    else throw damaged();
  }
  return { collection, schema, states };
}

/**
 * Runs `work` under a lock, so that no other command of svc changes the folder meanwhile. A folder that cannot be written, such
 * as one that is mounted read-only, needs no lock.
 * @throws TimeoutError while another command has the lock
 */
export async function lockingFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  let isRunning = false;
  const run = () => {
    isRunning = true;
    return work();
  };
  try {
    return await withLock(join(folder, LOCK_NAME), run);
  } catch (error) {
    if (isRunning || error instanceof TimeoutError || !(error instanceof SvcError)) throw error;
    return work();
  }
}
