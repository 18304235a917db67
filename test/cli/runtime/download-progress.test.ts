/** What is said of a download. */
import { expect, test } from "bun:test";
import { summaryOf, workOf } from "../../../src/cli/runtime/download-progress.ts";
import { ProgressWords } from "../../../src/cli/terminal/progress.ts";

const MB = 1e6;
const state = (received: number, more: { kept?: number; total?: number; pauseMs?: number } = {}) => ({
  received: received * MB,
  kept: (more.kept ?? 0) * MB,
  total: more.total === undefined ? undefined : more.total * MB,
  pauseMs: more.pauseMs,
});

/** The line of a download that received `received` at a steady rate in so many seconds, behind what was kept. */
function line(seconds: number, what: ReturnType<typeof state>): string {
  const words = new ProgressWords("downloading the runtime");
  for (let i = 0; i <= 100; i++) {
    const received = what.kept + ((what.received - what.kept) * i) / 100;
    words.note(workOf({ ...what, received }), seconds * 10 * i);
  }
  return words.line(200, seconds * 1000).replace(/\[.*?\] /, "");
}

const LINES: [string, string][] = [
  [line(0.1, state(1, { total: 100 })), "1 %, 1.0 of 100.0 MB"],
  [line(10, state(25, { total: 100 })), "25 %, 25.0 of 100.0 MB, 2.5 MB/s, 30 s left"],
  [line(10, state(99, { total: 100 })), "99 %, 99.0 of 100.0 MB, 9.9 MB/s, 1 s left"],
  [line(10, state(10, { total: 1000 })), "1 %, 10.0 of 1000.0 MB, 1.0 MB/s, 17 min left"],
  // The rate is that of this run.
  [line(10, state(60, { kept: 50, total: 100 })), "60 %, 60.0 of 100.0 MB, 1.0 MB/s, 40 s left"],
  [line(10, state(50, { kept: 50, total: 100 })), "50 %, 50.0 of 100.0 MB"],
  [line(10, state(25)), "25.0 MB, 2.5 MB/s"],
  [
    line(10, state(25, { total: 100, pauseMs: 4000 })),
    "25 %, 25.0 of 100.0 MB, the connection broke, trying again in 4 s",
  ],
];
test.each(LINES)("%s", (said, expected) => {
  expect(said).toBe(`downloading the runtime: ${expected}`);
});

test("what a long download came to; nothing of a short one, or of one that broke off", () => {
  expect(summaryOf(state(45, { kept: 20, total: 45 }), 25_000)).toBe(
    "downloaded 25.0 MB after 20.0 MB of an earlier run in 25 s (1.0 MB/s)",
  );
  expect(summaryOf(state(10, { total: 10 }), 9000)).toBeUndefined();
  expect(summaryOf(state(9, { total: 10 }), 60_000)).toBeUndefined();
});
