/** The format version of a collection that this program cannot read, and what helps then. */
import { join } from "node:path";
import { RegularFile } from "../regular-file.ts";
import { readManifestFile } from "./folder-state.ts";

/** The version of the format that this program writes, and the oldest that it reads (FORMAT.md, Versions). */
const FORMAT_VERSION = 8;
const OLDEST_READ = 7;
/** What every slab begins with; its version follows. Both keep their places in all versions (FORMAT.md, Slabs). */
const MAGIC = "SVCSLAB1";

/** Its format is of an earlier version, or of a later one, than this program's: both versions, and what helps. */
export interface OtherVersion {
  older?: string;
  newer?: string;
}

/** What a manifest has of its version, where it is JSON. */
export interface VersionedManifest {
  files?: { name: string; bytes: number }[];
  format_version?: unknown;
  crc32c?: unknown;
}

/**
 * The version that a manifest has, where that is another one; undefined for this program's, and where nothing but damage
 * is known. The rules are those of FORMAT.md, collection.json.
 * @param isWhole whether its checksum fits: that of a later version may be another one
 */
export function otherVersion(
  folder: string,
  { files, format_version, crc32c }: VersionedManifest,
  isWhole: boolean,
): OtherVersion | undefined {
  const version = Number(format_version ?? 0);
  if (version > FORMAT_VERSION) {
    return { newer: `its format is version ${version}, newer than this svc's ${FORMAT_VERSION}: use a newer release` };
  }
  if (version > 0) return isWhole && version < OLDEST_READ ? older(`version ${version}`) : undefined;
  if (format_version !== undefined || crc32c !== undefined || !Array.isArray(files)) return undefined;
  // The versions before the oldest that is read are in the slabs only.
  const found = otherSlab(folder, files);
  return older(found === undefined ? "a version" : `version ${found}`);
}

/** The same of a collection that was refused as being of another version, which may be that of a slab alone. */
export function refusedVersion(folder: string): OtherVersion {
  try {
    const manifest = JSON.parse(readManifestFile(folder).toString("utf8")) as VersionedManifest;
    const said = otherVersion(folder, manifest, true);
    const found = said === undefined ? otherSlab(folder, manifest.files ?? []) : undefined;
    return said ?? otherVersion(folder, { format_version: found }, true) ?? {};
  } catch {
    return {};
  }
}

function older(version: string): OtherVersion {
  const remedy = "export it with the release that wrote it, and import it with this one";
  return { older: `its format is ${version}, older than this svc's ${FORMAT_VERSION}: ${remedy}` };
}

/** The version of the first slab that has another one. */
function otherSlab(folder: string, files: readonly { name: unknown }[]): number | undefined {
  return files
    .map(({ name }) => (/^[a-z0-9.-]+\.slab$/.test(String(name)) ? slabVersion(join(folder, String(name))) : undefined))
    .find((version) => version !== undefined && (version < OLDEST_READ || version > FORMAT_VERSION));
}

function slabVersion(path: string): number | undefined {
  const file = RegularFile.open(path);
  const head = file?.read(0, MAGIC.length + 4);
  file?.close();
  if (head === undefined || !new TextDecoder().decode(head).startsWith(MAGIC)) return undefined;
  return new DataView(head.buffer).getUint32(MAGIC.length, true);
}
