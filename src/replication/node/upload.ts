/** Finds which bytes of a collection's files the engine lacks before a commit. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../errors.ts";
import type { Uploaded, UploadedFile } from "../../store/coordination/coordinator.ts";
import { CHUNK_BYTES, type Chunk, type Head } from "../engine.ts";
import { crc32c, crcOfFile } from "./crc32c.ts";
import {
  baseOf,
  FILE,
  hasGrown,
  ID_MAP,
  ID_MAP_HEADER,
  idMapWidth,
  MEANING,
  type State,
  type StateFile,
} from "./manifest.ts";

/** The files of the next state in the engine. */
export interface Upload {
  /** The stored names of all its files. */
  files: Record<string, string>;
  /** Files that the engine does not have: their chunks may be stored before the commit, under names that no head has. */
  sealed: Iterable<Chunk>;
  /** Bytes that files have grown by: their chunks belong to the commit, because others may grow the same files. */
  grown: Iterable<Chunk>;
}

/**
 * Compares the next state with the one before it.
 * @param folder the collection's, in which all bytes of `next` are durable
 * @param head of the engine, of the same generation as `before`; undefined: the engine has no such collection
 * @param uploaded what `uploadCompaction` has stored
 */
export function uploadOf(
  folder: string,
  before: State | undefined,
  next: State,
  head: Head | undefined,
  uploaded: Uploaded = new Map(),
): Upload {
  const files: Record<string, string> = {};
  const sealed: Iterable<Chunk>[] = [];
  const grown: Iterable<Chunk>[] = [];
  const isSameBase = baseOf(before) === baseOf(next);
  for (const file of next.files) {
    const stored = head?.files[file.name];
    const old = before?.files.find(({ name }) => name === file.name);
    const isSame = old?.bytes === file.bytes && old.crc32c === file.crc32c;
    const isKnown = stored !== undefined && old !== undefined;
    const beginning = uploaded.get(file.name);
    if (beginning !== undefined && isBeginning(folder, file, beginning)) {
      files[file.name] = beginning.stored;
      grown.push(added(folder, file, beginning.stored, beginning.bytes));
    } else if (isKnown && isSame) {
      files[file.name] = stored;
    } else if (isKnown && old.bytes <= file.bytes && hasGrown(folder, file.name, stored, isSameBase)) {
      files[file.name] = stored;
      const chunks = added(folder, file, stored, old.bytes);
      grown.push(file.name === ID_MAP ? chunks : checked(chunks, file, old.crc32c));
    } else {
      const fresh = newName(file.name, idMapWidth(folder));
      files[file.name] = fresh;
      sealed.push(chunksOf(folder, file.name, fresh, 0, file.bytes));
    }
  }
  return { files, sealed: all(sealed), grown: all(grown) };
}

/** What a stored file of `from` bytes lacks. The header of an id map says how many entries it has. */
function* added(folder: string, { name, bytes }: StateFile, stored: string, from: number): Iterable<Chunk> {
  if (name === ID_MAP) yield* chunksOf(folder, name, stored, 0, ID_MAP_HEADER);
  yield* chunksOf(folder, name, stored, from, bytes);
}

/** What the files of a compaction that is not committed yet have at the ends of their names. */
const TEMPORARY = `.tmp-${process.pid}-0`;

/** Of these files, rows that are saved during a compaction are appended. */
const isAppended = (name: string) => name === ID_MAP || MEANING.test(name);

/**
 * Stores the files of a compaction that is not committed yet, except its delta, which is empty or short. Another process may
 * replace their base meanwhile, and then removes them: storing ends early, and the compaction's last step reports that it was
 * not done.
 * @param signal ends it early
 */
