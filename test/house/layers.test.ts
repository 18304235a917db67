/** The structure is as ARCHITECTURE.md draws it: imports and includes point down, never up and never sideways. */
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
const COMMON = ["src/checks", "src/errors.ts", "src/limits.ts", "src/paths.ts", "src/durable.ts", "src/build-info.ts"];

const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

function folderOf(file: string): string {
  if (file.startsWith("ffi/")) return "ffi";
  const parts = file.split("/");
  return parts.length > 2 ? `src/${parts[1]}` : file;
}

const floorAt = (folder: string) => FLOORS.findIndex((folders) => folders.includes(folder));

/** Why an import is against the drawing; undefined where it is fine. */
function objection(file: string, target: string): string | undefined {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (from === to || COMMON.includes(to)) {
    return from === "ffi" && to !== "ffi" ? "ffi imports nothing from src" : undefined;
  }
  if (COMMON.includes(from)) return to === "ffi" ? undefined : "the common floor imports only itself and ffi";
  if (from === "src/main.ts") return to === "src/cli" || to === "ffi" ? undefined : "main.ts imports only cli and ffi";
  if (from === "src/sdk.ts") return to === "src/cli" || to === "src/mcp" ? "the SDK is no command" : undefined;
  const [a, b] = [floorAt(from), floorAt(to)];
  if (a < 0 || b < 0) return `${a < 0 ? from : to} is no folder of the drawing`;
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

test("native code is reached through ffi only", async () => {
  const around: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan(ROOT)) {
    if ((await Bun.file(join(ROOT, file)).text()).includes('"bun:ffi"')) around.push(file);
  }
  expect(around).toEqual([]);
});

/**
 * The folders of the libraries in C, from the ground up; folders on one floor may not include each other. Headers at a
 * library's root lie below them all, its other files above.
 */
const C_FLOORS: Record<string, readonly (readonly string[])[]> = {
  ame_kernel: [
    ["isa", "text"],
    ["embed", "search"],
  ],
};

/** Why a file of a library may not include a header, both named from the library's root; undefined where it may. */
function includeObjection(floors: readonly (readonly string[])[], file: string, target: string): string | undefined {
  const folderOf = (path: string) => (path.includes("/") ? path.split("/")[0]! : "");
  const [from, to] = [folderOf(file), folderOf(target)];
  if (from === to || to === "") return undefined;
  const [a, b] = [from, to].map((folder) => floors.findIndex((folders) => folders.includes(folder)));
  if (b === -1 || (from !== "" && a === -1)) return `${b === -1 ? to : from} is no folder of the drawing`;
  if (from === "") return file.endsWith(".h") ? "headers at the root use no folder" : undefined;
  return a! > b! ? undefined : `${from} does not lie above ${to}`;
}

test("includes point down", async () => {
  const broken: string[] = [];
  for (const [library, floors] of Object.entries(C_FLOORS)) {
    const root = join(ROOT, "ffi", library);
    for await (const file of new Glob("**/*.{c,h}").scan(root)) {
      const source = await Bun.file(join(root, file)).text();
      for (const [, target] of source.matchAll(/^#include "([^"]+)"/gm)) {
        const beside = join(root, dirname(file), target!);
        const why =
          !target!.includes("/") && dirname(file) !== "." && (await Bun.file(beside).exists())
            ? "a header is named from the library's root"
            : includeObjection(floors, file, target!);
        if (why) broken.push(`${library}/${file} includes ${target}: ${why}`);
      }
    }
  }
  expect(broken).toEqual([]);
});

/** Files that run while building, never in the executable. */
const buildTime = (file: string) => file.startsWith("src/build/");

test("only the printer prints", async () => {
  const loud: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan(ROOT)) {
    if (buildTime(file) || file === "src/cli/output.ts" || file === "src/mcp/transport.ts") continue;
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
