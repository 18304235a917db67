/** The bytes of `collection.json`, read without opening the collection, which may be damaged. */
import { join } from "node:path";
import { readCapped } from "../durable.ts";
import { OSError } from "../errors.ts";

/** As FORMAT.md says: a larger file is not a manifest. */
const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

/** The manifest in a collection's folder. @throws OSError where it is missing or cannot be read; ValueError where it is not a regular file, or too large */
export function readManifestFile(folder: string): Buffer {
  const bytes = readCapped(join(folder, "collection.json"), MANIFEST_BYTES_MAX, { noFollow: true });
  if (bytes === undefined) throw new OSError("collection.json is missing");
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
