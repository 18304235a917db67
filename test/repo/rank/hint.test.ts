/** Path hints: a path, a folder, a glob, and what matches nothing. */
import { expect, test } from "bun:test";
import { nothingAt, scopeOf } from "../../../src/repo/rank/hint.ts";

const PATHS = [
  "README.md",
  "app/[id]/page.tsx",
  "src/index.ts",
  "src/node/config.ts",
  "src/node/server/index.ts",
  "src/node/server/ws.ts",
  "src/nodes.ts",
  ".github/ci.yml",
];
const allowed = (path: string) => {
  const { allows, files, under } = scopeOf(path, PATHS, !path.includes("/"));
  const found = PATHS.filter(allows);
  expect(files).toBe(found.length);
  // What is filtered in the search leaves nothing out.
  if (under !== undefined) expect(found.every((path) => path === under || path.startsWith(`${under}/`))).toBe(true);
  return found.join(" ");
};

test.each([
  ["README.md", "README.md"],
  ["src/node", "src/node/config.ts src/node/server/index.ts src/node/server/ws.ts"],
  ["app/[id]", "app/[id]/page.tsx"],
  ["app/[id]/page.tsx", "app/[id]/page.tsx"],
  ["src/*.ts", "src/index.ts src/nodes.ts"],
  ["src/**/*.ts", "src/index.ts src/node/config.ts src/node/server/index.ts src/node/server/ws.ts src/nodes.ts"],
  ["*.md", "README.md"],
  ["*.ts", "src/index.ts src/node/config.ts src/node/server/index.ts src/node/server/ws.ts src/nodes.ts"],
  ["**/server/*", "src/node/server/index.ts src/node/server/ws.ts"],
  ["src/{index,nodes}.ts", "src/index.ts src/nodes.ts"],
  ["src/node?.ts", "src/nodes.ts"],
  ["**/*.yml", ".github/ci.yml"],
  ["**", PATHS.join(" ")],
  ["!src/**", "README.md app/[id]/page.tsx .github/ci.yml"],
  ["!*.ts", "README.md app/[id]/page.tsx .github/ci.yml"],
  ["!src/node/*.ts", PATHS.filter((path) => path !== "src/node/config.ts").join(" ")],
])("%p allows %p", (hint, paths) => {
  expect(allowed(hint)).toBe(paths);
});

test.each([
  ["src/nod", "'src/node'"],
  ["src/sever", "'src/node/server'"],
  ["conifg.ts", "'src/node/config.ts'"],
  ["config.js", "'src/node/config.ts'"],
  ["lib/index.ts", "'src/index.ts', 'src/node/server/index.ts'"],
  ["SRC/NODE", "'src/node', 'src/nodes.ts'"],
  ["src/**/*.py", "'src'"],
  ["*.py", ""],
  ["zzz", ""],
  ["src/index.ts/x", ""],
])("%p matches nothing, and %p is alike", (hint, alike) => {
  expect(scopeOf(hint, PATHS, !hint.includes("/")).files).toBe(0);
  const said = `path_hint '${hint}' matches no indexed file`;
  expect(nothingAt(hint, hint, PATHS)).toBe(alike === "" ? said : `${said}; there are ${alike}`);
});
