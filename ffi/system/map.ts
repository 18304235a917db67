/**
 * Native code is loaded from bytes that were verified, never from a path that someone may change between the check and
 * the load.
 *
 * On Linux the bytes go into a memory file that is then sealed: no process, our own included, can write, grow or shrink
 * it any more, and the loader reads it through `/proc/self/fd`. macOS has no such file, so there the bytes go into a
 * private folder (0700) under a name that did not exist before, and are unlinked once loaded. A process of the same
 * user could still race that; an attacker with our own user id is out of scope, because such a one can change the
 * executable too.
 */
import { dlopen, FFIType } from "bun:ffi";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryFile, sealMemoryFile } from "./calls.ts";

/** Bytes that the dynamic loader can be pointed at. */
export interface MappedBytes {
  /** What to hand to `dlopen`. Valid until `close`. */
  readonly path: string;
  /** Closes the file behind the path. Call it after `dlopen`: what has been loaded stays loaded. Safe to call twice. */
  close(): void;
}

/**
 * Makes verified bytes loadable.
 *
 * @param bytes the library, already hashed by the caller; read once and not kept
 * @param name  a file name for diagnostics such as `libame_kernel.so`; letters, digits, dot, dash and underscore only
 * @throws Error where the system refuses a sealed memory file or a private folder
 */
export function mapVerified(bytes: Uint8Array, name: string): MappedBytes {
  if (!/^[A-Za-z0-9_.-]{1,100}$/.test(name) || name.startsWith(".")) throw new Error(`'${name}' is not a library name`);
  return process.platform === "darwin" ? privateCopy(bytes, name) : sealedFile(bytes, name);
}

/**
 * Loads a library, asks its `<prefix>_abi_version()` and unloads it again.
 *
 * @throws Error where it cannot be loaded or has no such function
 */
export function abiVersion(path: string, symbol: "ame_abi_version" | "ty_abi_version"): number {
  const library = dlopen(path, { [symbol]: { args: [], returns: FFIType.u32 } });
  try {
    return Number(library.symbols[symbol]!());
  } finally {
    library.close();
  }
}

function sealedFile(bytes: Uint8Array, name: string): MappedBytes {
  const fd = memoryFile(name);
  if (fd < 0) throw new Error("the kernel refused a memory file (memfd_create)");
  try {
    writeAll(fd, bytes);
    if (!sealMemoryFile(fd)) throw new Error("the kernel did not seal a memory file (F_ADD_SEALS); try again");
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { path: uniquePath(fd), close: once(() => closeSync(fd)) };
}

let mapped = 0;

/**
 * `/proc/self/fd/N` spelled as it was never spelled before in this process. The loader of glibc recognises a library
 * that is already loaded by the name it was asked for; descriptor numbers are reused, so the plain spelling would hand
 * out the library that sat behind the same number earlier. "/" and "/." mean nothing to the kernel and write a serial
 * number in binary.
 */
function uniquePath(fd: number): string {
  const serial = (mapped++).toString(2).replaceAll("0", "/").replaceAll("1", "/.");
  return `/proc/self/fd${serial}/${fd}`;
}

function privateCopy(bytes: Uint8Array, name: string): MappedBytes {
  const folder = mkdtempSync(join(tmpdir(), "svc-native-")); // mkdtemp(3) makes it 0700
  const path = join(folder, name);
  const close = once(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const fd = openSync(path, flags, 0o600);
    try {
      writeAll(fd, bytes);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    close();
    throw error;
  }
  return { path, close };
}

/** `writeSync` may write less than it was asked to without an error. */
function writeAll(fd: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset, bytes.length - offset);
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