export async function uploadCompaction(
  folder: string,
  signal: AbortSignal,
  put: (chunk: Chunk) => Promise<void>,
): Promise<Uploaded> {
  const uploaded = new Map<string, UploadedFile>();
  try {
    for (const file of readdirSync(folder).filter((entry) => entry.endsWith(TEMPORARY))) {
      const name = file.slice(0, -TEMPORARY.length);
      if (!FILE.test(name) || name.startsWith("delta-")) continue;
      const { size } = statSync(join(folder, file));
      const stored = newName(name, idMapWidth(folder, file));
      let crc = 0;
      for (const chunk of chunksOf(folder, file, stored, 0, size)) {
        if (signal.aborted) return uploaded;
        await put(chunk);
        const isHeader = name === ID_MAP && chunk.at === 0;
        if (isAppended(name) && !isHeader) crc = crc32c(chunk.bytes, crc);
      }
      uploaded.set(name, { stored, bytes: size, crc32c: crc });
    }
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || !path?.endsWith(TEMPORARY)) throw error;
  }
  return uploaded;
}

/** Whether what was stored of a file is the beginning of it as it is now: it may have been written again since. */
function isBeginning(folder: string, file: StateFile, { stored, bytes, crc32c }: UploadedFile): boolean {
  if (!isAppended(file.name)) return bytes === file.bytes;
  if (bytes > file.bytes || (file.name === ID_MAP && !stored.endsWith(`+${idMapWidth(folder)}`))) return false;
  return crcOfFile(join(folder, file.name), bytes, file.bytes, crc32c) === file.crc32c;
}

/**
 * Chunks that a file has grown by, which have to be what its manifest says: where two machines write into one directory,
 * and the file system lets both have its lock, they may be another one's.
 * @param before the checksum of the bytes before
 * @throws OSError after the last chunk
 */
function* checked(chunks: Iterable<Chunk>, file: StateFile, before: number): Iterable<Chunk> {
  let crc = before;
  for (const chunk of chunks) {
    crc = crc32c(chunk.bytes, crc);
    yield chunk;
  }
  if (crc === file.crc32c) return;
  throw new OSError(
    `${file.name} has other bytes than were written: nothing was saved. Each machine needs a directory of its own for its copy`,
    "damaged",
  );
}

/** The name of a new file. That of an id map ends with the width of its entries: one of another width is another file. */
function newName(name: string, width: number): string {
  return `${name}@${crypto.randomUUID()}${name === ID_MAP ? `+${width}` : ""}`;
}

/** The chunks of a state's files from their beginnings, by their stored names: equal files get equal names. */
export function wholeFiles(folder: string, state: State): Map<string, { bytes: number; chunks: Iterable<Chunk> }> {
  return new Map(
    state.files.map(({ name, bytes, crc32c }) => {
      const width = name === ID_MAP ? `+${idMapWidth(folder)}` : "";
      const stored = `${name}@${state.generation}-${crc32c}${width}`;
      return [stored, { bytes, chunks: chunksOf(folder, name, stored, 0, bytes) }];
    }),
  );
}

function* all(each: readonly Iterable<Chunk>[]): Iterable<Chunk> {
  for (const chunks of each) yield* chunks;
}

/** The chunks of a file from one offset to another. @throws OSError where it is shorter */
export function* chunksOf(folder: string, name: string, stored: string, from: number, to: number): Iterable<Chunk> {
  const fd = openSync(join(folder, name), "r");
  try {
    for (let at = from; at < to; ) {
      // The header of an id map is a chunk of its own, because it is replaced when the map grows.
      const most = name.startsWith(ID_MAP) && at === 0 ? ID_MAP_HEADER : CHUNK_BYTES;
      const bytes = new Uint8Array(Math.min(most, to - at));
      for (let have = 0; have < bytes.length; ) {
        const n = readSync(fd, bytes, have, bytes.length - have, at + have);
        if (n === 0) throw new OSError(`${name} ends at ${at + have} bytes, and its manifest says ${to}`, "damaged");
        have += n;
      }
      yield { file: stored, at, bytes };
      at += bytes.length;
    }
  } finally {
    closeSync(fd);
  }
}
