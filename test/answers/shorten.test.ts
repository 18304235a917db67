/** Any answer within any bound; errors; what is repeated of a question. */
import { expect, test } from "bun:test";
import { answerText, boundedLine, echo } from "../../src/answers/answer.ts";
import { random } from "../random.ts";
import { brokenText, randomText } from "./texts.ts";

const plan = (partitions: number) => ({
  collection: "notes",
  plan: {
    tuner: "latency-budget",
    ivf: { enabled: true, partitions: Array.from({ length: partitions }, (_, i) => ({ key: `scope-${i}`, rows: i })) },
    decision_trace: ["an exact search over 100000 rows takes 3 ms", "exact search stays"],
    plan_id: "0123456789abcdef",
  },
});

test("an answer that fits is what it was", () => {
  const text = JSON.stringify(plan(10));
  expect(answerText(plan(10), Buffer.byteLength(text) < 1000 ? 1000 : Buffer.byteLength(text))).toBe(text);
  expect(answerText(plan(10_000), 0)).toBe(JSON.stringify(plan(10_000)));
});

test("of one that does not the largest list is cut, and named; the rest stays", () => {
  const text = answerText(plan(10_000), 24_000);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(24_000);
  const short = JSON.parse(text);
  const whole = plan(10_000).plan;
  expect(short.plan).toMatchObject({
    tuner: whole.tuner,
    decision_trace: whole.decision_trace,
    plan_id: whole.plan_id,
  });
  expect(short.plan.ivf.partitions.length).toBeGreaterThan(200);
  expect(short.plan.ivf.partitions).toEqual(whole.ivf.partitions.slice(0, short.plan.ivf.partitions.length));
  expect(short.shortened).toEqual(["plan.ivf.partitions"]);
});

function randomValue(next: () => number, depth: number): unknown {
  const kind = Math.floor(next() * (depth > 0 ? 7 : 4));
  if (kind === 0) return next() * 1e6;
  if (kind === 1) return next() < 0.5 ? null : undefined;
  if (kind <= 3) return next() < 0.5 ? randomText(next, 40) : brokenText(next, 20);
  const count = Math.floor(next() * 12);
  if (kind === 4) return Array.from({ length: count * count }, () => randomValue(next, 0));
  if (kind === 5) return Array.from({ length: count }, () => randomValue(next, depth - 1));
  return Object.fromEntries(Array.from({ length: count }, () => [randomText(next, 3), randomValue(next, depth - 1)]));
}

test.each(Array.from({ length: 60 }, (_, seed) => seed))("random answers within random bounds, %d", (seed) => {
  const next = random(seed);
  const payload = Object.fromEntries(["collection", "a", "b", "c"].map((name) => [name, randomValue(next, 3)]));
  for (const most of [1000, 1000 + Math.floor(next() * 3000), Math.floor(1000 + next() * 60_000)]) {
    const text = answerText(payload, most);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
    const { shortened, ...rest } = JSON.parse(text);
    if (shortened === undefined) expect(text).toBe(JSON.stringify(payload));
    else expect(Object.keys(rest)).toEqual(Object.keys(JSON.parse(JSON.stringify(payload))));
  }
});

test("an error's line is cut at a character, by the bound of its call", () => {
  const line = `ValueError: ${"é".repeat(20_000)}`;
  expect(boundedLine(line, { max_bytes: 0 })).toBe(line);
  expect(boundedLine("ValueError: short", {})).toBe("ValueError: short");
  for (const [raw, most] of [
    [{}, 24_000],
    [undefined, 24_000],
    [{ max_bytes: "many" }, 24_000],
    [{ max_bytes: 5 }, 24_000],
    [{ max_bytes: 1001 }, 1001],
    [{ max_bytes: 30_000 }, 30_000],
  ] as const) {
    const short = boundedLine(line, raw);
    expect([raw, Buffer.byteLength(short)]).toEqual([raw, Math.floor(most - (most % 2))]);
    expect(short).toMatch(/^ValueError: é+ \.\.\.$/);
  }
});

test("a question is repeated to 2 KiB, cut at a character", () => {
  const long = `${"é".repeat(1000)}${"漢".repeat(16)}xx`;
  expect(Buffer.byteLength(long)).toBe(2050);
  expect(echo(long.slice(0, -2), undefined, 24_000)).toEqual({ query: long.slice(0, -2) });
  expect(echo(long.slice(0, -2), undefined, 6_000)).toEqual({ query: long.slice(0, -2) });
  expect(echo(long, undefined, 24_000)).toEqual({ query: long.slice(0, -2), query_truncated: true });
  const cut = `x${"漢".repeat(1000)}`;
  expect(echo(cut, undefined, 24_000)).toEqual({ query: cut.slice(0, 1 + 682), query_truncated: true });
  expect(echo(cut, "a sentence", 0)).toEqual({ query: cut, notice: "a sentence" });
  expect(Buffer.byteLength(JSON.stringify(echo("\u0001".repeat(5000), "n".repeat(5000), 1000)))).toBeLessThan(400);
});
