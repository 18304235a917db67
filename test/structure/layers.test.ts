/** The layers are those of ARCHITECTURE.md: imports and includes point down, never up and never sideways. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const ROOT = join(import.meta.dir, "../..");

/**
 * The folders of a picture in ARCHITECTURE.md, from the ground up: a line a floor, its folders parted by dots and
 * followed by what they are for. Folders on one floor may not import each other.
 */
function floorsOf(heading: string): string[][] {
  const text = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  const picture = text.split(`${heading}\n`)[1]?.split("```")[1] ?? "";
  const floors = picture.split("\n").filter((line) => /^[a-z]/.test(line));
  return floors.map((line) => line.split(/ {2,}/)[0]!.split(" · ")).reverse();
}

const FLOORS = floorsOf("# Architecture").map((floor) => floor.map((name) => (name === "ffi" ? name : `src/${name}`)));

/** What everyone may use; these import each other and the ground only. */
const COMMON = [
  "src/checks",
  "src/errors.ts",
  "src/limits.ts",
  "src/paths.ts",
  "src/regular-file.ts",
  "src/durable.ts",
  "src/build-info.ts",
  "src/log.ts",
  "src/origin.ts",
  "src/published.ts",
  "src/breather.ts",
  "src/shell-word.ts",
];

const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

function folderOf(file: string): string {
  if (file.startsWith("ffi/")) return "ffi";
  const parts = file.split("/");
  return parts.length > 2 ? `src/${parts[1]}` : file;
}

const floorAt = (folder: string) => FLOORS.findIndex((folders) => folders.includes(folder));

/** Why an import breaks the layers; undefined where it does not. */
function objection(file: string, target: string): string | undefined {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (from === to || COMMON.includes(to)) {
    return from === "ffi" && to !== "ffi" ? "ffi imports nothing from src" : undefined;
  }
  if (COMMON.includes(from)) return to === "ffi" ? undefined : "the common floor imports only itself and ffi";
  if (from === "src/main.ts" && to === "src/commands.ts") return undefined;
  if (from === "src/main.ts" || from === "src/commands.ts") {
    return to === "src/cli" || to === "ffi" ? undefined : `${from} imports only cli and ffi`;
  }
  // The page about the command line is made of the tree of commands.
  if (from === "src/build" && to === "src/commands.ts") return undefined;
  if (from === "src/sdk.ts") return to === "src/cli" || to === "src/mcp" ? "the SDK is not a command" : undefined;
  const [a, b] = [floorAt(from), floorAt(to)];
  if (a < 0 || b < 0) return `${a < 0 ? from : to} is not a folder of the drawing`;
  if (a === b) return `${from} and ${to} lie on one floor`;
  return a < b ? `${from} lies below ${to}` : undefined;
}

test("imports point down", async () => {
  const broken: string[] = [];
  for await (const file of new Glob("{src,ffi}/**/*.ts").scan(ROOT)) {
    const source = await Bun.file(join(ROOT, file)).text();
    for (const [, target] of source.matchAll(IMPORT)) {
      const path = relative(ROOT, join(ROOT, dirname(file), target!));
      const why = objection(file, path);
      if (why) broken.push(`${file} imports ${path}: ${why}`);
    }
  }
  expect(broken).toEqual([]);
});

for (const room of ["cli", "remote", "repo", "trust", "ui"]) {
  const floors = floorsOf(`## Inside \`src/${room}\`\n`);
  const floorIn = (folder: string) => floors.findIndex((folders) => folders.includes(folder));

  test(`imports inside src/${room} point down`, async () => {
    const broken: string[] = [];
    for await (const file of new Glob(`src/${room}/**/*.ts`).scan(ROOT)) {
      const from = file.split("/")[2]!;
      if (floorIn(from) < 0) broken.push(`${file}: ${from} is not a folder of the drawing`);
      for (const [, target] of (await Bun.file(join(ROOT, file)).text()).matchAll(IMPORT)) {
        const path = relative(ROOT, join(ROOT, dirname(file), target!));
        const to = path.split("/")[2]!;
        if (!path.startsWith(`src/${room}/`) || from === to) continue;
        if (floorIn(to) >= floorIn(from)) broken.push(`${file} imports ${path}: ${from} does not lie above ${to}`);
      }
    }
    expect(floors.length).toBeGreaterThan(1);
    expect(broken).toEqual([]);
  });
}

