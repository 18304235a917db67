/**
 * The weights of the sentence encoder, which the native code reads in place. They are read when they are first needed,
 * for a text, a search or a count of vectors, not with the libraries: most commands do without these 7 MB. A process whose weights do not verify goes on, and searches
 * by words alone.
 */
import { closeSync, constants, readSync } from "node:fs";
import { setImmediate as immediate } from "node:timers/promises";
import { largeMemory } from "../../../ffi/system/calls.ts";
import { diskError } from "../../durable.ts";
import { errorMessage } from "../../errors.ts";
import { runtimePaths } from "../../paths.ts";
import { type OpenFile, openRegular } from "../../regular-file.ts";
import { permissionFaults } from "../account/permissions.ts";
import type { Artifact } from "./bundle-manifest.ts";
import type { SignedManifest } from "./signed.ts";

/** Verified weights, or why there are none although the release has them. */
export type LoadedModel =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly fault?: undefined }
  | { readonly bytes?: undefined; readonly fault: ModelFault };

export interface ModelFault {
  /** `unsafe`: others can write the file, or a folder above it. `invalid`: it has other bytes than were signed. */
  readonly reason: "missing" | "invalid" | "unsafe" | "unreadable";
  /** One sentence, with the remedy. */
  readonly message: string;
}

const AGAIN = "run 'svc runtime install' again, then restart the programs that use svc";

/**
 * Bytes that are read and hashed at a time, which takes 1 ms. The event loop runs between two chunks. `crypto.subtle` hashes on
 * another thread, but copies all bytes first: it blocked the event loop for 25 ms, and took 8 MB more. A read by another
 * thread waited up to 60 ms for it on a busy machine.
 */
const CHUNK_BYTES = 1024 * 1024;

/**
 * Reads the weights of the release whose libraries this process has mapped, and verifies them. Native code may use the
 * bytes for as long as the caller keeps the array; no caller changes them.
 *
 * @param signed the manifest that the libraries were verified by: after an update the installed one may be another
 * @returns undefined if the release has no encoder; never throws
 */
export async function loadModel(home: string, { manifest }: SignedManifest): Promise<LoadedModel | undefined> {
  const artifact = manifest.artifacts.find(({ role }) => role === "model");
  if (!artifact) return undefined;
  const path = runtimePaths(home, manifest.platform).model;
  try {
    const unsafe = permissionFaults(home, [path])[0];
    if (unsafe !== undefined) return faulty("unsafe", unsafe, "then restart the programs that use svc");
  } catch (error) {
    return faulty("unreadable", errorMessage(error));
  }
  return readModel(path, artifact);
}

/** Reads and verifies the weights without a look at permissions. Never throws. */
export async function readModel(path: string, artifact: Artifact): Promise<LoadedModel> {
  let file: OpenFile | undefined;
  try {
    file = openRegular(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const bytes = file.stat.size === artifact.size_bytes ? largeMemory(artifact.size_bytes) : undefined;
    if (bytes && (await readHashed(file.fd, bytes)) === artifact.sha256) return { bytes };
    return faulty("invalid", `${artifact.name} is not the file that was signed`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return faulty("missing", `${artifact.name} is missing`);
    return faulty("unreadable", errorMessage(diskError(error, "read", path)));
  } finally {
    if (file) closeSync(file.fd);
  }
}

/** Fills `bytes` from a file. @returns the SHA-256 of what was read, in lower-case hex */
async function readHashed(fd: number, bytes: Uint8Array): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for (let at = 0, got = 1; got > 0 && at < bytes.length; at += got) {
    got = readSync(fd, bytes, at, Math.min(CHUNK_BYTES, bytes.length - at), at);
    hasher.update(bytes.subarray(at, at + got));
    await immediate();
  }
  return hasher.digest("hex");
}

function faulty(reason: ModelFault["reason"], what: string, remedy = AGAIN): LoadedModel {
  return { fault: { reason, message: `searches by meaning are off: ${what}; ${remedy}` } };
}
