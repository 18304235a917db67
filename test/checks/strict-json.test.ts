/** JSON in which two readers cannot find two things: the value of JSON.parse or a refusal, and never another value. */
import { describe, expect, test } from "bun:test";
import { parseStrictJson } from "../../src/checks/strict-json.ts";
import { ValueError } from "../../src/errors.ts";

const parse = (text: string) => parseStrictJson(new TextEncoder().encode(text));
const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`;

describe("accepted, with the value of JSON.parse", () => {
  test.each([
    "1",
    ' "a" ',
    "[]",
    '{"a":1,"b":{"a":2,"c":[{"a":1},{"a":1}]},"A":3}',
    '{"a":"\\"a\\":1,","b":"{\\\\","c\\\\":1,"c\\\\\\\\":2}',
    '{"__proto__":{"x":1},"constructor":2,"":3}',
    '["a","a",{"a":["b","b"]},"a"]',
    nested(16),
  ])("%s", (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
    expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
  });
});

describe("refused", () => {
  const table: [string, string, RegExp][] = [
    ["two equal keys", '{"a":1,"a":1}', /twice/],
    ["two equal keys apart", '{"a":1,"b":[{"c":1}, "x"],"a":2}', /twice/],
    ["two equal keys deep inside", '[{"x":{"y":[{"a":1 ,\n"a" : 2}]}}]', /twice/],
    ["a key that is equal once it is unescaped", '{"ab":1,"\\u0061b":2}', /twice/],
    ["a key after a string with quotes", '{"b":"\\"{\\"","a":1,"a":2}', /twice/],
    ["keys that are empty", '{"":1,"":2}', /twice/],
    ["__proto__ twice", '{"__proto__":1,"__proto__":2}', /twice/],
    ["a level too many", nested(18), /deeper than 16/],
    ["a hundred thousand levels", "[".repeat(100_000) + "]".repeat(100_000), /deeper than 16/],
    ["brackets without end", "[".repeat(100_000), /not JSON/],
    ["a byte order mark", "\ufeff{}", /not JSON/],
    ["nothing", "", /not JSON/],
    ["a string without end", '{"a', /not JSON/],
    ["a string without end after a backslash", '{"a\\"', /not JSON/],
    ["a bad escape in a key", '{"\\x":1}', /not JSON/],
    ["closed too often", "{}}]", /not JSON/],
    ["a comma too many", '{"a":1,}', /not JSON/],
    ["two values", "{} {}", /not JSON/],
  ];
  test.each(table)("%s", (_, text, message) => {
    expect(() => parse(text)).toThrow(ValueError);
    expect(() => parse(text)).toThrow(message);
  });

  test("bytes that are not UTF-8", () => {
    expect(() => parseStrictJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(/not UTF-8/);
  });
});

/** A value with at most four levels, and text of it in which keys may stand twice and anything may be escaped. */
test("of any text: the value of JSON.parse where no key stands twice, else a refusal", () => {
  const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`strict JSON fuzz: SVC_FUZZ_SEED=${seed}`);
  let state = seed >>> 0;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // the generator of Numerical Recipes
    return Math.floor((state / 2 ** 32) * below);
  };
  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!;
  let doubled = false;
  const space = () => pick(["", "", "", " ", "\n\t"]);
  const string = () => {
    const text = pick(["a", "b", "ab", "", '"', "\\", '\\"', "{", ",", ":", "é", "\u2028", "a,b", '":1,"']);
    const escaped = [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
    return { text, quoted: random(4) === 0 ? `"${escaped}"` : JSON.stringify(text) };
  };
  const value = (levels: number): string => {
    const kind = random(levels > 0 ? 5 : 3);
    if (kind === 0) return pick(["0", "-1.5e3", "true", "null", "1e400", "123456789012345678901"]);
    if (kind < 3) return string().quoted;
    const count = random(5);
    if (kind === 3) return `[${space()}${Array.from({ length: count }, () => value(levels - 1)).join(`${space()},`)}]`;
    const keys = new Set<string>();
    const members = Array.from({ length: count }, () => {
      const key = string();
      doubled ||= keys.has(key.text);
      keys.add(key.text);
      return `${space()}${key.quoted}${space()}:${value(levels - 1)}${space()}`;
    });
    return `{${members.join(",")}}`;
  };
  const outcome = (action: () => unknown): string | undefined => {
    try {
      return JSON.stringify(action());
    } catch (error) {
      if (!(error instanceof ValueError || error instanceof SyntaxError)) throw error;
      return undefined;
    }
  };
  let [accepted, refused, broken] = [0, 0, 0];
  for (let round = 0; round < 20_000; round++) {
    doubled = false;
    const text = value(4);
    const found = outcome(() => parse(text));
    if (found === undefined ? !doubled : doubled || found !== outcome(() => JSON.parse(text)))
      throw new Error(`${JSON.stringify(text)} became ${found}`);
    if (found === undefined) refused += 1;
    else accepted += 1;
    // Damaged: refused, or what JSON.parse makes of it.
    const [from, to] = [random(text.length + 1), random(text.length + 1)];
    const damaged = text.slice(0, from) + pick(["", '"', "\\", "{", "]", ",", '"a":1,']) + text.slice(to);
    const again = outcome(() => parse(damaged));
    if (again === undefined) broken += 1;
    else if (again !== outcome(() => JSON.parse(damaged)))
      throw new Error(`${JSON.stringify(damaged)} became ${again}`);
  }
  expect(Math.min(accepted, refused, broken)).toBeGreaterThan(500);
});
