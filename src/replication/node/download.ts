/** Brings the files of this node's copy of a collection up to a head of the engine. The caller has the writer's lock. */
import { closeSync, ftruncateSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { diskError, makeDurableDirectory, syncDirectory, syncFile, writeDurable } from "../../durable.ts";
import { OSError } from "../../errors.ts";
import { withStaged } from "../../store/stages.ts";
import { type Engine, EngineError, type Head } from "../engine.ts";
import { crcOfFile } from "./crc32c.ts";
import {
  baseOf,
  hasGrown,
  ID_MAP,
  keepStored,
  MANIFEST,
  type State,
  type StateFile,
  stateOf,
  storedNames,
} from "./manifest.ts";

/**
 * Fetches what the copy lacks, makes it durable and puts the manifest in force. Readers see the old state or the new one:
 * no file that the old one names gets other bytes, except the id map, a copy. Whole files are not compared with their
 * checksums: the runtime does that as it reads them, block by block.
 * @param before the state of the copy; undefined: it has none
 * @returns bytes that were fetched; undefined, and the state stands, where the copy is not an earlier state of `head`, as
 *   far as is known: the head is of another log, or the copy has commits that the database has lost
 * @throws EngineError; OSError where the copy cannot be written. At worst the copy has unused files then.
 */
export async function download(
  engine: Engine,
  collection: string,
  folder: string,
  before: State | undefined,
  head: Head,
): Promise<number | undefined> {
  const next = stateOf(head.manifest);
  const known = storedNames(folder);
  const isSameBase = baseOf(before) === baseOf(next);
  if (before !== undefined && !isOfLog(known, before, head)) return undefined;
  let fetched = 0;
  for (const file of next.files) {
    const stored = head.files[file.name];
    if (stored === undefined) throw new OSError(`the engine's head of '${collection}' lacks ${file.name}`, "damaged");
    const old = before?.files.find(({ name }) => name === file.name);
    const isKnown = old !== undefined && stored === known[file.name];
    if (isKnown && old.bytes === file.bytes && old.crc32c === file.crc32c) continue;
    const isGrown = isKnown && old.bytes <= file.bytes && hasGrown(folder, file.name, stored, isSameBase);
    if (old !== undefined && !isGrown && file.name !== ID_MAP) return undefined;
    const from = isGrown ? old.bytes : 0;
    await fetchFile({ engine, collection, folder, file, stored, from });
    fetched += file.bytes - from;
    // The bytes before may be of a commit that the database has lost.
    const isSame = () => crcOfFile(join(folder, file.name), from, file.bytes, old!.crc32c) === file.crc32c;
    if (isGrown && file.name !== ID_MAP && !isSame()) return undefined;
  }
  syncDirectory(folder);
  keepStored(folder, head.files, head.log);
  writeDurable(join(folder, MANIFEST), head.manifest);
  const names = new Set(next.files.map(({ name }) => name));
  const replaced = (before?.files ?? []).filter(({ name }) => !names.has(name));
  for (const { name } of replaced) rmSync(join(folder, name), { force: true });
  return fetched;
}

/** Whether a state is of the log of `head`. An older version did not store the log, only names, which each log has its own. */
function isOfLog(known: Record<string, string>, before: State, head: Head): boolean {
  if (known.log !== undefined) return known.log === head.log;
  const base = baseOf(before);
  return base !== undefined && known[base] !== undefined && known[base] === head.files[base];
}

/** Runs `work` with a folder of the memory directory into which a state was fetched, and which is removed afterwards. */
export async function withFetched<T>(
  engine: Engine,
  dir: string,
  name: string,
  head: Head,
  work: (folder: string, bytes: number) => T | Promise<T>,
): Promise<T> {
  return withStaged(dir, async (stage) => {
    const folder = join(stage, name);
    mkdirSync(folder, { mode: 0o700 });
    return work(folder, (await download(engine, name, folder, undefined, head))!);
  });
}

/**
 * Fetches a collection that a memory directory does not have; it takes its name there once it is complete.
 * @param prepare what is done to its folder before
 * @returns `isNew`: false if another process made a collection of that name first
 */
export async function downloadNew(
  engine: Engine,
  dir: string,
  name: string,
  head: Head,
  prepare: (folder: string) => void = () => {},
): Promise<{ bytes: number; isNew: boolean }> {
  makeDurableDirectory(dir);
  return withFetched(engine, dir, name, head, (folder, bytes) => {
    prepare(folder);
    let isNew = true;
    try {
      renameSync(folder, join(dir, name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
      isNew = false;
    }
    syncDirectory(dir);
    return { bytes, isNew };
  });
}

interface Fetch {
  engine: Engine;
  collection: string;
  folder: string;
  file: StateFile;
  stored: string;
  /** 0: the whole file, which takes its name once it is complete; else what is appended to it. */
  from: number;
}

async function fetchFile({ engine, collection, folder, file, stored, from }: Fetch): Promise<void> {
  const path = join(folder, file.name);
  const target = from > 0 ? path : `${path}.tmp-${process.pid}`;
  let fd: number | undefined;
  try {
    fd = openSync(target, from > 0 ? "r+" : "w", 0o600);
    // What a save that was never committed has left there.
    ftruncateSync(fd, from);
    let at = from;
    for await (const chunk of engine.get(collection, stored, from, file.bytes)) {
      if (chunk.at > at) break;
      const bytes = chunk.bytes.subarray(at - chunk.at, file.bytes - chunk.at);
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
      at += bytes.length;
      if (at >= file.bytes) break;
    }
    // A compaction elsewhere may have had it removed since the head was read.
    if (at < file.bytes)
      throw new EngineError("again", `${file.name} of '${collection}' ends at ${at} bytes in the engine`);
    if (file.name === ID_MAP && from > 0) await fetchHeader(engine, collection, stored, fd);
    syncFile(fd);
    if (target !== path) renameSync(target, path);
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw diskError(error, "write", path);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The header of an id map says how many entries it has. */
async function fetchHeader(engine: Engine, collection: string, stored: string, fd: number): Promise<void> {
  for await (const { bytes } of engine.get(collection, stored, 0, 1)) {
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, done);
    return;
  }
}
