/** Late modules: what is in which bundle, and that both together do what the sources do. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bundleLate, LATE_FILES, lateLoaders, lateModules } from "../src/build/late.ts";
import { BuildError } from "../src/build/step.ts";

const ROOT = join(import.meta.dir, "..");
const SOURCES: Record<string, string> = {
  "src/main.ts":
    'import { Base, made } from "./base.ts";\nimport { count } from "pack";\n' +
    'const { default: shout, Late } = await import("./late/first.ts");\n' +
    "const late = new Late();\n" +
    "console.log(late instanceof Base, made(), shout(count), await late.second(), await late.early());\n" +
    'console.log((await import("./early.ts")).early);\n',
  "src/base.ts":
    'export class Base {}\nlet n = 0;\nexport function made(): number {\n  return ++n;\n}\nexport type Name = "a";\n',
  "src/early.ts": 'export const early = "early";\n',
  "src/late/first.ts":
    'import { Base, made as make, type Name } from "../base.ts";\nimport { counted } from "./counted.ts";\n' +
    'import { shared } from "./shared.ts";\n' +
    "export class Late extends Base {\n" +
    '  second = async () => (await import("./second.ts")).default;\n' +
    '  early = async () => (await import("../early.ts")).early;\n}\n' +
    'export default (name: Name | number) => [name, make(), counted(), shared()].join(" ");\n',
  "src/late/second.ts":
    'import { made } from "../base.ts";\nimport { shared } from "./shared.ts";\nexport default [made(), shared()].join(" ");\n',
  "src/late/shared.ts": 'let n = 0;\nexport const shared = () => ["shared", ++n].join(" ");\n',
  "src/late/counted.ts": 'import { count } from "pack";\nexport const counted = () => count;\n',
  "node_modules/pack/package.json": '{ "name": "pack", "version": "1.0.0", "main": "index.js" }',
  "node_modules/pack/index.js": "export const count = 7;\n",
};
let root: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "svc-late-")));
  for (const [path, source] of Object.entries(SOURCES)) write(path, source);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, source: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), source);
}

const modules = (entries: string[]) => lateModules(root, [join(root, "src/main.ts")], entries);

test("both bundles share their modules, and do what the sources do", async () => {
  const late = modules(["src/late/first.ts"]);
  expect([...late.inside].sort()).toEqual(["src/late/first.ts", "src/late/second.ts", "src/late/shared.ts"]);
  expect([...late.entries].sort()).toEqual(["src/late/first.ts", "src/late/second.ts"]);
  const out = join(root, "out");
  const { files, packages } = await bundleLate(late, out, {});
  expect(packages).toEqual([]);
  const texts = files.map((path) => readFileSync(path, "utf8")).join("\n");
  expect(texts).not.toContain("class{}");
  expect(texts.match(/"shared"/g)).toHaveLength(1);
  await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    outdir: out,
    target: "bun",
    splitting: true,
    external: [LATE_FILES],
    plugins: [lateLoaders(late)],
  });
  for (const start of ["src/main.ts", "out/main.js"]) {
    const { stdout, stderr } = Bun.spawnSync([process.execPath, join(root, start)]);
    expect(`${stderr}${stdout}`).toBe("true 1 7 2 7 shared 1 3 shared 2 early\nearly\n");
  }
});

test("an entry that would be loaded early fails the build, and says where", () => {
  expect(() => modules(["src/base.ts"])).toThrow(
    new BuildError("src/base.ts cannot be late: src/main.ts imports it otherwise than with import()"),
  );
  expect(() => modules(["src/late/first.ts", "src/late/counted.ts"])).toThrow(
    new BuildError("src/late/counted.ts cannot be late: it imports a package that is loaded early"),
  );
});

test("what svc needs without a database, an authority, a server or a page is not beside what it needs with one", () => {
  const { inside } = lateModules(
    ROOT,
    ["src/main.ts", "src/remote/server/requests/decode-worker.ts"].map((path) => join(ROOT, path)),
  );
  const files = [...inside];
  for (const folder of ["src/replication/node", "src/trust/authority/organisation", "src/ui/pages", "src/cli/serve"])
    expect(files.filter((file) => file.startsWith(`${folder}/`))).not.toEqual([]);
  const often =
    /^src\/(store|api|memory|repo|texts|mcp|answers|checks|cli\/(mem|terminal|access))\/|^src\/cli\/mcp\/(mcp|hooks)/;
  expect(files.filter((file) => often.test(file))).toEqual([]);
});
