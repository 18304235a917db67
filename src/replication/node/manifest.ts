/** What a manifest, `collection.json`, says of the files of its state: FORMAT.md. */
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readCapped, writeDurable } from "../../durable.ts";
import { OSError } from "../../errors.ts";

export const MANIFEST = "collection.json";
/** The copy of the ids, which changes in place: its header, then appended rows. */
export const ID_MAP = "id_map.npy";
/** Vectors of meaning, which are appended. */
export const MEANING: RegExp = /^meaning-/;
/** Bytes of that header. */
export const ID_MAP_HEADER = 128;

/** A file of a state. */
export interface StateFile {
  name: string;
  bytes: number;
  crc32c: number;
}

/** A saved state. */
export interface State {
  generation: number;
  files: StateFile[];
  /** The manifest itself. */
  bytes: Uint8Array;
}

/** The state that a manifest describes. @throws OSError where it is not one */
export function stateOf(bytes: Uint8Array): State {
  let parsed: { generation?: unknown; files?: unknown };
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new OSError(`${MANIFEST} is not JSON`, "damaged");
  }
  const { generation, files } = parsed;
  if (!Number.isSafeInteger(generation) || !Array.isArray(files) || !files.every(isFile)) {
    throw new OSError(`${MANIFEST} names no generation, or files that are not files of a collection`, "damaged");
  }
  return { generation: generation as number, files, bytes };
}

/** The state in a folder; undefined where nothing was saved there. */
export function savedState(folder: string): State | undefined {
  try {
    return stateOf(readFileSync(join(folder, MANIFEST)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * The state in a folder, with those of its files that have all their bytes; undefined where its manifest is missing or is
 * not one. What is missing is fetched again.
 */
export function presentState(folder: string): State | undefined {
  try {
    const state = savedState(folder);
    return state && { ...state, files: state.files.filter(({ name, bytes }) => sizeOf(join(folder, name)) >= bytes) };
  } catch (error) {
    if (error instanceof OSError && error.reason === "damaged") return undefined;
    throw error;
  }
}

/** The generation of the state in a folder; 0 where there is none, and where files of it are missing or cut off. */
export function wholeGeneration(folder: string): number {
  const present = presentState(folder);
  return present !== undefined && present.files.length === savedState(folder)?.files.length ? present.generation : 0;
}

/** -1: there is no such file. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}

/**
 * Whether a state's file is that of another state with more bytes.
 * @param stored its name in the engine; that of an id map ends with `+` and the width of its entries
 * @param isSameBase whether both states have one base: a rewrite makes another id map
 */
export function hasGrown(folder: string, name: string, stored: string, isSameBase: boolean): boolean {
  if (/^(delta|meaning)-/.test(name)) return true;
  return name === ID_MAP && isSameBase && stored.endsWith(`+${idMapWidth(folder)}`);
}

/** The name of a state's base. */
export function baseOf(state: State | undefined): string | undefined {
  return state?.files.find(({ name }) => name.startsWith("base-"))?.name;
}

/** The bytes of an entry of a folder's id map; 0 where it has none that can be read. @param file its name */
export function idMapWidth(folder: string, file = ID_MAP): number {
  const header = new Uint8Array(ID_MAP_HEADER);
  let fd: number | undefined;
  try {
    fd = openSync(join(folder, file), "r");
    readSync(fd, header, 0, ID_MAP_HEADER, 0);
  } catch {
    return 0; // it is written again then
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  return Number(/'\|S(\d+)'/.exec(Buffer.from(header).toString("latin1"))?.[1] ?? 0);
}

/** What a collection's folder says of the names that the engine has for its files, and of its log. */
export const STORED_NAMES = ".svc-stored";
const STORED_BYTES_MAX = 1 << 20;

/**
 * The stored names of a folder's files, and as `log` that of its log, as far as they are known. A file may be used for a head only if its stored name
 * is the head's: after a drop, another collection of the same name has files of the same names.
 */
export function storedNames(folder: string): Record<string, string> {
  try {
    const bytes = readCapped(join(folder, STORED_NAMES), STORED_BYTES_MAX);
    return bytes === undefined ? {} : JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {}; // every file is fetched again
  }
}

/** The log that a folder's files are of; undefined where it is not known. */
export function storedLog(folder: string): string | undefined {
  return storedNames(folder).log;
}

/** Writes both where they have changed, once the files are there. */
export function keepStored(folder: string, files: Record<string, string>, log: string): void {
  const stored = { ...files, log };
  if (!isDeepStrictEqual(storedNames(folder), stored)) writeDurable(join(folder, STORED_NAMES), JSON.stringify(stored));
}

/** Tells one file of stored names from the next: each write makes another one. Empty: there is none. */
export function stampOfNames(folder: string): string {
  const stat = statSync(join(folder, STORED_NAMES), { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}

/** Names that a state's files can have: nothing that leads out of the folder. */
export const FILE: RegExp = /^(?:(?:base|ivf|lexical|history|delta|meaning)-[0-9a-f]{16}\.slab|id_map\.npy)$/;

function isFile(value: unknown): value is StateFile {
  const { name, bytes, crc32c } = (value ?? {}) as Record<string, unknown>;
  return typeof name === "string" && FILE.test(name) && Number.isSafeInteger(bytes) && Number.isSafeInteger(crc32c);
}
