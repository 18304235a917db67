/** Small private files under `SVC_HOME`: created exactly once, and read as text only if no other user can read them. */
import { linkSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { diskError, makeDirectory, readSecret, syncDirectory, writeNew } from "../../durable.ts";
import { SECRET_BYTES_MAX } from "../../limits.ts";
import { requireClosed } from "./permissions.ts";

/**
 * Creates SVC_HOME, or a folder below it, 0700, with its parents.
 * @throws PermissionError if others can write in it or on the way to it: they could replace keys with their own. Then
 * nothing is created.
 */
export function ensurePrivateDirectory(path: string, home: string): void {
  requireClosed(home, [path]);
  makeDirectory(path);
}

/**
 * Creates a secret file with O_EXCL semantics: the second of two callers gets `false` and finds the first one's
 * complete file. By a hard link: after a plain O_EXCL open the file is visible before its bytes, and a kill in between
 * would leave an unusable key. The caller holds the login's lock: a holder removes files that are staged.
 */
export function createOnce(path: string, text: string): boolean {
  const staged = `${path}.${Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString("hex")}.new`;
  writeNew(staged, new TextEncoder().encode(text), 0o600);
  try {
    linkSync(staged, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw diskError(error, "create", path);
  } finally {
    unlinkSync(staged);
  }
  syncDirectory(dirname(path));
  return true;
}

/** The file for which `createOnce` made a temporary one of this name; `undefined` for every other name. */
export function stagedFor(name: string): string | undefined {
  return /^(.+)\.[0-9a-f]{12}\.new$/.exec(name)?.[1];
}

/**
 * A small secret file as text, trimmed; `undefined` where there is none.
 * @throws PermissionError if others can read it; the message has the `chmod` that fixes it.
 */
export function secretText(home: string, path: string): string | undefined {
  const bytes = readSecret(path, SECRET_BYTES_MAX, home);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes).trim();
}
