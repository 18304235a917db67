/** The files that an index has to hold, by git's own listing and what svc documents as left out. */
import { lstatSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CHUNK_DEFAULTS, chunkBytes, textBytes } from "../../../src/repo/chunks/chunk.ts";
import { holdsSecret } from "../../../src/secrets/content.ts";
import { isSecret } from "../../../src/secrets/names.ts";
import { isThere, type World } from "./world.ts";

/** Paths of texts with a window, and folders of submodules that git cannot list: their rows are unknown. */
export interface Expected {
  paths: Set<string>;
  unknown: string[];
}

const BINARY_PROBE_BYTES = 8 * 1024;

/**
 * Undefined where git does not list the root: version 2.39 of git fails on some indexes that it has written itself. And
 * where a sparse checkout has left out a file of rules, which git then reads from its database, and svc does not.
 */
export function expectedIn(world: World, root: string): Expected | undefined {
  if (hasRulesLeftOut(world, root)) return undefined;
  const expected: Expected = { paths: new Set(), unknown: [] };
  const hidden = hiddenBy(world, root);
  const list = (folder: string) => {
    const listed = lsFiles(world, join(root, folder), "--cached", "--others", "--exclude-standard");
    if (typeof listed === "string") {
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
  return expected.unknown.includes("") ? undefined : expected;
}

function hasRulesLeftOut(world: World, root: string): boolean {
  const marked = lsFiles(world, root, "-t", "--cached");
  if (typeof marked === "string") return false;
  return marked.some((entry) => /^S (.*\/)?\.gitignore$/s.test(entry) && !isThere(join(root, entry.slice(2))));
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

/** Whether a `.svcignore` file hides a path: git says it of the same names, without submodules and what is tracked. */
function hiddenBy(world: World, root: string): (path: string) => boolean {
  const paths = world.paths(root);
  if (!paths.some((path) => basename(path) === ".svcignore")) return () => false;
  const copy = mkdtempSync(join(world.dir, "names-"));
  try {
    world.git(copy, "init", "-q");
    for (const path of paths) {
      const bytes = basename(path) === ".svcignore" ? readFileSync(join(root, path)) : "";
      world.write(copy, path, bytes);
    }
    const listed = lsFiles(world, copy, "--ignored", "--others", "--exclude-per-directory=.svcignore");
    const hidden = new Set(listed);
    return (path) => hidden.has(path);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
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