test("no folders import each other in a circle", async () => {
  const uses = new Map<string, Set<string>>();
  // A file at the root of src stands for itself.
  const nodeOf = (file: string) => (dirname(file) === "src" ? file : dirname(file));
  for await (const file of new Glob("{src,ffi}/**/*.ts").scan(ROOT)) {
    const source = await Bun.file(join(ROOT, file)).text();
    for (const [, target] of source.matchAll(IMPORT)) {
      const [from, to] = [nodeOf(file), nodeOf(relative(ROOT, join(ROOT, dirname(file), target!)))];
      if (from !== to) uses.set(from, (uses.get(from) ?? new Set()).add(to));
    }
  }
  // A folder from which no path leads back is not part of a circle: those are taken away until none is left.
  for (let size = -1; size !== uses.size; ) {
    size = uses.size;
    for (const [from, to] of uses) {
      for (const folder of to) if (!uses.has(folder)) to.delete(folder);
      if (to.size === 0) uses.delete(from);
    }
  }
  expect([...uses.keys()]).toEqual([]);
});

test("no folder of src has more than 25 files of its own beside its page", () => {
  const counts = new Map<string, number>();
  for (const file of new Glob("src/**/*").scanSync(ROOT)) {
    if (!/__pycache__|README\.md$/.test(file)) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  expect([...counts].filter(([, files]) => files > 25)).toEqual([]);
});

test("a cell of a table in ARCHITECTURE.md has less than 200 characters", () => {
  const rows = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8").match(/^\|.*\|$/gm) ?? [];
  const cells = rows.flatMap((row) => row.split("|"));
  expect(cells.filter((cell) => cell.length >= 200)).toEqual([]);
});

/** A library in C. Headers at its root lie below all folders, other files there above. */
interface Library {
  root: string;
  /** Its folders from the ground up; those on one floor do not use each other. */
  floors: readonly (readonly string[])[];
  /** Folders on different floors that do not use each other either. */
  apart: readonly (readonly [string, string])[];
  /** Headers that are not its files: all that it uses of the other library, and those that the build makes. */
  foreign: readonly string[];
  /** The folder that defines all that the headers at the root declare, which no other one calls, if there is one. */
  top?: string;
  /** A header of each folder that says what it is for and what it uses. */
  pages: readonly string[];
}

const LIBRARIES: readonly Library[] = [
  {
    root: "ffi/ame_kernel",
    floors: [
      ["isa", "text"],
      ["embed", "encode", "search", "sparse"],
    ],
    apart: [],
    foreign: ["embed/prior_table.h", "text/partners_table.h", "isa/crc32c_table.h"],
    pages: ["isa/isa.h", "text/text.h", "embed/embed.h", "encode/encode.h", "search/steps.h", "sparse/sparse.h"],
  },
  {
    root: "ffi/ty_runtime",
    floors: floorsOf("## The runtime in C"),
    apart: [["disk", "scan"]],
    foreign: ["ame_kernel.h"],
    top: "calls",
    pages: [
      "os/os.h",
      "work/work.h",
      "rows/collection.h",
      "tree/tree.h",
      "scan/scanner.h",
      "disk/disk.h",
      "ivf/ivf.h",
      "lexical/lexical.h",
      "meaning/meaning.h",
      "state/state.h",
      "calls/calls.h",
    ],
  },
];

const INCLUDE = /^#include "([^"]+)"/gm;
const uncommented = (source: string) => source.replace(/\/\*[\s\S]*?\*\//g, " ");

/** The C files of a library by their path in it. */
function sourcesOf({ root }: Library): Map<string, string> {
  const files = [...new Glob("**/*.{c,h}").scanSync(join(ROOT, root))].sort();
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, root, file), "utf8")]));
}

