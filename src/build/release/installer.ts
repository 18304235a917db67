/** The installer of a release. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RELEASES_URL } from "../../published.ts";

/** Its name among the files of a release. */
export const INSTALLER = "install.sh";

/** install.sh of this folder with the addresses of releases, and with the version that it installs unless told otherwise. */
export function installerOf(version: string): string {
  const template = readFileSync(join(import.meta.dir, INSTALLER), "utf8");
  return template.replaceAll("@RELEASES_URL@", RELEASES_URL).replaceAll("@VERSION@", version);
}
