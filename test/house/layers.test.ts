/** The house stays as ARCHITECTURE.md draws it: imports point down, never up and never sideways. */
import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const ROOT = join(import.meta.dir, "../..");

/** Rooms from the ground up; rooms on one floor may not import each other. */
const FLOORS: readonly (readonly string[])[] = [
  ["ffi"],
  ["src/runtime", "src/account"],
  ["src/store"],
  ["src/repo", "src/tune"],
  ["src/texts"],
  ["src/memory", "src/engine"],
  ["src/wire"],
  ["src/mcp", "src/serve", "src/remote", "src/authority"],
  ["src/cli", "src/build"],
];

/** What everyone may use; these import each other and the ground only. */
const COMMON = ["src/errors.ts", "src/limits.ts", "src/paths.ts", "src/durable.ts", "src/build-info.ts", "src/checks"];

const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

function roomOf(file: string): string {
  if (file.startsWith("ffi/")) return "ffi";
  const parts = file.split("/");
  return parts.length > 2 ? `src/${parts[1]}` : file;
}

const floorOf = (room: string) => FLOORS.findIndex((rooms) => rooms.includes(room));

/** Why an import is against the drawing; undefined where it is fine. */
function objection(file: string, target: string): string | undefined {
  const [from, to] = [roomOf(file), roomOf(target)];
  if (from === to || COMMON.includes(to)) {
    return from === "ffi" && to !== "ffi" ? "ffi imports nothing from src" : undefined;
  }
  if (COMMON.includes(from)) return to === "ffi" ? undefined : "the common floor imports only itself and ffi";
  if (from === "src/main.ts") return to === "src/cli" ? undefined : "main.ts imports only cli";
  if (from === "src/sdk.ts") return to === "src/cli" || to === "src/mcp" ? "the SDK is no command" : undefined;
  const [a, b] = [floorOf(from), floorOf(to)];
  if (a < 0 || b < 0) return `${a < 0 ? from : to} is no room of the drawing`;
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
