import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { SVC } from "../home.ts";
import { childrenCpuOf } from "../processes.ts";
import { copyTree } from "./copy.ts";
import { readEarlier } from "./earlier.ts";
import { REPO_OPTIONS, repoOptions } from "./options.ts";
import { timePeer } from "./peers.ts";
import type { OwnTimes, Times } from "./time.ts";
import { timeLines, timeTable } from "./timetable.ts";

const git = (cwd: string, ...args: string[]) => Bun.spawnSync(["git", ...args], { cwd });

test("a work tree is copied without ignored files and links, and the original keeps its bytes", async () => {
  const dir = scratchDir();
  git(dir, "init", "-q");
  for (const name of ["a.ts", "b.ts", "c.ts"]) writeFileSync(join(dir, name), name.repeat(name.charCodeAt(0)));
  mkdirSync(join(dir, "out"));
  writeFileSync(join(dir, "out/made.js"), "1");
  writeFileSync(join(dir, ".gitignore"), "out\n");
  symlinkSync("a.ts", join(dir, "link.ts"));
  const copy = copyTree(dir, join(scratchDir(), "copy"));
  expect(copy).toMatchObject({ files: 4, edited: join(copy.root, "b.ts") });
  expect(git(copy.root, "ls-files").stdout.toString().split("\n").sort().join(" ").trim()).toBe(
    ".gitignore a.ts b.ts c.ts",
  );
  writeFileSync(copy.edited, "changed");
  expect(readFileSync(join(dir, "b.ts"), "utf8")).toBe("b.ts".repeat("b".charCodeAt(0)));
  const { cpu, wall } = (await timePeer("git status", copy.root))!;
  expect([cpu > 0, wall > 0]).toEqual([true, true]);
});

test("CPU time of ended children is read", async () => {
  const work = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo done; read x";
  const child = Bun.spawn(["sh", "-c", work], { stdin: "pipe", stdout: "pipe" });
  for await (const _ of child.stdout) break;
  expect(childrenCpuOf(child.pid)).toBeGreaterThan(0);
  child.kill();
  await child.exited;
});

const at = (cpu: number): OwnTimes => ({
  svc: "/dist/svc",
  index: { cpu: 100 * cpu, wall: 50 },
  disk: 3e6,
  asked: { default: { cpu, wall: 5 } },
  edited: { cpu: 3 * cpu, wall: 9 },
});
const timesOf = (...own: OwnTimes[]): Times => ({
  tree: "/tree",
  files: 9,
  bytes: 1e6,
  own,
  peers: { "git status": { cpu: 4, wall: 4 } },
});

test("one executable is compared with the peers, two with each other", () => {
  const alone = timeLines(timesOf(at(2)));
  expect(alone.find(({ what }) => what.startsWith("question, nothing"))).toMatchObject({ value: 2, ratio: 0.5 });
  expect(alone.find(({ unit }) => unit === "MB/s")!.value).toBeCloseTo(20, 9);
  expect(alone.every(({ met }) => met === undefined)).toBe(true);
  const judged = timeLines(timesOf(at(2), at(2.3))).filter(({ met }) => met !== undefined);
  expect(judged.map(({ what, met }) => [what, met])).toEqual([
    ["first index, CPU", false],
    ["question, CPU", false],
    ["question after an edit, CPU", false],
  ]);
  expect(timeLines(timesOf(at(2), at(2.1))).some(({ met }) => met === false)).toBe(false);
  const newer = { ...at(2), asked: { ...at(2).asked, "form: grep": { cpu: 1, wall: 1 } } };
  expect(
    timeTable(timesOf(at(2), newer))
      .find((line) => line.includes("grep"))!
      .split(/ {2,}/),
  ).toEqual(["question, form: grep", "-", "1.00 (1.00)", "-"]);
});

test("options have defaults, and what is not a tree, executable or earlier run is refused with a sentence", () => {
  const read = (...given: [string, string][]) => repoOptions({ given: new Map(given), isJson: false });
  expect(REPO_OPTIONS).toContain("--trees");
  expect(read(["--svc", import.meta.path])).toMatchObject({ trees: [], executables: [import.meta.path] });
  expect(() => read(["--svc", "/none"])).toThrow("/none is not a file");
  expect(() => read(["--svc", [SVC, SVC, SVC].join(",")])).toThrow();
  const dir = scratchDir();
  expect(() => read(["--tree", dir], ["--svc", import.meta.path])).toThrow("is not a git work tree");
  expect(() => read(["--trees", dir])).toThrow("has no corpus.jsonl: trees.py make");
  writeFileSync(join(dir, "run.json"), JSON.stringify({ sets: [{ name: "a", ids: ["p"], each: {} }] }));
  expect(() => readEarlier(join(dir, "run.json"))).toThrow("run bench -- repo --json");
});
