/** `svc logout`. */
import { existsSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { diskError, syncDirectory } from "../durable.ts";
import { accountPaths } from "../paths.ts";
import { lockLogin } from "./login-lock.ts";

/**
 * Removes the login: the licence first, the device key last, so that an interrupted logout can be
 * repeated and never leaves a licence that looks usable. Memory, runtime and authority stay.
 * @returns the names of the files that were removed, temporary files of killed runs among them.
 * @throws TimeoutError while another process changes the login; OSError
 */
export async function logout(home: string): Promise<string[]> {
  if (!existsSync(home)) return [];
  return lockLogin(home, (temporary) => {
    const paths = accountPaths(home);
    const removed: string[] = [];
    for (const role of ["license", "apiKey", "token", "deviceId", "deviceKey"] as const) {
      const path = paths[role];
      try {
        unlinkSync(path);
        removed.push(basename(path));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw diskError(error, "remove", path);
      }
    }
    if (removed.length > 0) syncDirectory(home);
    return [...removed, ...temporary];
  });
}
