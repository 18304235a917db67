/** Every limit, from both sides. */
import { describe, expect, test } from "bun:test";
import { readId } from "../../src/checks/ids.ts";
import { encodeMetadata } from "../../src/checks/metadata.ts";
import { checkName } from "../../src/checks/names.ts";
import { readTexts } from "../../src/checks/texts.ts";
import { ValueError } from "../../src/errors.ts";
import { DIM_MAX, ID_BYTES_MAX, METADATA_BYTES_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX } from "../../src/limits.ts";
import { checkPacked, packRows } from "../../src/store/pack.ts";
import { completeSchema } from "../../src/store/schema.ts";

const nested = (depth: number) => {
  let value: Record<string, unknown> = {};
  for (let i = 1; i < depth; i++) value = { a: value };
  return value;
};

describe("names", () => {
  const good = ["a", "notes", "with space", "ümlaut".normalize("NFC"), "a.b", "x".repeat(NAME_BYTES_MAX), "向量"];
  test.each(good)("%s is fine", (name) => expect(checkName(name)).toBe(name));
  const bad = [
    "",
    ".",
    "..",
    ".hidden",
    "a/b",
    "../a",
    "a\\b",
    "a\0b",
    "a\nb",
    "x".repeat(NAME_BYTES_MAX + 1),
    "u\u0308",
    "\ud800",
  ];
  test.each(bad)("%p is refused", (name) => expect(() => checkName(name)).toThrow(ValueError));
});

describe("ids", () => {
  test.each(["a", "x".repeat(ID_BYTES_MAX), "../..", "é"])("%p is fine", (id) => {
    expect(readId(id, "ids[0]")).toBe(id);
  });
  test.each(["", "x".repeat(ID_BYTES_MAX + 1), "a\0b", "\udc00", "é".repeat(257)])("%p is refused", (id) =>
    expect(() => readId(id, "ids[3]")).toThrow(/ids\[3\]/),
  );
});

describe("metadata", () => {
  test("up to 64 KiB as JSON", () => {
    const room = METADATA_BYTES_MAX - '{"a":""}'.length;
    encodeMetadata({ a: "x".repeat(room) }, "metadata[0]");
    expect(() => encodeMetadata({ a: "x".repeat(room + 1) }, "metadata[0]")).toThrow(/65537 bytes/);
  });
  test("up to depth 16", () => {
    encodeMetadata(nested(16), "metadata[0]");
    expect(() => encodeMetadata(nested(17), "metadata[2]")).toThrow(/metadata\[2\].*16 levels/);
  });
  test("numbers that JSON would change are refused by name", () => {
    expect(() => encodeMetadata({ a: { b: Number.POSITIVE_INFINITY } }, "metadata[0]")).toThrow(
      /metadata\[0\]\.a\.b is Infinity/,
    );
    expect(() => encodeMetadata({ n: 2 ** 53 }, "metadata[0]")).toThrow(/beyond 2\^53/);
    expect(encodeMetadata({ n: 2 ** 53 - 1 }, "metadata[0]")).toBe('{"n":9007199254740991}');
  });
  test("__proto__ stays plain data", () => {
    const metadata = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}');
    expect(encodeMetadata(metadata, "metadata[0]")).toBe('{"__proto__":{"polluted":true},"a":1}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

test("a text of 16 MiB is stored, a byte more is refused", () => {
  expect(readTexts(["x".repeat(TEXT_BYTES_MAX)])).toHaveLength(1);
  expect(() => readTexts(["x".repeat(TEXT_BYTES_MAX + 1)])).toThrow(/texts\[0\] has 16777217 bytes.*16777216/);
});

describe("vectors", () => {
  test("a wrong length is refused", () => {
    const packed = packRows({ ids: ["a"], vectors: new Float32Array(3) }, ["scope"]);
    expect(() => checkPacked(packed, 2, 1)).toThrow(/3 numbers.*take 2/);
  });
  test.each([0, -1, 1.5, DIM_MAX + 1, Number.NaN])("dim %p is refused", (dim) =>
    expect(() => completeSchema({ dim })).toThrow(/^dim must be an integer from 1 to 65536, got /),
  );
});
