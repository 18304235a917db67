import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { OSError } from "../../../src/errors.ts";
import { idBase, parseRowId, repoIdOf, rowId } from "../../../src/repo/chunks/identity.ts";
import { settledMark } from "../../../src/repo/files/stamp.ts";
import { chunkingOf, chunkKey, type Fingerprint, voidText } from "../../../src/repo/fingerprints/fingerprints.ts";
import { appendLog, createLog, type Extent, readHead, readLog } from "../../../src/repo/fingerprints/log.ts";
import { noteName, readNote, repoIdOfNote } from "../../../src/repo/fingerprints/note.ts";
import { random } from "../../random.ts";
import { temporary } from "../helpers.ts";

const REPO = "0123456789abcdef";
const HEAD = { repoId: REPO, root: "/srv/code/a repo", device: 7, git: { common: "/srv/code/.git", linked: "a" } };

const text = (chunks: number, seed: number): Fingerprint => ({
  kind: "text",
  chunks,
  mark: 2 ** 53 - seed,
  hash: seed,
  windows: {
    from: 0,
    hashes: Float64Array.from({ length: chunks }, (_, at) => seed * 1000 + at),
    lines: Uint32Array.from({ length: chunks }, (_, at) => at * 40 + 1),
  },
});

const sample = (): Map<string, Fingerprint> =>
  new Map([
    ['a\n\t"b".ts', text(3, 1)],
    ["__proto__", { kind: "binary", chunks: 0, mark: 5, hash: 0 }],
    ["empty.ts", text(0, 2)],
    ["\uFEFFbom \u{1F600}/é.ts", voidText(9)],
    ["key", { kind: "secret", chunks: 0, mark: 0, hash: 0 }],
  ]);

/** Records without where their windows lie among others. */
function shown(files: ReadonlyMap<string, Fingerprint>) {
  return [...files].map(([path, { windows, ...file }]) => [
    path,
    file,
    windows && [
      [...windows.hashes.subarray(windows.from, windows.from + file.chunks)],
      [...windows.lines.subarray(windows.from, windows.from + file.chunks)],
    ],
  ]);
}

function read(path: string, extent: Extent, repoId = REPO) {
  const files = new Map<string, Fingerprint>();
  const head = readLog(path, repoId, extent, files);
  return head && { head, files };
}

