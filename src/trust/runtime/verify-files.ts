/** What lies in an install: who could have written it, and what of it the manifest does not name. */
import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { checkSecretFile, diskError } from "../../durable.ts";
import { errorMessage, RuntimeError } from "../../errors.ts";
import { RUNTIME_ARTIFACTS_MAX } from "../../limits.ts";
import { bytecodePath, releasesPath } from "../../paths.ts";
import { type Examined, examine } from "../account/permissions.ts";
import { MANIFEST_NAME, SIGNATURE_NAME } from "./bundle.ts";
import type { RuntimeManifest } from "./bundle-manifest.ts";

/** Names below an install that are looked at: as many artifacts as it may have, their folders, and files beside them. */
const NAMES_MAX = 2 * RUNTIME_ARTIFACTS_MAX;

/**
 * All names below a folder, relative to it, links not followed; none where the folder is absent.
 * @throws RuntimeError where there are more than an install can have; OSError
 */
export function namesBelow(dir: string): string[] {
  const names: string[] = [];
  const list = (folder: string) => {
    let entries: Dirent[];
    try {
      entries = readdirSync(join(dir, folder), { withFileTypes: true });
    } catch (error) {
      throw diskError(error, "list", join(dir, folder));
    }
    for (const entry of entries) {
      const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (names.push(name) > NAMES_MAX)
        throw new RuntimeError(`it has more than ${NAMES_MAX} files and folders: run 'svc runtime install' again`);
      if (entry.isDirectory()) list(name);
    }
  };
  if (lstatSync(dir, { throwIfNoEntry: false })?.isDirectory()) list("");
  return names.sort();
}

/**
 * Who could have written an install: SVC_HOME and the folders above it, each folder on the way, each file, the record of
 * releases, and the folder of Python's bytecode. The copy of the licence is a secret like the licence itself, and nothing reads it, so that
 * anything else, even a link, may be in its place.
 */
export function examineInstall(home: string, dir: string, names: string[], copy: string): Examined[] {
  const paths = [
    dir,
    bytecodePath(home),
    releasesPath(home),
    ...names.map((name) => join(dir, name)).filter((path) => path !== copy),
  ];
  const examined = examine(home, paths);
  if (lstatSync(copy, { throwIfNoEntry: false })?.isFile())
    examined.push({ name: relative(home, copy), faults: exposed(home, copy) });
  return examined;
}

function exposed(home: string, secret: string): string[] {
  try {
    checkSecretFile(secret, home);
    return [];
  } catch (error) {
    return [errorMessage(error)];
  }
}

/** The files of an install beside the artifacts. */
const OWN_FILES = [MANIFEST_NAME, SIGNATURE_NAME, "license.jwt", "installed.json"];

/**
 * The names that neither the manifest has nor an install writes. Of a folder that is not named only the folder: any
 * Python program on the install's path could import what is in it, folders without files included (PEP 420).
 */
export function unlisted(names: string[], manifest: RuntimeManifest): string[] {
  const named = new Set([".", ...OWN_FILES]);
  for (const { name } of manifest.artifacts) {
    for (let at = name; !named.has(at); at = dirname(at)) named.add(at);
  }
  return names.filter((name) => !named.has(name) && named.has(dirname(name)));
}
