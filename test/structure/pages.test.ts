/** Each folder of src has a page, README.md, that names its files; no two files import each other, not even for types. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const ROOT = join(import.meta.dir, "../..");

/** Folders of src that hold files of their own. */
function foldersOf(): string[] {
  const files = [...new Glob("src/**/*.{ts,py}").scanSync(ROOT)];
  return [...new Set(files.map((file) => dirname(file)))].filter((folder) => folder !== "src").sort();
}

/** The page of a folder: its own, or that of the nearest folder above it, which then names its files too. */
function pageOf(folder: string): string | undefined {
  for (let at = folder; at !== "src"; at = dirname(at)) {
    if (existsSync(join(ROOT, at, "README.md"))) return join(at, "README.md");
  }
  return undefined;
}

test("the page of a folder names each of its files, and none that is not there", () => {
  const wrong: string[] = [];
  for (const folder of foldersOf()) {
    const page = pageOf(folder);
    if (page === undefined) {
      wrong.push(`${folder} has no README.md`);
      continue;
    }
    const text = readFileSync(join(ROOT, page), "utf8");
    const files = readdirSync(join(ROOT, folder)).filter((name) => /\.(ts|py)$/.test(name));
    for (const name of files) if (!text.includes(name)) wrong.push(`${page} does not name ${folder}/${name}`);
    if (dirname(page) !== folder) continue;
    for (const [, name] of text.matchAll(/`([\w./-]+\.(?:ts|py))`/g)) {
      const places = [folder, `${folder}/python/svc`, "src", ""].map((place) => join(ROOT, place, name!));
      if (!places.some((path) => existsSync(path))) wrong.push(`${page} names ${name}, which does not exist`);
    }
  }
  expect(wrong).toEqual([]);
});

const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

test("no files import each other in a circle, types included", async () => {
  const uses = new Map<string, Set<string>>();
  for await (const file of new Glob("{src,ffi}/**/*.ts").scan(ROOT)) {
    const source = await Bun.file(join(ROOT, file)).text();
    const targets = [...source.matchAll(IMPORT)].map(([, path]) => relative(ROOT, join(ROOT, dirname(file), path!)));
    uses.set(file, new Set(targets.filter((target) => target !== file)));
  }
  // A file from which no path leads back is in no circle: those are removed until none is left.
  for (let size = -1; size !== uses.size; ) {
    size = uses.size;
    for (const [file, targets] of uses) {
      for (const target of targets) if (!uses.has(target)) targets.delete(target);
      if (targets.size === 0) uses.delete(file);
    }
  }
  // What a circle imports remains as well; what imports a circle without being in it is removed from the other side.
  for (let size = -1; size !== uses.size; ) {
    size = uses.size;
    const used = new Set([...uses.values()].flatMap((targets) => [...targets]));
    for (const file of uses.keys()) if (!used.has(file)) uses.delete(file);
  }
  expect([...uses.keys()].sort()).toEqual([]);
});
