/**
 * The licence beside the libraries, `runtime/<tag>/license.jwt`: a copy of the login's, which nothing reads. An install
 * writes it, and a login that keeps the install updates it.
 */
import { lstatSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { diskError, syncDirectory, withLock, writeNew } from "../../durable.ts";
import { PermissionError } from "../../errors.ts";
import { platformTag, runtimePaths } from "../../paths.ts";
import { permissionFaults } from "../account/permissions.ts";
import { STAGING_PREFIX, tidy } from "./staging.ts";

/**
 * Replaces the copy atomically, mode 0600. Where nothing is installed, nothing is written.
 * @param waitMs how long an install under way is waited for at most; absent: as for every lock
 * @throws PermissionError where others can write to its folder; TimeoutError while another process installs; OSError.
 *   The old copy stands then.
 */
export async function renewLicenseCopy(home: string, license: string, waitMs?: number): Promise<void> {
  const tag = platformTag();
  if (!tag) return;
  const { dir, license: path } = runtimePaths(home, tag);
  const parent = dirname(dir);
  if (!lstatSync(dir, { throwIfNoEntry: false })?.isDirectory()) return;
  const fault = permissionFaults(home, [dir])[0];
  if (fault) throw new PermissionError(fault);
  // An install's lock: a concurrent exchange of folders would move the new copy away with the old install.
  await withLock(
    join(parent, ".lock"),
    () => {
      tidy(dir);
      // Beside the install and not in it, where `runtime verify` would report the file of a killed login as unlisted.
      const staged = join(parent, `${STAGING_PREFIX}${crypto.randomUUID()}`);
      try {
        writeNew(staged, new TextEncoder().encode(license), 0o600);
        renameSync(staged, path);
        syncDirectory(dir);
      } catch (error) {
        throw diskError(error, "write", path);
      } finally {
        rmSync(staged, { force: true });
      }
    },
    waitMs,
  );
}
