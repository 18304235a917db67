/** Reads git's small files and tells whether they changed. Never a FIFO, a device or a folder, whatever the name says. */
import { lstatSync, statSync } from "node:fs";
import { readCapped } from "../../../durable.ts";

/** The bytes of a regular file; undefined where there is none, it is larger, or may not be read. */
export function readBytes(path: string, bytesMax: number, noFollow = false): Uint8Array | undefined {
  try {
    // Most files that are asked for are not there, and an exception costs ten times as much as an lstat.
    if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
    return readCapped(path, bytesMax, { noFollow });
  } catch {
    return undefined;
  }
}

/** The same as text, with U+FFFD for what is not UTF-8. */
export function readText(path: string, bytesMax: number): string | undefined {
  const bytes = readBytes(path, bytesMax);
  return bytes && new TextDecoder().decode(bytes);
}

/** The same as a binary string: a character for each byte. Links are not followed: git does not in a work tree. */
export function readBinary(path: string, bytesMax: number, noFollow: boolean): string | undefined {
  const bytes = readBytes(path, bytesMax, noFollow);
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

/** Whether a path is a directory, and no link to one. */
export function isDirectory(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

/** Whether a path is a regular file, or a link to one. */
export function isRegular(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

/**
 * Names a file's state, another one after any change; `""` where there is none.
 * @param ignoresContent of a folder, whose times say nothing of what matters: only whether it is the same one
 */
export function stampOf(path: string, ignoresContent = false): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stat) return "";
    if (ignoresContent && stat.isDirectory()) return `${stat.dev}:${stat.ino}`;
    // A change within the same tick of the file system's clock would leave the stamp: such a file is read again.
    const isSettled = Date.now() - Number(stat.ctimeMs) > TICK_MS;
    return `${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}${isSettled ? "" : ":new"}`;
  } catch {
    return "?";
  }
}

/** Whether a stamp may stay the same over a change. */
export function isUnsettled(stamp: string): boolean {
  return stamp.endsWith(":new");
}

/** Longer than the tick of any file system's clock in use but FAT's. */
const TICK_MS = 50;
