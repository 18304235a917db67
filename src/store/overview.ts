/** What the folder of a collection says without being opened: its manifest and the sizes of its files. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { crc32c } from "./crc32c.ts";
import { readManifestFile } from "./manifest-file.ts";
import { parseManifest } from "./schema.ts";

/** The version of the format that this program writes. */
const FORMAT_VERSION = 7;

/** A collection as its folder shows it. */
export interface CollectionOverview {
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
  /** What is wrong with it, as far as can be seen without reading its rows. */
  damaged?: string;
}

/** Looks at one collection. Some 100 microseconds: nothing of its rows is read. */
export function overviewOf(dir: string, name: string): CollectionOverview {
  const folder = join(dir, name);
  const found: CollectionOverview = { name, bytes: 0 };
  try {
    const sizes = sizesIn(folder);
    found.bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    Object.assign(found, readSaved(folder, sizes));
  } catch (error) {
    found.damaged = `its folder cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`;
  }
  return found;
}

/** The description in a manifest; undefined where there is none, or the manifest cannot be read. */
export function descriptionOf(dir: string, name: string): string | undefined {
  try {
    const text = readManifestFile(join(dir, name)).toString("utf8");
    // Most have none, and notes may make a manifest long.
    return text.includes('"description"') ? parseManifest(text).description : undefined;
  } catch {
    return undefined;
  }
}

function sizesIn(folder: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const file of readdirSync(folder)) {
    const stat = statSync(join(folder, file), { throwIfNoEntry: false });
    if (stat?.isFile()) sizes.set(file, stat.size);
  }
  return sizes;
}

function readSaved(folder: string, sizes: ReadonlyMap<string, number>): Partial<CollectionOverview> {
  let bytes: Buffer;
  try {
    bytes = readManifestFile(folder);
  } catch (error) {
    return { damaged: (error as Error).message };
  }
  const last_write = Math.round(statSync(join(folder, "collection.json")).mtimeMs);
  let parsed: { files?: { name: string; bytes: number }[]; format_version?: unknown };
  let manifest: ReturnType<typeof parseManifest>;
  try {
    const text = bytes.toString("utf8");
    parsed = JSON.parse(text);
    manifest = parseManifest(text);
  } catch {
    return { last_write, damaged: "collection.json is no manifest" };
  }
  const { filterColumns, keyName, lexical, liveRows, description } = manifest;
  const shown = { filter_columns: [...filterColumns], partition_by: keyName, lexical, rows: liveRows, last_write };
  const files = parsed.files ?? [];
  const known = { ...shown, ivf: files.some((file) => file.name.startsWith("ivf-")), description };
  if (Number(parsed.format_version) !== FORMAT_VERSION) {
    return { ...known, damaged: `its format is version ${parsed.format_version}, not ${FORMAT_VERSION}` };
  }
  const end = bytes.lastIndexOf('"crc32c"');
  const sum = Number(/^"crc32c": *(\d+)/.exec(bytes.toString("latin1", end))?.[1]);
  if (crc32c(bytes.subarray(0, end)) !== sum) {
    return { ...known, damaged: "collection.json does not match its checksum" };
  }
  const short = files.find((file) => file.name !== "id_map.npy" && (sizes.get(file.name) ?? -1) < file.bytes);
  if (short === undefined) return known;
  return { ...known, damaged: `${short.name} is ${sizes.has(short.name) ? "too short" : "missing"}` };
}
