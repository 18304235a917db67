/** What the folder of a collection says without being opened: its manifest and the sizes of its files. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../ffi/ty_runtime.ts";
import { leftoverOf, readManifestFile, restoreManifest, stateOf } from "./folder-state.ts";
import { type OtherVersion, otherVersion, type VersionedManifest } from "./format-version.ts";
import { type Manifest, parseManifest } from "./schema.ts";

/** Why a collection cannot be read, as far as its folder shows: at most one of these, with a sentence. */
export interface Unreadable extends OtherVersion {
  /** What is wrong with its files. */
  damaged?: string;
  /** An interrupted first save left its folder, which holds no row: how it is removed. */
  leftover?: string;
}

/** The reason as a word, and its sentence; undefined where there is none. */
export function whyUnreadable(one: Unreadable): [word: string, why: string] | undefined {
  for (const word of ["damaged", "leftover", "older", "newer"] as const) {
    if (one[word] !== undefined) return [word, one[word]];
  }
  return undefined;
}

/** A collection as its folder shows it. */
export interface CollectionOverview extends Unreadable {
  name: string;
  /** Live rows; absent where the manifest cannot be read. */
  rows?: number;
  /** That all files of its folder take. */
  bytes: number;
  /** Whether it may be searched by word alone. */
  lexical?: boolean;
  /** Whether it has an approximate index. */
  ivf?: boolean;
  filter_columns?: string[];
  partition_by?: string;
  description?: string;
  /** When it was last saved, in milliseconds since 1970. */
  last_write?: number;
}

/** Looks at a collection until no save has moved its files meanwhile. */
const TRIES = 5;

/**
 * Looks at one collection; undefined where there is none, or its first save is under way. Some 100 microseconds:
 * nothing of its rows is read.
 */
export function overviewOf(env: Environment, dir: string, name: string): CollectionOverview | undefined {
  const folder = join(dir, name);
  for (let tries = 1; ; tries++) {
    const before = stampOf(folder);
    const found = lookAt(env, folder, name);
    // A compaction removes files that the manifest before it names.
    if (found?.damaged === undefined || tries === TRIES || before === stampOf(folder)) return found;
  }
}

function lookAt(env: Environment, folder: string, name: string): CollectionOverview | undefined {
  try {
    const sizes = sizesIn(folder);
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    const saved = readSaved(env, folder, name, sizes);
    return saved && { name, bytes, ...saved };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return code === "ENOENT" ? undefined : { name, bytes: 0, damaged: `its folder cannot be read (${code})` };
  }
}

/** Another one after each save. */
function stampOf(folder: string): string | undefined {
  try {
    const { ino, size, mtimeMs } = lstatSync(join(folder, "collection.json"));
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

function sizesIn(folder: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const file of readdirSync(folder)) {
    // A link is not a file of a collection, wherever it leads.
    const stat = lstatSync(join(folder, file), { throwIfNoEntry: false });
    if (stat?.isFile()) sizes.set(file, stat.size);
  }
  return sizes;
}

function readSaved(
  env: Environment,
  folder: string,
  name: string,
  sizes: ReadonlyMap<string, number>,
): Partial<CollectionOverview> | undefined {
  const stat = lstatSync(join(folder, "collection.json"), { throwIfNoEntry: false });
  if (stat === undefined) {
    const state = stateOf(folder);
    if (state === "leftover") return { leftover: leftoverOf(name) };
    return state === "lost" ? { damaged: "collection.json is missing" } : undefined;
  }
  if (stat.isSymbolicLink()) return { damaged: "collection.json is a link" };
  const last_write = Math.round(stat.mtimeMs);
  let bytes: Buffer;
  try {
    bytes = readManifestFile(folder);
  } catch (error) {
    return { damaged: (error as Error).message };
  }
  let parsed: VersionedManifest;
  let known: Partial<CollectionOverview>;
  try {
    const text = bytes.toString("utf8");
    parsed = JSON.parse(text);
    known = { ...savedOf(parseManifest(text)), ivf: (parsed.files ?? []).some((file) => file.name.startsWith("ivf-")) };
  } catch {
    return { last_write, damaged: "collection.json is not a manifest" };
  }
  const isWhole = restoreManifest(env, bytes) === 0;
  const other = otherVersion(folder, parsed, isWhole);
  if (other !== undefined) return { ...known, last_write, ...other };
  if (!isWhole) return { ...known, last_write, damaged: "collection.json does not match its checksum" };
  const short = parsed.files?.find(({ name, bytes }) => name !== "id_map.npy" && (sizes.get(name) ?? -1) < bytes);
  if (short === undefined) return { ...known, last_write };
  return { ...known, last_write, damaged: `${short.name} is ${sizes.has(short.name) ? "too short" : "missing"}` };
}

function savedOf({ filterColumns, keyName, lexical, liveRows, description }: Manifest): Partial<CollectionOverview> {
  return { filter_columns: [...filterColumns], partition_by: keyName, lexical, rows: liveRows, description };
}
