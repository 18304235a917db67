/** A file that a browser has sent, on the disk for as long as it is read: the formats read files. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { diskError, writeNew } from "../../durable.ts";

/** Bytes of a file: it is held in memory while it is imported. Larger ones are for `svc mem import`. */
export const UPLOAD_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes of a name: file systems take 255. */
const NAME_BYTES_MAX = 200;

export interface Upload {
  /** In a folder of its own, that only this user reads. */
  readonly path: string;
  /** A message about the file without that folder. */
  readonly shown: (message: string) => string;
}

/**
 * Writes the file, calls `work` and removes it.
 * @throws OSError where there is no room for it; what `work` throws
 */
export async function withUpload<T>(file: File, work: (upload: Upload) => Promise<T>): Promise<T> {
  const folder = temporaryFolder();
  try {
    const path = join(folder, nameOf(file.name));
    writeNew(path, new Uint8Array(await file.arrayBuffer()));
    return await work({ path, shown: (message) => message.replaceAll(`${folder}/`, "") });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Only this user can read it. @throws OSError */
function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), "svc-import-"));
  } catch (error) {
    throw diskError(error, "make a folder in", tmpdir());
  }
}

/** Formats are recognised by the name too, which another program chose: one component, without control characters. */
function nameOf(name: string): string {
  const last = basename(name.replaceAll("\\", "/")).replace(/\p{C}/gu, "_");
  const kept = last.startsWith(".") || last === "" ? `file${last}` : last;
  const characters = [...kept];
  // The end tells the format.
  while (Buffer.byteLength(characters.join("")) > NAME_BYTES_MAX) characters.shift();
  return characters.join("");
}
