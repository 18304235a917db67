import { expect, test } from "bun:test";
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { SVC } from "../home.ts";
import { callLines, callTable } from "./callgoals.ts";
import type { Calls, OwnCalls } from "./calls.ts";
import { treeAt } from "./copy.ts";
import { generateTree } from "./generate.ts";
import { repoOptions } from "./options.ts";
import { changedBetween, stateBelow, writtenBy } from "./written.ts";

const read = (root: string) =>
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith(".git/") && /\.(ts|py|go|md)$/.test(name))
    .sort()
    .map((name) => [name, readFileSync(join(root, name), "utf8")]);

test("a tree is made of its seed alone, with files that git tracks, ignores and does not know", () => {
  const [one, two, other] = [scratchDir(), scratchDir(), scratchDir()];
  const made = { files: 150, ignored: 40, untracked: 10, seed: 7 };
  generateTree(one, made);
  generateTree(two, made);
  generateTree(other, { ...made, seed: 8 });
  expect(read(one)).toEqual(read(two));
  expect(read(other)).not.toEqual(read(one));
  const { files, bytes, edited } = treeAt(one);
  expect(files).toBe(151);
  expect(bytes / files).toBeGreaterThan(2000);
  expect(existsSync(edited)).toBe(true);
  const status = Bun.spawnSync(["git", "status", "--porcelain", "-uall"], { cwd: one }).stdout.toString();
  expect(status.match(/^\?\? drafts/gm)).toHaveLength(10);
  expect(status).not.toContain("node_modules");
});

test("whatever is written below a folder is seen, and what a process writes is counted", () => {
  const dir = scratchDir();
  writeFileSync(join(dir, "a"), "1");
  const before = stateBelow(dir);
  expect(changedBetween(before, stateBelow(dir))).toBe(0);
  appendFileSync(join(dir, "a"), "2");
  expect(changedBetween(before, stateBelow(dir))).toBe(2);
  const now = stateBelow(dir);
  renameSync(join(dir, "a"), join(dir, "b"));
  expect(changedBetween(now, stateBelow(dir))).toBeGreaterThan(2);
  if (process.platform !== "linux") return;
  const written = writtenBy(process.pid);
  writeFileSync(join(dir, "b"), "x".repeat(5000));
  expect(writtenBy(process.pid) - written).toBeGreaterThanOrEqual(5000);
});

const timing = (cpu: number) => ({ cpu, wall: cpu });
const own: OwnCalls = {
  svc: "/dist/svc",
  index: timing(1600),
  peak: 150e6,
  disk: 1.2e6,
  check: timing(13),
  question: timing(20),
  touched: 0,
  ten: timing(30),
  put: timing(4),
  inPlace: { written: 70 * 1024, next: 0, file: 2048 },
  byRename: { written: 73 * 1024, next: 0, file: 2048 },
};
const calls: Calls = {
  tree: "/tree",
  place: "git",
  files: 9,
  bytes: 1e6,
  own: [own],
  status: timing(10),
  rg: timing(100),
};
const verdicts = (changed: Partial<OwnCalls>) =>
  callLines({ ...calls, own: [{ ...own, ...changed }] })
    .filter(({ met }) => met !== undefined)
    .map(({ met }) => met);

test("every figure is held to its goal, just met and just missed", () => {
  expect(verdicts({})).toEqual([true, true, true, true, false, true, true, true]);
  expect(verdicts({ check: timing(13.1), ten: timing(30.1), touched: 1, byRename: own.inPlace })).toEqual([
    ...[false, false, false, true, true, true, true, true],
  ]);
  expect(verdicts({ index: timing(1601), peak: 201e6, disk: 1.31e6 }).slice(5)).toEqual([false, false, false]);
  const table = callTable({ ...calls, own: [own, { ...own, check: timing(26) }] });
  expect(table.find((line) => line.startsWith("check"))).toMatch(/13\.00 +26\.00 +2\.000/);
  expect(table.find((line) => line.startsWith("written without"))).toMatch(/0 +0 +-$/);
});

test("options for calls", () => {
  const of = (...given: [string, string][]) =>
    repoOptions({ given: new Map([["--svc", SVC], ...given]), isJson: false });
  const { tree, calls } = of(["--generate", "200"], ["--places", "git,no-git"]);
  expect({ tree, calls }).toEqual({
    tree: undefined,
    calls: { tree: { files: 200, ignored: 0, untracked: 0, seed: 1 }, places: ["git", "no-git"] },
  });
  expect(() => of(["--ignored", "9"])).toThrow("--generate");
  expect(() => of(["--generate", "200"], ["--tree", "/"])).toThrow("give one of them");
  expect(() => of(["--places", "moon"])).toThrow("git, no-git, linked, not moon");
});
