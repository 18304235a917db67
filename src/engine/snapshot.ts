/**
 * A copy of a collection in another memory directory. It is made in a folder of its own beside its future place, the manifest last, read
 * back whole, and only then renamed to its name: whoever looks, also after a crash, sees a whole collection or none.
 */
import { constants, fstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fullSync } from "../../ffi/libc.ts";
import { shown } from "../checks/names.ts";
import { diskError, makeDirectory, readCapped, syncDirectory, writeDurable } from "../durable.ts";
import { OSError, ValueError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { Watch } from "./options.ts";

const MANIFEST = "collection.json";
/** FORMAT.md: a manifest has at most as many bytes. */
const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;
const ID_MAP = "id_map.npy";
const NPY_HEADER_BYTES = 128;
const BLOCK_BYTES = 4 * 1024 * 1024;

/** Where from and where to. */
export interface SnapshotPlaces {
  /** The memory directory of the collection. */
  from: string;
  /** The other one. */
  to: string;
  storeAt: (dir: string) => Store;
  watch: Watch;
}

/** Saves what is staged and copies the collection. @throws ValueError where its name is taken there; OSError */
export async function snapshot(collection: Collection, { from, to, storeAt, watch }: SnapshotPlaces): Promise<void> {
  const { name } = collection;
  const dir = resolve(to);
  refuseTaken(name, dir, storeAt(dir));
  await collection.save();
  makeDirectory(dir, 0o700);
  const stage = temporaryFolder(dir);
  try {
    const copy = join(stage, name);
    makeDirectory(copy, 0o700);
    // A change that changes nothing: with the writer's lock held no compaction removes a file that is being copied.
    const bytes = await collection.change(() => copyFiles(join(from, name), copy, watch), watch.signal);
    await verify(name, storeAt(stage), bytes, watch);
    watch.signal?.throwIfAborted();
    moveInto(copy, join(dir, name), name);
    syncDirectory(dir);
  } finally {
    discard(stage);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

interface NamedFile {
  name: string;
  bytes: number;
}

/** Names that differ in case only are one folder on macOS. */
function refuseTaken(name: string, dir: string, there: Store): void {
  const folded = name.toLowerCase();
  const twin = there.list().find((other) => other.toLowerCase() === folded);
  if (twin !== undefined) throw taken(twin);
  try {
    if (readdirSync(join(dir, name)).length > 0) throw taken(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw (error as NodeJS.ErrnoException).code === "ENOTDIR" ? taken(name) : diskError(error, "look into", dir);
  }
}

function taken(name: string): ValueError {
  return new ValueError(`the other memory directory has a folder ${shown(name)} already: choose another one`);
}

function temporaryFolder(dir: string): string {
  try {
    return mkdtempSync(join(dir, ".svc-snapshot-"));
  } catch (error) {
    throw diskError(error, "write into", dir);
  }
}

/** A folder that is not empty is never replaced: somebody may have made a collection of that name meanwhile. */
function moveInto(copy: string, place: string, name: string): void {
  try {
    renameSync(copy, place);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR"
      ? taken(name)
      : diskError(error, "make", place);
  }
}

function discard(stage: string): void {
  try {
    rmSync(stage, { recursive: true, force: true });
  } catch {
    // What made the copy fail is what the caller has to hear of; the folder's name says what it is.
  }
}

/** Copies what the manifest names, as far as it is committed, and the manifest behind it. @returns how many bytes there were */
async function copyFiles(from: string, to: string, watch: Watch): Promise<number> {
  const manifest = readCapped(join(from, MANIFEST), MANIFEST_BYTES_MAX, { noFollow: true });
  if (!manifest) throw new OSError("the collection's directory was removed meanwhile: nothing was copied");
  const files = (JSON.parse(new TextDecoder().decode(manifest)) as { files: NamedFile[] }).files;
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  let done = 0;
  for (const file of files) {
    await copyFile(join(from, file.name), join(to, file.name), file.bytes, watch, (bytes) => {
      done += bytes;
      // The other half is reading back.
      watch.onProgress?.(done, 2 * total);
    });
  }
  writeDurable(join(to, MANIFEST), manifest);
  return total;
}

/** In blocks, so that the event loop lives. Only committed bytes: behind them may lie the tail of a save that failed. */
async function copyFile(
  from: string,
  to: string,
  bytes: number,
  watch: Watch,
  copied: (bytes: number) => void,
): Promise<void> {
  let source: FileHandle | undefined;
  let target: FileHandle | undefined;
  try {
    source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(source.fd).isFile()) throw new OSError(`'${basename(from)}' is not a regular file`);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    target = await open(to, flags, 0o600);
    await target.chmod(0o600); // whatever the umask says
    const block = new Uint8Array(Math.min(BLOCK_BYTES, bytes));
    for (let at = 0; at < bytes; ) {
      watch.signal?.throwIfAborted();
      const { bytesRead } = await source.read(block, 0, Math.min(block.length, bytes - at), at);
      if (bytesRead === 0) {
        throw new OSError(
          `'${basename(from)}' ends at ${at} of ${bytes} committed bytes: restore the collection from a copy`,
        );
      }
      if (at === 0 && basename(from) === ID_MAP) titleIdMap(block, bytes);
      for (let written = 0; written < bytesRead; ) {
        written += (await target.write(block, written, bytesRead - written, at + written)).bytesWritten;
      }
      at += bytesRead;
      copied(bytesRead);
    }
    if (!fullSync(target.fd)) await target.sync();
  } catch (error) {
    throw watch.signal?.aborted ? error : diskError(error, "copy", from);
  } finally {
    await source?.close();
    await target?.close();
  }
}

/** The header may count rows of a save that failed, whose ids are not copied: readers would look for them. */
function titleIdMap(block: Uint8Array, bytes: number): void {
  const header = Buffer.from(block.buffer, block.byteOffset, NPY_HEADER_BYTES);
  const found = /^\{'descr': '\|S(\d+)', 'fortran_order': False, 'shape': \(\d+,\), \} *\n$/.exec(
    header.toString("latin1", 10),
  );
  if (!found) return; // reading back says what is wrong with it
  const rows = Math.floor((bytes - NPY_HEADER_BYTES) / Number(found[1]));
  const text = `{'descr': '|S${found[1]}', 'fortran_order': False, 'shape': (${rows},), }`;
  header.write(`${text.padEnd(NPY_HEADER_BYTES - 11)}\n`, 10, "latin1");
}

/** Reads every byte of the copy and compares checksums. */
async function verify(name: string, store: Store, bytes: number, { signal, onProgress }: Watch): Promise<void> {
  const report = (done: number, all: number) => onProgress?.(bytes + (all > 0 ? done / all : 0) * bytes, 2 * bytes);
  try {
    await store.open(name).verify({ signal, onProgress: onProgress && report });
  } finally {
    await store.close();
  }
}
