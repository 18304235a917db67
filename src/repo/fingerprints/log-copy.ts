/** The logs of a collection's repositories, copied beside its rows: what the notes say counts, and no more. */
import { closeSync, constants, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { diskError, syncFile } from "../../durable.ts";
import { openRegular, RegularFile } from "../../regular-file.ts";
import type { Extent } from "./log.ts";
import { readNote, repoIdOfNote } from "./note.ts";

const STEP_BYTES = 1024 * 1024;

/** The logs that the notes of a manifest name. */
export function logsOf(notes: Readonly<Record<string, unknown>>): (Extent & { file: string })[] {
  return Object.entries(notes).flatMap(([name, value]) => {
    const repoId = repoIdOfNote(name);
    const note = repoId === undefined ? undefined : readNote(value, repoId);
    return note ? [{ file: note.file, bytes: note.bytes, sum: note.sum }] : [];
  });
}

/** Whether the log in a folder is as its note says: as long at least, with that checksum. */
export function isLogSound(folder: string, { file, bytes, sum }: Extent & { file: string }): boolean {
  return readThrough(join(folder, file), bytes, () => {}) === sum;
}

/**
 * Copies what counts of a log, syncs it, and says whether it is as its note says; where not, the file is not there or
 * has other bytes, which the next run over the repository ignores. @throws OSError where the copy cannot be written
 */
export function copyLog(from: string, to: string, { file, bytes, sum }: Extent & { file: string }): boolean {
  const path = join(to, file);
  let fd: number;
  try {
    fd = openRegular(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW).fd;
  } catch (error) {
    throw diskError(error, "write", path);
  }
  try {
    const found = readThrough(join(from, file), bytes, (piece, at) => {
      try {
        for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done, piece.length - done, at + done);
      } catch (error) {
        throw diskError(error, "write", path);
      }
    });
    syncFile(fd);
    return found === sum;
  } finally {
    closeSync(fd);
  }
}

/** CRC-32 of the first bytes of a file, each piece of which `each` gets; undefined where they cannot be read. */
function readThrough(path: string, bytes: number, each: (piece: Uint8Array, at: number) => void): number | undefined {
  const file = RegularFile.open(path);
  try {
    let sum = 0;
    for (let at = 0; at < bytes; at += STEP_BYTES) {
      const piece = file?.read(at, Math.min(STEP_BYTES, bytes - at));
      if (piece === undefined) return undefined;
      sum = crc32(piece, sum);
      each(piece, at);
    }
    return file && sum;
  } finally {
    file?.close();
  }
}
