import { expect, test } from "bun:test";
import { cpuOf, memoryOf } from "../processes.ts";
import { CALLS, type Figures, type Kinds, TOOLS } from "./figures.ts";
import { wordsOptions } from "./options.ts";
import { AS_ASKED, assemble, kindOf, LENGTHS, PASSAGE_WORDS } from "./passages.ts";
import { figureLines, lines, table } from "./table.ts";

const passage = (name: string) => Array.from({ length: PASSAGE_WORDS }, (_, i) => `${name}${i}`).join(" ");
const KINDS = [...LENGTHS.map(kindOf), AS_ASKED];

test("passages are recombined of others where they are too few, and questions are words of passages left out", () => {
  const all = ["a", "b", "c", "d"].map(passage);
  const asked = Array.from({ length: 10 }, (_, i) => `question ${i}`);
  const gathered = assemble(all, asked, 6, 10);
  expect(gathered).toEqual(assemble(all, asked, 6, 10));
  expect([gathered.passages.length, gathered.real]).toEqual([6, 3]);
  expect(gathered.passages.slice(0, 3)).toEqual(all.slice(1));
  for (const text of gathered.passages) {
    expect(text.split(" ")).toHaveLength(PASSAGE_WORDS);
    expect(text).not.toContain("a1");
  }
  expect(Object.keys(gathered.questions)).toEqual(KINDS);
  for (const words of LENGTHS) {
    const questions = gathered.questions[kindOf(words)]!;
    expect(questions).toHaveLength(10);
    for (const question of questions) {
      expect(question.split(" ")).toHaveLength(words);
      expect(all[0]).toContain(question);
    }
  }
  expect(Object.keys(assemble(all, [], 2, 10).questions)).not.toContain(AS_ASKED);
  const ruled = assemble([all[0]!.replaceAll(/a\d*[1-9] /g, "-- "), passage("b")], [], 1, 10);
  for (const question of ruled.questions[kindOf(1)]!) expect(question).toMatch(/\d/);
});

test("options of words have defaults", () => {
  const read = (...options: [string, string][]) => wordsOptions({ given: new Map(options), isJson: false });
  const usual = { peers: ["fts5", "lancedb"], passages: 20_000, questions: 40, sets: [], isJson: false };
  expect(read()).toMatchObject(usual);
  expect(read(["--passages", "100000"], ["--peers", "fts5"])).toMatchObject({ passages: 100_000, peers: ["fts5"] });
});

test("CPU time and memory of another process are read", async () => {
  const work = "console.log(''); await Bun.sleep(1e6)";
  const child = Bun.spawn([process.execPath, "-e", work], { stdout: "pipe" });
  try {
    for await (const _ of child.stdout) break;
    expect(cpuOf(child.pid)).toBeGreaterThan(0);
    const { resident, private: own } = memoryOf(child.pid);
    expect(own).toBeGreaterThan(0);
    expect(resident).toBeGreaterThanOrEqual(own);
  } finally {
    child.kill();
    await child.exited;
  }
  expect(() => cpuOf(child.pid)).toThrow("has no CPU clock");
});

test("a fused question is judged from 90,000 passages on, beside ours by words and the peers", () => {
  const kinds = <T>(value: T): Kinds<T> => Object.fromEntries(KINDS.map((kind) => [kind, value]));
  const asked = kinds({ median: 2, mean: 2, wall: 3, rounds: 1 });
  const answered = kinds({ p50: 1.5, p95: 2, cpu: 1 });
  const memory = { resident: 100e6, private: 90e6 };
  const figures = (passages: number): Figures => ({
    passages,
    real: 10,
    bytes: passages * 1000,
    disk: { all: passages * 3000, index: passages * 100 },
    bandwidth: 10e9,
    ping: 0.1,
    mcp: Object.fromEntries(TOOLS.map((tool) => [tool, answered])) as Figures["mcp"],
    inProcess: Object.fromEntries(CALLS.map((call) => [call, asked])) as Figures["inProcess"],
    memory: { questions: 200, before: memory, after: memory },
    peers: [{ name: "peer", ingest: { cpu: 1, wall: 1, memory: 1 }, disk: 1e6, asked }],
  });
  const [small, large] = [lines(figures(20_000)), lines(figures(100_000))];
  expect(small[0]).toMatchObject({ value: 1.5, ratio: 1 });
  expect(small[0]!.met).toBeUndefined();
  expect(small[0]!.what).toContain("peer 3.000");
  expect(large[0]).toMatchObject({ met: false, goal: "at most 1.2 ms" });
  expect(small.find(({ unit }) => unit === "times")!.value).toBe(3);
  expect(small.find(({ what }) => what.includes("a core reads"))!.value).toBe(1000);
  expect(table(figures(20_000)).join("\n")).toContain("3.00 times the text, 3000 bytes a row, 100 of them");
  expect(figureLines(figures(20_000))).toHaveLength(KINDS.length * (TOOLS.length * 3 + (CALLS.length + 1) * 2));
});
