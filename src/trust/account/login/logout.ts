/** `svc logout`. */
import { existsSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { diskError, syncDirectory } from "../../../durable.ts";
import { attempt, type SvcError } from "../../../errors.ts";
import { accountPaths } from "../../../paths.ts";
import { ensurePrivateDirectory } from "../files.ts";
import { recordLogout } from "./logged-out.ts";
import { lockLogin } from "./login-lock.ts";

export interface LoggedOut {
  /** Names of the login's files that were removed; empty where there was no login. */
  readonly login: readonly string[];
  /** Names of temporary files of killed runs that were removed. */
  readonly temporary: readonly string[];
}

/**
 * Removes the login: the licence first, the device key last, so that an interrupted logout can be
 * repeated and never leaves a licence that looks usable. Memory, runtime and authority stay, and so does the pinned
 * authority, unless it is to be forgotten. No server is asked. Nothing signs in by itself from then on, also where there
 * was no login.
 * @param options.forget removes the pin too, damaged or not
 * @throws TimeoutError while another process changes the login; OSError naming the first file that cannot be removed,
 *   once all others are: no secret stays because of another file
 */
export async function logout(home: string, { forget = false } = {}): Promise<LoggedOut> {
  // Where it cannot be made, nothing can sign in either.
  if (!existsSync(home)) attempt(() => ensurePrivateDirectory(home, home));
  if (!existsSync(home)) return { login: [], temporary: [] };
  return lockLogin(home, (temporary) => {
    const paths = accountPaths(home);
    const login: string[] = [];
    const failures: SvcError[] = [];
    // First, so that nothing signs in again where this is killed; on a full disk there is room for it afterwards.
    const isRecorded = attempt(() => [recordLogout(home)]) !== undefined;
    const roles = ["license", "revoked", "renewal", "loginOrigin", "apiKey", "token", "deviceId", "deviceKey"] as const;
    for (const role of forget ? ([...roles, "pin"] as const) : roles) {
      const path = paths[role];
      try {
        unlinkSync(path);
        login.push(basename(path));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") failures.push(diskError(error, "remove", path));
      }
    }
    if (login.length + temporary.length > 0) syncDirectory(home);
    if (failures[0] !== undefined) throw failures[0];
    if (!isRecorded) recordLogout(home);
    return { login, temporary };
  });
}
