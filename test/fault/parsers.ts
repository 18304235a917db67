/**
 * Every parser of untrusted bytes on this side of the boundary, on mutations of what it reads in use: it returns, or
 * throws the errors that it says. What it returns does not depend on how the bytes arrive. (The native parsers have
 * test/native/store_fuzz.c, which coverage guides in the soak: the engine reports none to the program itself.)
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { isTooDeep } from "../../src/checks/depth.ts";
import { isBlank, LineSplitter } from "../../src/checks/lines.ts";
import { ArgumentTypeError, RuntimeError, ValueError } from "../../src/errors.ts";
import { topLevelId } from "../../src/mcp/lines.ts";
import { parseArguments } from "../../src/memory/arguments.ts";
import { SCHEMAS, type VerbName } from "../../src/memory/requests.ts";
import { BadRequest, parseRequest, RefusedRequest } from "../../src/remote/server/requests/parse.ts";
import { encodeFrame, FrameError, FrameReader } from "../../src/remote/wire/frame.ts";
import { parseConfig } from "../../src/repo/files/git/config-text.ts";
import { IndexError, parseIndex } from "../../src/repo/files/git/index-file.ts";
import { IgnoreFile } from "../../src/repo/files/ignore/rules.ts";
import { createLog, readHead, readLog } from "../../src/repo/fingerprints/log.ts";
import { parseReleaseManifest } from "../../src/trust/release/manifest.ts";
import { scratchDir } from "../fixture.ts";
import { random } from "../random.ts";
import { manifestOf } from "../trust/release/fixture.ts";

/** A parser: what it reads in use, words that such bytes are made of, and what must hold of any bytes. */
interface Target {
  seeds: Buffer[];
  words: string[];
  check(bytes: Buffer, next: () => number): void;
}

const JSON_WORDS = [
  '{"',
  '"}',
  "[",
  "]",
  ":",
  ",",
  "null",
  "NaN",
  "-Infinity",
  "1e999",
  '"\\ud800"',
  '"__proto__"',
  "\u00e9",
];

/** The targets that this machine can try: an index needs git to be made. */
export function targetsOf(): Record<string, Target> {
  const out: Record<string, Target> = {
    "lines of MCP": lines(),
    "frames of the wire": frames(),
    requests: requests(),
    arguments: argumentsOfVerbs(),
    "a log of fingerprints": logs(),
    "git's configuration": configurations(),
    "ignore files": ignoreFiles(),
    "manifests of releases": releases(),
  };
  const index = indexes();
  if (index.seeds.length > 0) out["git's index"] = index;
  return out;
}

/** One mutation of some bytes. */
export function mutated(seed: Buffer, words: readonly string[], next: () => number): Buffer {
  let bytes = Buffer.from(seed);
  const below = (n: number) => Math.floor(next() * n);
  for (let n = 1 + below(4); n > 0 && bytes.length > 0; n--) {
    const at = below(bytes.length);
    const length = 1 + below(16);
    const word = Buffer.from(words[below(words.length)] ?? "");
    const other = bytes.subarray(below(bytes.length)).subarray(0, length);
    switch (below(7)) {
      case 0:
        bytes[at]! ^= 1 << below(8);
        break;
      case 1:
        bytes[at] = below(256);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at)]);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), other, bytes.subarray(at)]);
        break;
      case 5:
        bytes
          .subarray(at)
          .subarray(0, length)
          .fill(next() < 0.5 ? 0 : 0xff);
        break;
      case 6:
        bytes = bytes.subarray(0, at);
    }
  }
  return bytes;
}

/** Tries a target so many times. @throws Error with the seed's bytes, in base64 */
export function tryTarget(name: string, target: Target, tries: number, seed: number): void {
  const next = random(seed);
  for (let i = 0; i < tries; i++) {
    const bytes = mutated(target.seeds[Math.floor(next() * target.seeds.length)]!, target.words, next);
    try {
      target.check(Buffer.from(bytes), next);
    } catch (error) {
      throw new Error(`${name}, seed ${seed}, try ${i}: ${bytes.toString("base64").slice(0, 4000)}`, { cause: error });
    }
  }
}

/** Throws what is not an error of these classes. */
function only(classes: readonly (new (...args: never[]) => Error)[], work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!classes.some((one) => error instanceof one)) throw error;
  }
}

/** Pieces of random lengths. */
function* pieces(bytes: Buffer, next: () => number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + Math.floor(next() ** 3 * bytes.length);
    yield Buffer.from(bytes.subarray(at, end));
    at = end;
  }
}

function same(a: unknown, b: unknown): void {
  if (!Bun.deepEquals(a, b)) throw new Error(`${JSON.stringify(a)} and ${JSON.stringify(b)} differ`);
}

