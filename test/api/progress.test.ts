/** Progress of long calls. */
import { expect, test } from "bun:test";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import { localStore } from "./fixture.ts";

type Report = (done: number, total: number) => void;

test("a rewrite reports one progress that never falls, and ends at the total", async () => {
  const store = await localStore();
  const c: LocalCollection = await store.createCollection("c", { embedder: "multigram", lexical: true });
  const rows = 12_000;
  const texts = Array.from({ length: rows }, (_, i) => `note ${i * 7919} on ${i % 97} of ${i % 89}`);
  await c.addTexts(texts, { metadata: texts.map((_, i) => ({ scope: `s${i % 3}` })) });
  const calls: [name: string, fewest: number, call: (onProgress: Report) => Promise<unknown>][] = [
    ["compact", 1, (onProgress) => c.compact({ onProgress })],
    ["buildIvf", 2, (onProgress) => c.buildIvf({ minRows: 100, targetRecall: 0.9, onProgress })],
    ["buildLexical", 1, (onProgress) => c.buildLexical({ onProgress })],
    ["compact with indexes", 1, (onProgress) => c.compact({ onProgress })],
  ];
  for (const [name, fewest, call] of calls) {
    const shares: number[] = [];
    await call((done, total) => shares.push(done / total));
    expect(shares.length, name).toBeGreaterThanOrEqual(fewest);
    expect(shares, name).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares[0], name).toBeWithin(0, 1.0001);
    expect(shares.at(-1), name).toBe(1);
  }
});
