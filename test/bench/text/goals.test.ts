import { expect, test } from "bun:test";
import type { Engine, Figures } from "./figures.ts";
import { goals } from "./goals.ts";
import { figureLines, table } from "./table.ts";

const MB = 1e6;
const cost = (cpu: number) => ({ cpu, wall: cpu, memory: 10 * MB });
const asked = (mean: number) => ({ median: mean / 2, mean, wall: mean, rounds: 1 });
const engine = (name: string, ms: number): Engine => ({
  name,
  ingest: cost(10),
  disk: 200 * MB,
  index: 20 * MB,
  asked: { "1 word": asked(ms), "6 words": asked(ms), "20 words": asked(ms), "6 by frequency": asked(ms) },
});
const figures = (ms: number, peers: Engine[]): Figures => ({
  passages: 1000,
  bytes: 100 * MB,
  own: {
    ...engine("svc", ms),
    build: cost(4),
    compact: cost(3),
    adds: { indexed: 3, plain: 2, ratio: 1.6, first: 1, second: 0.5 },
    embedding: { rate: 60 * MB, bytes: MB, query: 50e-6, lines: 2e6 },
    rows: { rows: 10, added: 9000, compacted: 9300, repositoryRows: 10, repository: 2048, index: 1 },
  },
  peers,
});
const find = (lines: ReturnType<typeof goals>, what: string) => lines.find((line) => line.what.includes(what))!;

test("an engine without a build of its own has a dash, and its ingest's memory", () => {
  const [title, head, own, peer] = table(figures(0.25, [engine("peer", 12)]));
  expect(title).toBe("1000 passages, 100.0 MB");
  expect(own!.length).toBe(head!.length);
  expect(own!.split(/ +/).slice(0, 7)).toEqual(["svc", "10.0", "25.0", "10", "200", "20.0", "0.250"]);
  expect(peer!.split(/ +/).slice(2, 8)).toEqual(["-", "10", "200", "20.0", "12.0", "(6.000)"]);
  expect(figureLines(figures(1, [engine("peer", 1)])).length).toBe(13 + 12);
});

test("means of queries are judged, beside the fastest peer", () => {
  const lines = goals(figures(0.6, [engine("slow", 6), engine("fast", 1.2)]));
  expect(find(lines, "6 words")).toMatchObject({ met: false, against: "fast's 1.20 ms", ratio: 0.5 });
  expect(find(lines, "20 words").met).toBeUndefined();
  expect(find(goals(figures(0.5, [])), "6 by frequency")).toMatchObject({ met: true, value: 0.5 });
});

test("bounds themselves are met", () => {
  const lines = goals(figures(0.1, []));
  expect(find(lines, "index built and rows")).toMatchObject({ value: 25, met: false });
  expect(find(lines, "index built, less")).toMatchObject({ value: 100 });
  expect(find(lines, "durable add").met).toBe(false);
  expect(find(lines, "English text").met).toBe(true);
  expect(find(lines, "a query of six words embedded").met).toBe(true);
  expect(find(lines, "rows, beside the text, compacted").met).toBe(false);
  expect(find(lines, "rows of a repository").met).toBe(true);
});