function lines(): Target {
  const call = (id: number | string, method: string, params: object) =>
    `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
  const all = [
    call(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a", version: "1" } }),
    call("two", "tools/call", { name: "svc_search", arguments: { collection: "c", query: 'x "quoted" \\ é', id: 3 } }),
    `\r\n \t\n{"params":{"id":1},"id":7}\n${call(4, "ping", {})}`,
  ];
  return {
    seeds: [Buffer.from(all.join("")), ...all.map((line) => Buffer.from(line))],
    words: [...JSON_WORDS, "\n", '"id":', "\r\n"],
    check(bytes, next) {
      const limit = 20 + Math.floor(next() * 300);
      const split = (parts: Iterable<Buffer>) => {
        const splitter = new LineSplitter(limit);
        return [...parts].flatMap((part) => [...splitter.push(part)].map((line) => shown(line)));
      };
      same(split(pieces(bytes, next)), split([bytes]));
      for (const line of new LineSplitter(1e6).push(Buffer.concat([bytes, Buffer.from("\n")]))) {
        if (!(line instanceof Uint8Array) || isBlank(line)) continue;
        const id = topLevelId(line);
        if (id !== undefined && typeof id !== "string" && typeof id !== "number")
          throw new Error(`the id is a ${typeof id}`);
        isTooDeep(line, 8);
      }
    },
  };
}

function shown(line: Uint8Array | { head: Uint8Array; tail: Uint8Array }): string {
  return line instanceof Uint8Array ? `line ${Buffer.from(line).toString("hex")}` : "too long";
}

function frames(): Target {
  const bodies = ['{"op":"ping"}', '{"op":"add","collection":"c","args":{"vectors":[[1,2]],"ids":["a"]},"id":1}', "x"];
  return {
    seeds: [Buffer.concat(bodies.map(encodeFrame)), encodeFrame("y".repeat(3000))],
    words: ["\0\0\0\u0001", "\0\0\0\0", "\0\0\u0010\0"],
    check(bytes, next) {
      const read = (parts: Iterable<Buffer>) => {
        const reader = new FrameReader(4096);
        const out: string[] = [];
        only([FrameError], () => {
          for (const part of parts) {
            reader.push(part);
            for (let body = reader.next(); body; body = reader.next()) out.push(body.toString("hex"));
            if (reader.bufferedBytes > 3 * 4096 + bytes.length)
              throw new Error(`${reader.bufferedBytes} bytes are held`);
          }
        });
        return out;
      };
      same(read(pieces(bytes, next)), read([Buffer.from(bytes)]));
    },
  };
}

function requests(): Target {
  const all = [
    '{"op":"search","collection":"notes","args":{"vector":[0.5,-1e3],"k":3,"where":{"a":1}},"id":"1"}',
    '{"op":"add","args":{"vectors":[[NaN,1],[Infinity,-Infinity]],"metadata":[{"a\\"b":[{}]}]},"id":2}',
  ];
  return {
    seeds: all.map((text) => Buffer.from(text)),
    words: [...JSON_WORDS, '"op":"ping"', "[".repeat(70)],
    check: (bytes) =>
      only([BadRequest, RefusedRequest], () => {
        const { op } = parseRequest(bytes);
        if (typeof op !== "string") throw new Error(`op is a ${typeof op}`);
      }),
  };
}

function argumentsOfVerbs(): Target {
  const verbs = Object.keys(SCHEMAS) as VerbName[];
  const all = {
    collection: "notes",
    name: "notes",
    query: "q",
    ids: ["a", 7],
    texts: ["t", "u"],
    metadata: [{ scope: "a", n: 1.5 }, null],
    where: { scope: "a" },
    top_k: 5,
    max_bytes: 4000,
    since: "2026-01-01",
    recency: { field: "updated", half_life_days: 3, weight: 0.1 },
    filter_columns: ["x"],
    dtype: "int8",
    k1: 1.2,
    after: "id",
    path: "src",
  };
  const pairs = Object.entries(all);
  const seeds = pairs.map((_, i) =>
    JSON.stringify(Object.fromEntries(pairs.filter((__, k) => k <= 1 || (k * 7 + i) % 3 > 0))),
  );
  return {
    seeds: seeds.map((text) => Buffer.from(text)),
    words: [...JSON_WORDS, "-1", "0.5", "1e300", '"constructor":', "{}", "[]"],
    check(bytes, next) {
      let value: unknown;
      try {
        value = JSON.parse(bytes.toString());
      } catch {
        return;
      }
      const verb = verbs[Math.floor(next() * verbs.length)]!;
      only([ValueError, ArgumentTypeError], () => void parseArguments(verb, value));
    },
  };
}

function logs(): Target {
  const folder = scratchDir();
  const path = join(folder, "log");
  const windows = { from: 0, hashes: Float64Array.of(5, 6), lines: Uint32Array.of(1, 41) };
  const text = { kind: "text", chunks: 2, mark: 1e12, hash: 77 } as const;
  const records = new Map([
    ["src/a.ts", { ...text, windows }],
    ["é/b", { ...text, hash: 0 }],
    ["gone", undefined],
  ]);
  createLog(path, { repoId: "0123456789abcdef", root: "/r", device: 3 }, records);
  const seed = readFileSync(path);
  return {
    seeds: [seed],
    words: ['{"format":3,', '"repoId":', "\0", "SFP3", "\u0010\0\0\0", "\n"],
    check(bytes) {
      writeFileSync(path, bytes);
      const files = new Map();
      readLog(path, "0123456789abcdef", { bytes: bytes.length, sum: crc32(bytes) }, files);
      for (const [name, file] of files) {
        if (typeof name !== "string" || !(file.chunks >= 0)) throw new Error(`a record of ${JSON.stringify(name)}`);
      }
      readHead(path);
    },
  };
}

function configurations(): Target {
  const text = `[core]\n\tbare = false ; a comment\n\tExcludesFile = "a \\"quoted\\" path\\n" \\\n  more\n[remote "or\\"igin"]\n url=x\n[a.b]c\n`;
  return {
    seeds: [Buffer.from(text)],
    words: ["[", "]", '"', "\\", "\n", "=", "[include]\n\tpath = x\n", "#", "\r\n", "\ufeff"],
    check(bytes) {
      for (const { value } of parseConfig(bytes.toString("latin1")) as { value?: unknown }[]) {
        if (value !== undefined && value !== null && !["string", "boolean"].includes(typeof value))
          throw new Error("a value");
      }
    },
  };
}

function ignoreFiles(): Target {
  const text = "*.o\n!keep.o\n/build/\n**/gen/**\n[a-z]?x[!0-9]\n[[:alpha:]]*\n\\#not\nfoo\\ \nÃ©/*\n";
  const paths = ["a.o", "keep.o", "build", "src/gen/x/y", "bax5", "foo ", "a/b/c/d/e/f/g"];
  return {
    seeds: [Buffer.from(text)],
    words: ["*", "**", "?", "[", "]", "[!", "\\", "/", "!", "[[:", ":]]", "\n", "-"],
    check(bytes, next) {
      const file = new IgnoreFile(bytes.toString("latin1"), next() < 0.5);
      for (const path of paths) file.verdict(path, next() < 0.5);
    },
  };
}

function releases(): Target {
  const all = [manifestOf(), manifestOf({ platforms: { "macos-arm64": manifestOf().platforms["macos-arm64"] } })];
  return {
    seeds: all.map((manifest) => Buffer.from(JSON.stringify(manifest))),
    words: [
      ...JSON_WORDS,
      '"purpose":"svc-release",',
      '"0.0.0"',
      "1.5",
      "-1",
      '"__proto__":{},',
      "2026-02-30T00:00:00Z",
    ],
    check: (bytes) =>
      only([RuntimeError], () => {
        // Nothing is accepted that is not in the result: an unknown member would be signed, and never read.
        const manifest = parseReleaseManifest(bytes);
        same(manifest, JSON.parse(bytes.toString()));
        same(parseReleaseManifest(Buffer.from(JSON.stringify(manifest))), manifest);
      }),
  };
}

function indexes(): Target {
  const top = scratchDir();
  const git = (...words: string[]) => Bun.spawnSync(["git", "-C", top, "-c", "core.hooksPath=/dev/null", ...words]);
  if (Bun.which("git") === null || !git("init", "-q").success) return { seeds: [], words: [], check() {} };
  for (const name of ["a.txt", "src/b.ts", "src/deep/c.ts", "é"]) {
    mkdirSync(join(top, name, ".."), { recursive: true });
    writeFileSync(join(top, name), name);
  }
  const seeds = [2, 4].map((version) => {
    git("update-index", "--index-version", String(version));
    git("add", "-A");
    return readFileSync(join(top, ".git/index"));
  });
  return {
    seeds,
    words: ["DIRC", "TREE", "link", "\0\0\0\u0004", "\0\0\0\u0002", "\u007f\uffff", "../", ".git"],
    check(bytes) {
      only([IndexError], () => {
        const { names, kinds } = parseIndex(bytes, 20);
        if (names.length !== kinds.length) throw new Error(`${names.length} names of ${kinds.length} entries`);
        const bad = names.find((name) => /(^|\/)(\.\.?|\.git)(\/|$)/i.test(name) || name.startsWith("/"));
        if (bad !== undefined) throw new Error(`the name ${JSON.stringify(bad)}`);
      });
    },
  };
}