for (const library of LIBRARIES) {
  const { root, floors, apart, foreign, top, pages } = library;
  const sources = sourcesOf(library);
  const floorIn = (folder: string) => floors.findIndex((folders) => folders.includes(folder));

  /** Why an include is against the drawing; undefined where it is fine. */
  const refusal = (file: string, target: string): string | undefined => {
    if (foreign.includes(target)) return undefined;
    if (!sources.has(target)) return `is not a header of ${root}, spelled from there`;
    const [from, to] = [dirname(file), dirname(target)];
    if (from === to || to === ".") return undefined;
    if (from === ".") return file.endsWith(".h") ? "lies in a folder, above the root" : undefined;
    const [a, b] = [floorIn(from), floorIn(to)];
    if (a < 0 || b < 0) return `${a < 0 ? from : to} is not a folder of the drawing`;
    if (a === b || apart.some((pair) => pair.includes(from) && pair.includes(to))) return "lies beside it";
    return a < b ? "lies above it" : undefined;
  };

  test(`headers that ${root} includes lie below`, () => {
    const broken: string[] = [];
    for (const [file, source] of sources) {
      for (const [, target] of source.matchAll(INCLUDE)) {
        const why = refusal(file, target!);
        if (why) broken.push(`${file} includes ${target}: ${why}`);
      }
    }
    expect(floors.length).toBeGreaterThan(1);
    expect(broken).toEqual([]);
  });

  test(`what ${root} calls is declared in headers`, () => {
    const broken: string[] = [];
    const roots = [...sources].filter(([file]) => dirname(file) === "." && file.endsWith(".h"));
    const declared = roots.flatMap(([, source]) =>
      [...uncommented(source).matchAll(/\b(\w+)\(/g)].map(([, name]) => name!),
    );
    const outer = new RegExp(`\\b(${declared.filter((name) => /^[a-z]+_/.test(name)).join("|")})\\(`);
    for (const [file, source] of sources) {
      const code = uncommented(source);
      const own =
        file.endsWith(".c") &&
        /^(?:extern\b.*|(?!static\b|typedef\b|_Static)[a-z]\w*[ \w*]*[ *]\w+\([^;{}]*\);)/m.exec(code);
      if (own) broken.push(`${file} declares by itself: ${own[0]}`);
      const call = top !== undefined && dirname(file) !== top && dirname(file) !== "." && outer.exec(code);
      if (call) broken.push(`${file} calls ${call[1]}, which is defined in ${top}`);
    }
    expect(declared.length).toBeGreaterThan(0);
    expect(broken).toEqual([]);
  });

  test(`every folder of ${root} has a page`, () => {
    const folders = [...new Set([...sources.keys()].map((file) => dirname(file)))].filter((folder) => folder !== ".");
    expect(floors.flat().sort()).toEqual(folders.sort());
    expect(pages.filter((page) => !sources.get(page)?.startsWith("/* "))).toEqual([]);
    expect(pages.map((page) => dirname(page)).sort()).toEqual(folders.sort());
  });
}

test("no header has the same path in both libraries", () => {
  const both = ["ffi/ame_kernel", "ffi/ty_runtime"].map((root) => [...new Glob("**/*.h").scanSync(join(ROOT, root))]);
  expect(both[0]!.filter((file) => both[1]!.includes(file))).toEqual([]);
});

test("native code is reached through ffi only", async () => {
  const around: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan(ROOT)) {
    if ((await Bun.file(join(ROOT, file)).text()).includes('"bun:ffi"')) around.push(file);
  }
  expect(around).toEqual([]);
});

/** Files that run while building, never in the executable. */
const buildTime = (file: string) => file.startsWith("src/build/");

