/** What `svc version --notices` prints, compared with what is in the executable. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundledPackages, bunNotice, packageNotice } from "../src/build/notices.ts";
import { emptyHome, ROOT, SVC, svc } from "./e2e/home.ts";
import { scratchDir } from "./fixture.ts";

const MODULES = join(ROOT, "node_modules");
/** What Bun appends to itself is shorter. */
const APPENDED_MAX = 16 << 20;
/** Shorter ones are words of the language, or happen to be alike. */
const LITERAL_LEAST = 20;
/** Files with more are data. */
const SOURCE_BYTES_MAX = 1 << 20;

/** Pieces of ASCII between quotes, backslashes and control characters: a literal of a program is one. */
function pieces(text: string): Set<string> {
  return new Set(text.split(/[^ !#-&(-[\]-_a-~]+/).filter((piece) => piece.length >= LITERAL_LEAST));
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    // What a package bundles for browsers has copies of other packages.
    if (entry.isDirectory()) return ["node_modules", "browser", "vite"].includes(entry.name) ? [] : sources(path);
    return /\.[cm]?[jt]s$/.test(entry.name) && statSync(path).size <= SOURCE_BYTES_MAX ? [path] : [];
  });
}

function piecesOf(files: readonly string[]): Set<string> {
  return new Set(files.flatMap((file) => [...pieces(readFileSync(file, "latin1"))]));
}

/** Every package that is installed, by name. */
function installed(): string[] {
  const names = readdirSync(MODULES).filter((name) => !name.startsWith("."));
  return names.flatMap((name) =>
    name[0] === "@" ? readdirSync(join(MODULES, name)).map((n) => `${name}/${n}`) : name,
  );
}

/**
 * The packages that have a literal in the executable that neither svc nor Bun has: `sole` those with one that no other
 * package has either, as packages hold copies of others.
 */
function packagesInside(): { sole: string[]; all: string[] } {
  const inside = pieces(readFileSync(SVC).subarray(-APPENDED_MAX).toString("latin1"));
  const owners = new Map<string, Set<string>>();
  for (const name of installed()) {
    for (const piece of piecesOf(sources(join(MODULES, name)))) {
      if (inside.has(piece)) owners.set(piece, (owners.get(piece) ?? new Set()).add(name));
    }
  }
  const own = [...sources(join(ROOT, "src")), ...sources(join(ROOT, "ffi"))].map((path) => readFileSync(path));
  const others = [...own, readFileSync(process.execPath)];
  const [sole, all] = [new Set<string>(), new Set<string>()];
  for (const [piece, names] of owners) {
    // Bun has a hundred megabytes: they are not searched for what would add no name.
    const found = names.size === 1 ? [all, sole] : [all];
    if (found.every((known) => names.isSubsetOf(known)) || others.some((text) => text.includes(piece))) continue;
    for (const known of found) for (const name of names) known.add(name);
  }
  return { sole: [...sole].sort(), all: [...all].sort() };
}

/** Packages without such a literal: short words and tables of characters. */
const WITHOUT_LITERALS = ["mdurl", "punycode.js", "uc.micro"];

const printed = async () => (await svc(emptyHome(), ["version", "--notices"])).out;

test("the packages that it names are those whose literals are in the executable", async () => {
  const text = await printed();
  const named = [...text.matchAll(/^npm: (\S+) (\S+) \((.+)\)$/gm)].map(([, name, version, licence]) => {
    const found = JSON.parse(readFileSync(join(MODULES, name!, "package.json"), "utf8"));
    expect([version, licence]).toEqual([found.version, found.license]);
    return name!;
  });
  const { sole, all } = packagesInside();
  expect(sole.filter((name) => !named.includes(name))).toEqual([]);
  expect(named.filter((name) => !all.includes(name))).toEqual(WITHOUT_LITERALS);
});

test("it has the whole texts: of packages, of what they bring, of Bun's licences, of the C library and the data", async () => {
  const text = await printed();
  const has = (part: string) => text.includes(part.replaceAll("\r\n", "\n").trim());
  for (const file of ["zod/LICENSE", "jose/LICENSE.md", "citty/LICENSE", "citty/dist/THIRD-PARTY-LICENSES.md"])
    expect([file, has(readFileSync(join(MODULES, file), "utf8"))]).toEqual([file, true]);
  for (const file of ["LICENSE", "src/build/notices/LGPL-2.txt", "src/build/notices/LGPL-2.1.txt"])
    expect([file, has(readFileSync(join(ROOT, file), "utf8"))]).toEqual([file, true]);
  for (const line of [
    "Copyright (c) Pooya Parsa", // scule, in citty
    "Copyright (c) Zig contributors",
    "This file is part of the GNU C Library.",
    "permission to link the compiled version of this file with other",
    "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.",
    "Copyright © 2004-2026 Unicode, Inc.",
    "Chinese Open Wordnet Copyright 2013,2014 by Francis Bond and Shan",
    "Independent JPEG Group",
    "Encoder Lite, version 1, by Google (Apache-2.0):",
  ])
    expect([line, has(line)]).toEqual([line, true]);
  expect(text).not.toMatch(/\/(home|root|tmp|work)\//);
});

test("every part whose version Bun gives is named with it, and those that the executable names", async () => {
  const text = await printed();
  const notParts = ["bun", "node", "v8", "napi", "modules", "openssl", "typescript", "unicode"];
  for (const [key, version] of Object.entries(process.versions)) {
    if (!notParts.includes(key)) expect([key, text.includes(` ${version} (`)]).toEqual([key, true]);
  }
  expect(text).toContain(`\nBun ${Bun.version} (MIT)\n`);
  const bun = readFileSync(SVC);
  const parts = [
    "BoringSSL",
    "Brotli",
    "libarchive",
    "libjpeg-turbo",
    "libspng",
    "lsquic",
    "mimalloc",
    "SQLite",
    "zlib-ng",
  ];
  for (const part of [...parts, "c-ares", "WebKit"]) {
    expect([part, bun.includes(part) || bun.includes(part.toLowerCase())]).toEqual([part, true]);
    expect(text).toContain(part);
  }
});

test("a bundled package without a licence, and a part of Bun that the list lacks, end the build with a sentence", () => {
  const folder = scratchDir();
  const made = (manifest: object) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "left", version: "1.0.0", ...manifest }));
  };
  made({ license: "MIT" });
  expect(() => packageNotice(folder)).toThrow("left 1.0.0 is in the bundle, and its package has no licence text: use");
  writeFileSync(join(folder, "license-checker.js"), "");
  writeFileSync(join(folder, "NOTICE.md"), "a notice is not a licence");
  expect(() => packageNotice(folder)).toThrow("has no licence text");
  writeFileSync(join(folder, "LICENSE-MIT.txt"), "the text\r\nof it\r\n");
  expect(packageNotice(folder)).toEndWith(
    "npm: left 1.0.0 (MIT)\n" + "=".repeat(80) + "\n\nthe text\nof it\n\na notice is not a licence",
  );
  made({});
  expect(() => packageNotice(folder)).toThrow("has no licence in package.json");
  expect(() => bunNotice({ bun: "2.0.0", libnew: "1.0" })).toThrow("Bun has libnew in process.versions: add it to");
});

test("a package counts where the bundle has bytes of it, under the folder that it lies in", () => {
  const input = (bytesInOutput: number) => ({ bytesInOutput });
  const a = {
    "src/main.ts": input(9),
    "node_modules/zod/v4/core/util.js": input(1),
    "node_modules/zod/index.js": input(2),
  };
  const b = { "node_modules/unused/x.js": input(0), "node_modules/@a/b/node_modules/@c/d/y.js": input(3) };
  expect(bundledPackages({ outputs: { a: { inputs: a }, b: { inputs: b } } })).toEqual([
    "node_modules/@a/b/node_modules/@c/d",
    "node_modules/zod",
  ]);
});
