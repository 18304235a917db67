import { describe, expect, test } from "bun:test";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHUNK_DEFAULTS } from "../../src/repo/chunk.ts";
import {
  chunkingOf,
  chunkKey,
  type Fingerprints,
  isRacy,
  loadFingerprints,
  readFingerprintHead,
  saveFingerprints,
  stampOf,
} from "../../src/repo/fingerprints.ts";
import { idBase, parseRowId, repoIdOf, rowId } from "../../src/repo/identity.ts";
import { temporary } from "./helpers.ts";

const sample = (): Fingerprints => ({
  repoId: "0123456789abcdef",
  root: "/srv/code/a repo",
  params: chunkKey(CHUNK_DEFAULTS),
  rows: { count: 3, digest: "1f" },
  git: { common: "/srv/code/.git", linked: "a" },
  device: 7,
  startedMs: 1_795_247_945_792,
  run: "r1",
  tracked: 1,
  files: new Map([
    ['a\n\t"b".ts', { kind: "text", chunks: 3, stamp: "1:2:3:4", hash: "abc" }],
    ["__proto__", { kind: "binary", chunks: 0, stamp: "5:6:7:8", hash: "" }],
  ]),
});

describe("the cache on disk", () => {
  test("comes back as it was written, and its head alone", async () => {
    const path = join(temporary(), "cache");
    await saveFingerprints(path, sample());
    expect(loadFingerprints(path, sample().repoId).fingerprints).toEqual(sample());
    expect(readFingerprintHead(path)).toMatchObject({ root: "/srv/code/a repo", tracked: 1, device: 7 });
  });

  test("that of another repository is not read", async () => {
    const path = join(temporary(), "cache");
    await saveFingerprints(path, sample());
    expect(loadFingerprints(path, "fedcba9876543210").fingerprints).toBeUndefined();
  });

  test("one that is cut or has a flipped bit is not read, and nothing throws", async () => {
    const path = join(temporary(), "cache");
    await saveFingerprints(path, sample());
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at++) {
      writeFileSync(path, whole.subarray(0, at));
      expect(loadFingerprints(path, sample().repoId).fingerprints).toBeUndefined();
    }
    for (let at = whole.indexOf(10) + 1; at < whole.length; at++) {
      const flipped = Buffer.from(whole);
      flipped[at]! ^= 1;
      writeFileSync(path, flipped);
      expect(loadFingerprints(path, sample().repoId).fingerprints).toBeUndefined();
    }
    for (const text of ["", "\n", "null\n[]", "[]\n[]", '{"format":2}\n[]']) {
      writeFileSync(path, text);
      expect(loadFingerprints(path, sample().repoId).fingerprints).toBeUndefined();
      expect(readFingerprintHead(path)).toBeUndefined();
    }
  });

  test("a link in its place is not followed", async () => {
    const directory = temporary();
    await saveFingerprints(join(directory, "real"), sample());
    symlinkSync("real", join(directory, "cache"));
    expect(loadFingerprints(join(directory, "cache"), sample().repoId).fingerprints).toBeUndefined();
    expect(readFingerprintHead(join(directory, "cache"))).toBeUndefined();
  });
});

test("stamped within two seconds of a run, or later, a file is racy", () => {
  const startedMs = 1_000_000;
  const at = (ms: number) => ({ size: 1, mtimeNs: BigInt(ms) * 1_000_000n, ctimeNs: 0n, ino: 1n });
  expect([at(997_999), at(998_000), at(1_000_000), at(2_000_000)].map((file) => isRacy(file, startedMs))).toEqual([
    false,
    true,
    true,
    true,
  ]);
  expect(isRacy({ ...at(0), ctimeNs: at(999_999).mtimeNs }, startedMs)).toBe(true);
  expect(
    new Set([at(1), { ...at(1), size: 2 }, { ...at(1), ino: 2n }, { ...at(1), ctimeNs: 1n }].map(stampOf)).size,
  ).toBe(4);
});

describe("ids", () => {
  const repoId = repoIdOf("/some/root");

  test("the repository is the start of a SHA-1", () => {
    expect(repoIdOf("abc")).toBe("a9993e364706816a");
  });

  test("what is short is plain, and can be taken apart", () => {
    expect(rowId(idBase(repoId, "a/b:c.ts"), 12)).toBe(`${repoId}:a/b:c.ts:12`);
    expect(parseRowId(repoId, `${repoId}:a/b:c.ts:12`)).toEqual({ base: `${repoId}:a/b:c.ts`, chunk: 12 });
    for (const other of [
      "x",
      `${repoId}:a`,
      `${repoId}:a:01`,
      `${repoId}:a:-1`,
      `${repoId}:a:`,
      "f".repeat(16) + ":a:0",
    ]) {
      expect(parseRowId(repoId, other)).toBeUndefined();
    }
  });

  test("what is long loses its middle, at most 512 bytes, never half a character, never two alike", () => {
    const seen = new Set<string>();
    let made = 0;
    for (const letter of ["x", "é", "漢", "😀"]) {
      for (let length = 100; length < 1200; length += 7) {
        for (const path of [
          `${letter.repeat(length)}.ts`,
          `a${letter.repeat(length)}`,
          `${letter.repeat(length)}b${letter.repeat(length)}`,
        ]) {
          const base = idBase(repoId, path);
          expect(Buffer.byteLength(rowId(base, 4_294_967_295))).toBeLessThanOrEqual(512);
          expect(base).not.toContain("\uFFFD");
          expect(base).toBe(idBase(repoId, path));
          seen.add(base);
          made++;
        }
      }
    }
    expect(seen.size).toBe(made);
  });
});

test("the parameters of a key, and none of what is no key", () => {
  const windowed = { mode: "windowed", windowLines: 30, windowOverlapLines: 4 } as const;
  expect(chunkingOf(chunkKey(windowed))).toEqual(windowed);
  expect(chunkingOf("v1:file")).toMatchObject({ mode: "file" });
  // Windows that do not advance would never end.
  for (const key of [
    "",
    "file",
    "v2:windowed:8:8",
    "v2:windowed:0:0",
    "v2:windowed:8",
    "v2:windowed:1e3:1",
    "v2:file ",
  ]) {
    expect(chunkingOf(key)).toBeUndefined();
  }
});