test("only the printer prints", async () => {
  const loud: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan(ROOT)) {
    if (buildTime(file) || file === "src/cli/terminal/output.ts" || file === "src/mcp/transport.ts") continue;
    const source = await Bun.file(join(ROOT, file)).text();
    if (/\bconsole\.(log|error|warn|info)|process\.(stdout|stderr)\.write/.test(source)) loud.push(file);
  }
  expect(loud).toEqual([]);
});

test("nothing under the state folders is written with calls that lose data silently", async () => {
  // writeFileSync and Bun.write report success on a full disk, leave the old tail, and never sync.
  const careless: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan(ROOT)) {
    if (buildTime(file)) continue;
    const source = await Bun.file(join(ROOT, file)).text();
    if (/\b(writeFileSync|appendFileSync|Bun\.write|promises\.writeFile)\s*\(/.test(source)) careless.push(file);
  }
  expect(careless).toEqual([]);
});

/** Files that open something else than what may stand in a memory. */
const OPENED_ELSEWHERE: Record<string, string> = {
  "src/repo/files/read.ts": "a repository's file, with the same care and more of its stat",
  "src/mcp/monitor.ts": "a log that a person names, without blocking",
  "src/store/stages.ts": "a lock that must not exist yet",
  "src/cli/doctor/lock.ts": "/proc",
};

test("files of a memory are opened in one way, which cannot block", async () => {
  const others: string[] = [];
  for await (const file of new Glob("src/{store,api,repo,memory,texts,mcp,cli/mem,cli/doctor}/**/*.ts").scan(ROOT)) {
    const source = await Bun.file(join(ROOT, file)).text();
    const opens = /\b(openSync|readFileSync|createReadStream|createWriteStream|Bun\.file|promises\.\w+)\s*\(/.test(
      source,
    );
    if (opens && OPENED_ELSEWHERE[file] === undefined) others.push(file);
  }
  expect(others).toEqual([]); // openRegular in src/regular-file.ts, readCapped in src/durable.ts
  const native: string[] = [];
  for await (const file of new Glob("ffi/ty_runtime/{calls,disk,ivf,lexical,os,rows,state}/*.c").scan(ROOT)) {
    for (const [, flags] of readFileSync(join(ROOT, file), "utf8").matchAll(/os(?:\.|->)open\(([^;]*);/g)) {
      if (!/O_DIRECTORY|O_EXCL|, flags\b/.test(flags!) && file !== "ffi/ty_runtime/disk/file.c") native.push(file);
    }
  }
  expect(native).toEqual([]); // ty_file_open in disk/file.c
});

test("ARCHITECTURE.md and CONTRIBUTING.md name every folder, and no file that is not there", () => {
  const gone: string[] = [];
  for (const page of ["ARCHITECTURE.md", "CONTRIBUTING.md", "ffi/README.md"]) {
    const text = readFileSync(join(ROOT, page), "utf8");
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path]) => join(dirname(page), path!));
    const named = [...text.matchAll(/`((?:src|ffi|test)\/[\w./-]+)`/g)].map(([, path]) => path!);
    for (const path of [...links, ...named]) if (!existsSync(join(ROOT, path))) gone.push(`${page} names ${path}`);
    // In a row about a folder a name of a file is below it.
    for (const [, folder, row] of text.matchAll(/^\| `((?:src|ffi|test)\/[\w./-]+)` \|(.*)$/gm)) {
      for (const [, file] of row!.matchAll(/`([\w./-]+\.(?:ts|c|h|py))`/g)) {
        const places = [folder!, ""].map((place) => join(ROOT, place, file!));
        if (!places.some((path) => existsSync(path))) gone.push(`${page} names ${folder}/${file}`);
      }
    }
  }
  expect(gone).toEqual([]);
  const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const unnamed = folders.map(({ name }) => `src/${name}`).filter((path) => !architecture.includes(`| \`${path}\` |`));
  expect(unnamed).toEqual([]);
});
