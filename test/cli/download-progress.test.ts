/** What is said of a download: on a terminal a line that is drawn over, elsewhere one now and then. */
import { expect, test } from "bun:test";
import { DownloadWords } from "../../src/cli/download-progress.ts";

const MB = 1e6;
const state = (received: number, more: { kept?: number; total?: number; pauseMs?: number } = {}) => ({
  received: received * MB,
  kept: (more.kept ?? 0) * MB,
  total: more.total === undefined ? undefined : more.total * MB,
  pauseMs: more.pauseMs,
});

/** The line after so many seconds. */
function line(seconds: number, what: ReturnType<typeof state>, columns = 200): string {
  const words = new DownloadWords(0);
  words.note(what);
  return words.line(columns, seconds * 1000);
}

const LINES: [string, string][] = [
  [line(0.1, state(1, { total: 100 })), "1 %, 1.0 of 100.0 MB"],
  [line(10, state(25, { total: 100 })), "25 %, 25.0 of 100.0 MB, 2.5 MB/s, 30 seconds left"],
  [line(10, state(99, { total: 100 })), "99 %, 99.0 of 100.0 MB, 9.9 MB/s, 1 second left"],
  [line(10, state(10, { total: 1000 })), "1 %, 10.0 of 1000.0 MB, 1.0 MB/s, 17 minutes left"],
  [line(100, state(1, { total: 1000 })), "0 %, 1.0 of 1000.0 MB, 0.0 MB/s, 28 hours left"],
  [line(1000, state(1, { total: 1000 })), "0 %, 1.0 of 1000.0 MB, 0.0 MB/s, days left"],
  // The rate is that of this run.
  [line(10, state(60, { kept: 50, total: 100 })), "60 %, 60.0 of 100.0 MB, 1.0 MB/s, 40 seconds left"],
  [line(10, state(50, { kept: 50, total: 100 })), "50 %, 50.0 of 100.0 MB"],
  [line(10, state(25)), "25.0 MB, 2.5 MB/s"],
  [
    line(10, state(25, { total: 100, pauseMs: 4000 })),
    "25 %, 25.0 of 100.0 MB, the connection broke, trying again in 4 seconds",
  ],
];
test.each(LINES)("%s", (said, expected) => {
  expect(said).toBe(`downloading the runtime: ${expected}`);
});

test("a narrow terminal gets as many parts as fit", () => {
  const what = state(25, { total: 100 });
  expect(line(10, what, 50)).toBe("downloading the runtime: 25 %, 25.0 of 100.0 MB");
  expect(line(10, what, 40)).toBe("downloading the runtime: 25 %");
  expect(line(10, what, 20)).toBe("downloading the run");
});

test("elsewhere a line comes every ten seconds, and one at the end of a download that took so long", () => {
  const words = new DownloadWords(0);
  const said: string[] = [];
  for (let second = 1; second <= 25; second++) {
    words.note(state(20 + second, { kept: 20, total: 45 }));
    const due = words.due(second * 1000);
    if (due !== undefined) said.push(due);
  }
  said.push(words.summary(25_000)!);
  expect(said).toEqual([
    "downloading the runtime: 66 %, 30.0 of 45.0 MB, 1.0 MB/s, 15 seconds left",
    "downloading the runtime: 88 %, 40.0 of 45.0 MB, 1.0 MB/s, 5 seconds left",
    "downloaded 25.0 MB after 20.0 MB of an earlier run in 25 seconds (1.0 MB/s)",
  ]);
});

test("nothing is said at the end of a short download, or of one that broke off", () => {
  const short = new DownloadWords(0);
  short.note(state(10, { total: 10 }));
  expect(short.summary(9000)).toBeUndefined();
  const broken = new DownloadWords(0);
  broken.note(state(9, { total: 10 }));
  expect(broken.summary(60_000)).toBeUndefined();
});
