/**
 * What a folder of a memory directory holds, by the names in it and its writer's lock, the bytes of its manifest, and
 * the errors for collections that are not there.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../ffi/ty_runtime.ts";
import { shown } from "../checks/kinds.ts";
import { readCapped } from "../durable.ts";
import { OSError, SvcError, ValueError } from "../errors.ts";
import { isLocked, LOCK, MissingCollection } from "./folder-lock.ts";

/**
 * - `saved`: it has a `collection.json`, whatever that is: a link that leads nowhere is damage, not absence.
 * - `lost`: it has rows that were saved and no `collection.json`, or it cannot be read.
 * - `begun`: a process is saving it for the first time.
 * - `leftover`: an interrupted first save left it. No row in it was ever acknowledged (FORMAT.md).
 * - `other`: nothing of a collection.
 */
export type FolderState = "saved" | "lost" | "begun" | "leftover" | "other";

const MARKER = ".first-save";
const MANIFEST = "collection.json";
/** As FORMAT.md says: a larger file is not a manifest. */
const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;
/** Files that hold rows. */
const ROWS = /^(base|delta)-[0-9a-f]{16}\.slab$/;
/** What a collection's folder has beside them: a folder with only these files belongs to svc. */
const BESIDE =
  /^(?:\.lock|\.ballast|\.first-save|\.svc-stored|id_map\.npy|.*\.tmp-\d+(?:-\d+)?|(?:ivf|lexical|meaning|history)-[0-9a-f]{16}\.slab)$/;
/** Slabs that no first save writes; `ty_first_check` goes by the same names. */
const LATER = /^(?:base|delta|ivf|lexical|meaning|history)-(?!.*0{15}1\.slab$).*\.slab$/;

/** What a folder holds. */
export function stateOf(folder: string): FolderState {
  if (isSaved(folder)) return "saved";
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "other" : "lost";
  }
  const isFirst = isOfFirstSave(names);
  const state = names.some((name) => ROWS.test(name)) && !isFirst ? "lost" : unsavedState(folder, isFirst);
  // A first save may have ended since the first look.
  return isSaved(folder) ? "saved" : state;
}

function unsavedState(folder: string, isFirst: boolean): FolderState {
  if (isLocked(folder)) return "begun";
  return isFirst ? "leftover" : "other";
}

function isOfFirstSave(names: readonly string[]): boolean {
  return names.includes(MARKER) && !names.some((name) => LATER.test(name));
}

/**
 * Whether a folder has nothing but what a first save makes before its `collection.json`; whether or not one is running.
 */
export function isUnsaved(folder: string): boolean {
  const names = readdirSync(folder);
  if (names.every((name) => name === LOCK)) return true;
  const isOurs = names.every((name) => BESIDE.test(name) || ROWS.test(name));
  return isOurs && isOfFirstSave(names) && !isSaved(folder);
}

/** Whether a folder has a `collection.json`, whatever that is. */
export function isSaved(folder: string): boolean {
  try {
    return lstatSync(join(folder, MANIFEST), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // the folder is not a folder, or cannot be read
  }
}

/**
 * The bytes of `collection.json`, read without opening the collection, which may be damaged.
 * @throws OSError where it is missing or cannot be read; ValueError where it is not a regular file, or too large
 */
export function readManifestFile(folder: string): Buffer {
  const bytes = readCapped(join(folder, MANIFEST), MANIFEST_BYTES_MAX, { noFollow: true });
  if (bytes === undefined) throw new OSError(`${MANIFEST} is missing`);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Whether a manifest is as the checksum at its end says: 0 it is, 1 after one bit of `bytes` was restored, 2 it is not. */
export function restoreManifest(env: Environment, bytes: Buffer): number {
  const end = Math.max(bytes.lastIndexOf('"crc32c"'), 0);
  const crc = /^"crc32c": *(\d+)/.exec(bytes.toString("latin1", end))?.[1];
  return crc === undefined ? 2 : env.restoreBit(bytes.subarray(0, end), Number(crc));
}

/** Whether a folder has nothing but what a collection leaves that was never saved, or lost all of its rows' files. */
export function isRemainder(folder: string): boolean {
  try {
    return readdirSync(folder).every((file) => BESIDE.test(file));
  } catch {
    return false;
  }
}

/** What a leftover is, and the command that removes it, as the end of a sentence. */
export function leftoverOf(name: string): string {
  return `an interrupted first save left its folder, in which no row was ever saved: 'svc mem drop ${name}' removes it`;
}

/** Why a collection is not in the list while another process saves it for the first time. */
export const BEGUN = "another process is saving it for the first time";

/** The error for a collection that is not there, or was never saved. */
export function absent(dir: string, name: string): ValueError {
  switch (stateOf(join(dir, name))) {
    case "leftover":
      return new ValueError(`${new MissingCollection(name).message}; ${leftoverOf(name)}`, "no_collection");
    case "begun":
      return new ValueError(`collection ${shown(name)} does not exist yet: ${BEGUN}; try again`, "no_collection");
    default:
      return new MissingCollection(name);
  }
}

/** Whether an error says that a collection is not there, or was never saved. */
export function isGone(error: unknown): boolean {
  return error instanceof SvcError && error.reason === "no_collection";
}
