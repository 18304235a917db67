/** Lines that are almost those of an export: each becomes rows or an error of ours that names the line. */
import { expect, test } from "bun:test";
import { SvcError } from "../../src/errors.ts";
import type { ByteSource } from "../../src/formats/input/bytes.ts";
import { JSONL } from "../../src/formats/jsonl.ts";
import { random } from "../random.ts";

const SEEDS = [
  '{"svc_export":1,"collection":"notes","dim":4,"dtype":"f32","metric":"l2","partition_by":"scope","filter_columns":["k"],"lexical":true,"embedder":{"provider":"p","model_id":"m","model_version":"1","dimension":4,"dtype":"f32","normalization":"l2","distance":"l2","pooling":"sum","tokenizer_hash":"t","projection_version":"1"}}',
  '{"id":"a","metadata":{"scope":"x","deep":[{"n":1.5e3}]},"text":"blue \\u00e9\\ud83d\\ude00","created":5,"updated":7}',
  '{"id":7,"text":"","vector":{"f32":"AAAAPwAAgL8="}}',
  '{"text":"b","vector":[1,2.5,-3],"metadata":null,"created":"2026-11-22T10:00:00Z"}',
  "",
  "   \t",
];

function sourceOf(bytes: Uint8Array): ByteSource {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 97) yield bytes.subarray(at, at + 97);
  }
  return { name: "stdin", bytes: undefined, head: bytes.subarray(0, 1000), position: () => 0, chunks };
}

test("five thousand files of damaged lines", async () => {
  const next = random(20261123);
  const pick = (n: number) => Math.floor(next() * n);
  const { signal } = new AbortController();
  let rows = 0;
  let bad = 0;
  for (let round = 0; round < 5000; round++) {
    const lines = Array.from({ length: 1 + pick(4) }, () => SEEDS[pick(SEEDS.length)]!);
    const bytes = new Uint8Array(Buffer.from(lines.join("\n")));
    for (let i = pick(4); i > 0 && bytes.length > 0; i--) {
      const at = pick(bytes.length);
      if (pick(2) === 0) bytes[at] = pick(256);
      else bytes.copyWithin(at, pick(bytes.length), pick(bytes.length));
    }
    const errors: SvcError[] = [];
    const source = await JSONL.open("-", { signal, input: sourceOf(bytes), onBad: (error) => errors.push(error) });
    for await (const some of source.rows(signal)) {
      for (const row of [some].flat()) {
        rows += 1;
        expect(typeof row.where).toBe("string");
        expect(row.text !== undefined || row.vector !== undefined).toBe(true);
      }
    }
    bad += errors.length;
    for (const error of errors) {
      expect(error).toBeInstanceOf(SvcError);
      expect(error.message).toMatch(/^stdin, line \d+/);
    }
  }
  expect([rows > 3000, bad > 1000]).toEqual([true, true]);
});
