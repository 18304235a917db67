/** `svc logout`. */
import { existsSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { diskError, syncDirectory } from "../../../durable.ts";
import type { SvcError } from "../../../errors.ts";
import { accountPaths } from "../../../paths.ts";
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
 * authority, unless it is to be forgotten. No server is asked.
 * @param options.forget removes the pin too, damaged or not
 * @throws TimeoutError while another process changes the login; OSError naming the first file that cannot be removed,
 *   once all others are: no secret stays because of another file
 */
export async function logout(home: string, { forget = false } = {}): Promise<LoggedOut> {
  if (!existsSync(home)) return { login: [], temporary: [] };
  return lockLogin(home, (temporary) => {
    const paths = accountPaths(home);
    const login: string[] = [];
    const failures: SvcError[] = [];
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
    return { login, temporary };
  });
}
