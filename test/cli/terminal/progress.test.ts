/** How far a long work is, by a clock of the test. */
import { expect, test } from "bun:test";
import { ProgressWords, startProgress, type Work } from "../../../src/cli/terminal/progress.ts";

const MB = 1e6;

/** A progress whose clock is `at`, and what it writes. */
function recorded(columns: number | undefined) {
  const written: string[] = [];
  const clock = { at: 0 };
  const progress = startProgress("importing", {
    now: () => clock.at,
    columns: () => columns,
    draw: (line) => written.push(line),
    say: (line) => written.push(line),
  });
  return { progress, clock, written };
}

test("on a terminal a line at most ten times a second, and none at the end", () => {
  const { progress, clock, written } = recorded(80);
  for (; clock.at <= 1000; clock.at += 1) progress.update({ done: clock.at, total: 2000, unit: "rows" });
  expect(written).toHaveLength(11);
  expect(written[0]).toStartWith("importing: [");
  expect(written.at(-1)).toContain("50 %, 1,000 of 2,000 rows");
  progress.end();
  progress.end();
  expect(written.slice(11)).toEqual([""]);
});

test("elsewhere a line after five seconds and then every five; a short work is not mentioned", () => {
  const { progress, clock, written } = recorded(undefined);
  for (; clock.at < 5000; clock.at += 10) progress.update({ done: clock.at, total: 20_000, unit: "rows" });
  expect(written).toEqual([]);
  for (; clock.at <= 20_000; clock.at += 10) progress.update({ done: clock.at, total: 20_000, unit: "rows" });
  progress.end();
  expect(written).toEqual([
    "importing: 25 %, 5,000 of 20,000 rows, 1,000 rows/s, 15 s left",
    "importing: 50 %, 10,000 of 20,000 rows, 1,000 rows/s, 10 s left",
    "importing: 75 %, 15,000 of 20,000 rows, 1,000 rows/s, 5 s left",
    "importing: 100 %, 20,000 of 20,000 rows, 1,000 rows/s",
  ]);
});

/** The words about a work whose progress in MB is `at(ms)`, of 100 MB, noted every 100 ms. */
function after(ms: number, at: (ms: number) => number): ProgressWords {
  const words = new ProgressWords("copying");
  for (let now = 0; now <= ms; now += 100) words.note({ done: at(now) * MB, total: 100 * MB, unit: "bytes" }, now);
  return words;
}
const secondsLeft = (line: string) => Number(/(\d+) s left/.exec(line)?.[1] ?? Number.NaN);

test("the time left is steady where batches come in jumps", () => {
  const jumps = (ms: number) => 2 * Math.floor(ms / 2000); // 1 MB/s, in steps of two seconds
  for (let ms = 20_000; ms < 60_000; ms += 700) {
    const left = secondsLeft(after(ms, jumps).line(200, ms));
    expect(Math.abs(left - (100 - ms / 1000))).toBeLessThan(0.3 * (100 - ms / 1000));
  }
});

test("it follows a rate that changes", () => {
  const slower = (ms: number) => (ms < 20_000 ? ms / 1000 : 20 + (ms - 20_000) / 4000);
  const left = secondsLeft(after(60_000, slower).line(200, 60_000));
  expect(Number.isNaN(left)).toBe(true); // minutes by now
  expect(after(60_000, slower).line(200, 60_000)).toEndWith("5 min left");
});

const ODD: [string, Work[]][] = [
  ["nothing done of nothing", [{ done: 0, total: 0, unit: "bytes" }]],
  ["more done than there is", [{ done: 300, total: 100, unit: "rows" }]],
  [
    "a total that shrinks",
    [
      { done: 50, total: 100 },
      { done: 60, total: 55 },
    ],
  ],
  [
    "going back",
    [
      { done: 50, total: 100 },
      { done: 0, total: 100 },
    ],
  ],
  ["no total", [{ done: 5 }, { done: 7, unit: "files" }]],
  [
    "a stop",
    [
      { done: 5, total: 10, unit: "bytes" },
      { done: 5, total: 10, unit: "bytes" },
    ],
  ],
];
test.each(ODD)("no line has a negative time, a NaN or more than 100 %%: %s", (_, works) => {
  for (const pace of [0, 1, 300, 5000]) {
    const words = new ProgressWords("x");
    let now = 0;
    for (let round = 0; round < 50; round++) {
      for (const work of works) {
        words.note(work, now);
        now += pace;
        const line = words.line(120, now);
        expect(line).not.toMatch(/NaN|Infinity|undefined|-\d/);
        expect(Number(/(\d+) %/.exec(line)?.[1] ?? 0)).toBeLessThanOrEqual(100);
      }
    }
  }
});

test("another label begins another work, with a rate of its own", () => {
  const words = new ProgressWords("import");
  for (let now = 0; now <= 10_000; now += 100) words.note({ done: now, total: 20_000, unit: "rows" }, now);
  words.note({ label: "compacting", done: 0, total: 1000 }, 10_100);
  expect(words.line(60, 10_200)).toBe(`compacting: [${" ".repeat(30)}] 0 %`);
  words.note({ done: 10_000, total: 20_000, unit: "rows" }, 20_000);
  expect(words.line(200, 20_100)).toEndWith("50 %, 10,000 of 20,000 rows");
});

test("a work of which nothing is known is only named, and drawn at once", () => {
  const drawn: string[] = [];
  const progress = startProgress("importing", { now: () => 0, columns: () => 80, draw: (line) => drawn.push(line) });
  progress.update({ done: 10, total: 10, unit: "bytes" });
  progress.update({ label: "finishing notes", done: 0 });
  expect(drawn).toEqual([expect.stringContaining("100 %"), "finishing notes"]);
});

test("every line fits into its columns, and says the share in every one that has room for it", () => {
  const words = new ProgressWords("copying 東京の記憶 into a\u001b[2J collection");
  for (let now = 0; now <= 10_000; now += 100) {
    words.note({ done: now * 1e3, total: 33.1 * MB, unit: "bytes", also: "12,345 of 33,100 files" }, now);
  }
  for (let columns = 1; columns <= 200; columns++) {
    const line = words.line(columns, 10_000);
    expect([columns, Bun.stringWidth(line) < columns]).toEqual([columns, true]);
    if (columns > 8) expect(line).toContain("30 %");
    if (columns >= 30) expect(line).toEndWith("23 s left");
    expect(line).not.toContain("\u001b");
  }
});

test("60 and 120 columns", () => {
  const words = new ProgressWords("importing notes");
  for (let now = 0; now <= 10_000; now += 100) {
    words.note({ done: now * 1e3, total: 25 * MB, unit: "bytes", also: "40,000 rows" }, now);
  }
  expect(words.line(60, 10_000)).toBe("importing notes: 40 %, 10.0 of 25.0 MB, 1.0 MB/s, 15 s left");
  expect(words.line(58, 10_000)).toBe("importing notes: 40 %, 10.0/25.0 MB, 1.0 MB/s, 15 s left");
  expect(words.line(120, 10_000)).toBe(
    "importing notes: [============                  ] 40 %, 40,000 rows, 10.0 of 25.0 MB, 1.0 MB/s, 15 s left",
  );
});
