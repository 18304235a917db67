/** The files that an index has to hold, by git's own listing and what svc documents as left out. */
import { lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CHUNK_DEFAULTS, chunkBytes, textBytes } from "../../../src/repo/chunk.ts";
import { holdsSecret } from "../../../src/repo/secret-content.ts";
import { isSecret } from "../../../src/repo/secrets.ts";
import { isThere, type World } from "./world.ts";

/** Paths of texts with a window, and folders of submodules that git cannot list: their rows are unknown. */
export interface Expected {
  paths: Set<string>;
  unknown: string[];
}

const BINARY_PROBE_BYTES = 8 * 1024;

/** @throws Error where git does not list the root */
export function expectedIn(world: World, root: string): Expected {
  const expected: Expected = { paths: new Set(), unknown: [] };
  const hidden = hiddenBy(world, root);
  const list = (folder: string) => {
    const listed = lsFiles(world, join(root, folder), "--cached", "--others", "--exclude-standard");
    if (typeof listed === "string") {
      if (folder === "") throw new Error(`git does not list ${root}: ${listed}`);
      expected.unknown.push(folder);
      return;
    }
    for (const name of listed) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (name.endsWith("/") || hidden(path)) continue;
      const stat = statOf(root, path);
      if (stat?.isDirectory()) {
        // A submodule, where it is checked out.
        if (isThere(join(root, path, ".git"))) list(path);
      } else if (stat?.isFile() && isIndexed(root, path)) expected.paths.add(path);
    }
  };
  list("");
  return expected;
}

/** What git lists, without names that are not UTF-8, or why it fails. */
function lsFiles(world: World, folder: string, ...words: string[]): string[] | string {
  const { ok, out, err } = world.git(folder, "ls-files", "-z", ...words);
  if (!ok) return err;
  const names = out.toString("latin1").split("\0").slice(0, -1);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decoded = names.flatMap((name) => {
    try {
      return [decoder.decode(Buffer.from(name, "latin1"))];
    } catch {
      return [];
    }
  });
  return [...new Set(decoded)];
}

/** Whether a `.svcignore` file hides a path. */
function hiddenBy(world: World, root: string): (path: string) => boolean {
  const words = ["--ignored", "--cached", "--others", "--exclude-per-directory=.svcignore"];
  const listed = lsFiles(world, root, ...words);
  const hidden = new Set(typeof listed === "string" ? [] : listed);
  return (path) => {
    for (let at = path; at !== "."; at = dirname(at)) if (hidden.has(at) || hidden.has(`${at}/`)) return true;
    return false;
  };
}

/** Of a path that no link leads to. */
function statOf(root: string, path: string) {
  try {
    for (let at = dirname(path); at !== "."; at = dirname(at))
      if (!lstatSync(join(root, at)).isDirectory()) return undefined;
    return lstatSync(join(root, path));
  } catch {
    return undefined;
  }
}

function isIndexed(root: string, path: string): boolean {
  if (isSecret(path) || `/${path}`.includes("/.svc/")) return false;
  const bytes = readFileSync(join(root, path));
  if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0) || holdsSecret(bytes)) return false;
  return chunkBytes(textBytes(bytes), CHUNK_DEFAULTS).length > 0;
}