describe("a log on disk", () => {
  test("comes back as it was written, and its head alone", () => {
    const path = join(temporary(), "log");
    const extent = createLog(path, HEAD, sample());
    expect(statSync(path).size).toBe(extent.bytes);
    const back = read(path, extent)!;
    expect(back.head).toEqual(HEAD);
    expect(shown(back.files)).toEqual(shown(sample()));
    expect(readHead(path)).toEqual(HEAD);
    expect(read(path, extent, "fedcba9876543210")).toBeUndefined();
    const empty = join(temporary(), "log");
    expect(shown(read(empty, createLog(empty, HEAD, new Map()))!.files)).toEqual([]);
  });

  test("later records supersede, a tail is read alone, and what a failed save left is cut off", () => {
    const path = join(temporary(), "log");
    const first = createLog(path, HEAD, sample());
    appendFileSync(path, "torn by a crash, and longer than the records that come next".repeat(40));
    expect(shown(read(path, first)!.files)).toEqual(shown(sample()));
    const changes = new Map([
      ["__proto__", undefined],
      ["empty.ts", text(2, 9)],
      ["new.ts", text(5, 4)],
    ]);
    const second = appendLog(path, first, changes);
    expect(statSync(path).size).toBe(second.bytes);
    const expected = sample();
    expected.delete("__proto__");
    expected.set("empty.ts", text(2, 9)).set("new.ts", text(5, 4));
    expect(shown(read(path, second)!.files)).toEqual(shown(expected));
    expect(shown(read(path, first)!.files)).toEqual(shown(sample()));
    const known = sample();
    expect(readLog(path, REPO, second, known, { ...first, head: HEAD })).toEqual(HEAD);
    expect(shown(known)).toEqual(shown(expected));
    // Another log of that name.
    expect(readLog(path, REPO, second, sample(), { ...first, sum: (first.sum ^ 1) >>> 0, head: HEAD })).toBeUndefined();
  });

  test("one that is cut or has a flipped bit is not read, and nothing throws", () => {
    const path = join(temporary(), "log");
    const extent = appendLog(path, createLog(path, HEAD, sample()), new Map([["b", text(2, 3)]]));
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at++) {
      writeFileSync(path, whole.subarray(0, at));
      expect(read(path, extent)).toBeUndefined();
      const flipped = Buffer.from(whole);
      flipped[at]! ^= 1 << (at % 8);
      writeFileSync(path, flipped);
      expect(read(path, extent)).toBeUndefined();
    }
    for (const text of [
      "",
      "\n",
      "null\n[]",
      "[]\n[]",
      '{"format":2}\n[]',
      `${JSON.stringify({ ...HEAD, format: 4 })}\n`,
    ]) {
      writeFileSync(path, text);
      expect(read(path, { bytes: text.length, sum: crc32(text) })).toBeUndefined();
      expect(readHead(path)).toBeUndefined();
    }
    rmSync(path);
    expect([read(path, extent), readHead(path)]).toEqual([undefined, undefined]);
  });

  test("bytes whose checksum was made to fit are read within their bounds", () => {
    const path = join(temporary(), "log");
    createLog(path, HEAD, sample());
    const whole = readFileSync(path);
    const next = random(5);
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(whole);
      for (let edits = 1 + Math.floor(next() * 3); edits > 0; edits--) {
        bytes[whole.indexOf(10) + 1 + Math.floor(next() * 60)] = Math.floor(next() * 256);
      }
      writeFileSync(path, bytes);
      read(path, { bytes: bytes.length, sum: crc32(bytes) });
    }
  });

  test("a link in its place is not followed", () => {
    const folder = temporary();
    const extent = createLog(join(folder, "real"), HEAD, sample());
    symlinkSync("real", join(folder, "log"));
    expect(read(join(folder, "log"), extent)).toBeUndefined();
    expect(readHead(join(folder, "log"))).toBeUndefined();
    expect(() => appendLog(join(folder, "log"), extent, sample())).toThrow(OSError);
  });
});

test("a note is taken as it was written, and nothing else is", () => {
  const note = {
    file: `repo-${REPO}.00ff00ff.fingerprints`,
    bytes: 8,
    sum: 1,
    generation: 3,
    params: "v2:file",
    tracked: 1,
  };
  expect(readNote(note, REPO)).toEqual(note);
  const whole = { ...note, rows: { count: 3, digest: "1f" }, reached: "a", maxFileBytes: 9 };
  expect(readNote(whole, REPO)).toEqual(whole);
  expect(readNote(note, "fedcba9876543210")).toBeUndefined();
  const wrong = [null, 1, [], { ...note, file: "../x" }, { ...note, file: `repo-${REPO}.fingerprints` }];
  for (const value of [...wrong, { ...note, bytes: -1 }, { ...note, sum: "1" }, { ...note, params: 1 }]) {
    expect(readNote(value, REPO)).toBeUndefined();
  }
  for (const rows of [1, { count: 1 }, { digest: "1" }]) expect(readNote({ ...note, rows }, REPO)).toBeUndefined();
  expect([repoIdOfNote(noteName(REPO)), repoIdOfNote("repo-x"), repoIdOfNote("other")]).toEqual([
    REPO,
    undefined,
    undefined,
  ]);
});

test("changed within two seconds before it is read, or later, a file is racy", () => {
  const at = (ms: number) => ({ size: 1, mark: 5, changedMs: ms });
  expect([997_999, 998_000, 1_000_000, 2_000_000].map((ms) => settledMark(at(ms), 1_000_000))).toEqual([5, 0, 0, 0]);
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

test("the parameters of a key, and none of what is not a key", () => {
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
