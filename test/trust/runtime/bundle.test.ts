import { describe, expect, test } from "bun:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { RuntimeError } from "../../../src/errors.ts";
import { type BundleEntry, BundleReader, packBundle } from "../../../src/trust/runtime/bundle.ts";
import { type RuntimeManifest, sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import { flipped } from "./fixture.ts";

const bytes = (length: number, fill = 7) => new Uint8Array(length).fill(fill);
const HEAD: BundleEntry[] = [
  { name: "telys_manifest.json", bytes: bytes(700) },
  { name: "telys_manifest.sig", bytes: bytes(384) },
];
const FILES: BundleEntry[] = [
  { name: "libame_kernel.so", bytes: bytes(100_000, 1) },
  { name: "empty", bytes: bytes(0) },
  { name: "pysite/a/b.py", bytes: bytes(512, 3) },
];

function manifestOf(files: BundleEntry[]): RuntimeManifest {
  const artifacts = files.map((file) => {
    return { name: file.name, sha256: sha256(file.bytes), size_bytes: file.bytes.length, role: "pysite" as const };
  });
  const rest = { created: "", expires: "", key_id: "", ends: [] };
  return { format_version: 2, version: "1.0.0", release: 1, platform: "linux-x86_64", ...rest, artifacts };
}

async function readAll(bundle: Uint8Array, files = FILES): Promise<string[]> {
  const reader = new BundleReader(bundle);
  try {
    const head = await reader.head();
    const names = [`${head.manifest.length}`, `${head.signature.length}`];
    for await (const { artifact } of reader.artifacts(manifestOf(files))) names.push(artifact.name);
    return names;
  } finally {
    reader.close();
  }
}

const good = packBundle([...HEAD, ...FILES]);
/** Changes the unpacked archive, then packs it again. */
function altered(change: (tar: Buffer) => Uint8Array): Uint8Array {
  return gzipSync(change(gunzipSync(good)));
}
/** Sets the header's checksum right again after a change. */
function reseal(tar: Buffer, at = 0): void {
  tar.fill(0x20, at + 148, at + 156);
  const sum = tar.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
  tar.write(sum.toString(8).padStart(6, "0") + "\0 ", at + 148, "latin1");
}

/** Writes text into a header and makes its checksum right, so that nothing but the text can be what is refused. */
function rewritten(at: number, text: string): Uint8Array {
  return altered((tar) => {
    tar.write(text, at, "latin1");
    reseal(tar, at - (at % 512));
    return tar;
  });
}
/** Sets one byte. */
function poked(at: number, byte: number): Uint8Array {
  return altered((tar) => {
    tar[at] = byte;
    return tar;
  });
}

test("what was packed is read, in any order, and packing is deterministic", async () => {
  expect(await readAll(good)).toEqual(["700", "384", "libame_kernel.so", "empty", "pysite/a/b.py"]);
  expect(await readAll(packBundle([...HEAD, ...FILES.toReversed()]))).toHaveLength(5);
  expect(packBundle([...HEAD, ...FILES])).toEqual(good);
});

test("what tar itself packs as ustar is read", async () => {
  const tar = gunzipSync(good);
  expect(await readAll(gzipSync(Buffer.concat([tar, bytes(5 * 512, 0)])))).toHaveLength(5);
});

describe("refused", () => {
  const second = 512 + 1024; // the header after the 700 bytes of the manifest
  const table: [string, Uint8Array][] = [
    ["the signature first", packBundle([...HEAD.toReversed(), ...FILES])],
    ["no head", packBundle(FILES)],
    ["a way up in a name", rewritten(0, "../../etc/passwd\0\0\0")],
    ["an absolute name", rewritten(0, "/telys_manifest.json")],
    ["a symbolic link", rewritten(second + 156, "2")],
    ["a hard link", rewritten(second + 156, "1")],
    ["a device", rewritten(second + 156, "3")],
    ["a pax extension", rewritten(second + 156, "x")],
    ["a link name", rewritten(second + 157, "x")],
    ["a prefix", rewritten(second + 345, "..")],
    ["a GNU archive", rewritten(second + 257, "ustar  \0")],
    ["a checksum that is wrong", poked(second + 3, 1)],
    ["a size in base 256", rewritten(second + 124, "\x80")],
    ["a size of 8 GiB", rewritten(second + 124, "77777777777")],
    ["a size with a sign", rewritten(second + 124, "-0000000001")],
    ["bytes after an entry", poked(512 + 701, 1)],
    ["bytes after the end", altered((tar) => Buffer.concat([tar, bytes(512, 9)]))],
    ["silence without end", altered((tar) => Buffer.concat([tar, bytes(1_000_000, 0)]))],
    ["no end", altered((tar) => tar.subarray(0, -1024))],
    ["half an end", altered((tar) => tar.subarray(0, -512))],
    ["a second archive", altered((tar) => Buffer.concat([tar, tar]))],
    ["damage inside the gzip stream", flipped(good)],
    ["a gzip stream cut by a byte", good.subarray(0, -1)],
    ["nothing", new Uint8Array(0)],
  ];
  for (const [name, bundle] of table) {
    test(name, () => expect(readAll(bundle)).rejects.toBeInstanceOf(RuntimeError));
  }

  test("a small file that unpacks to 256 MiB is refused after its header", async () => {
    const head = gunzipSync(packBundle(HEAD)).subarray(0, -1024);
    const bomb = gzipSync(Buffer.concat([head, Buffer.alloc(256 << 20)]), { level: 1 });
    const before = process.memoryUsage().rss;
    const reader = new BundleReader(bomb);
    expect((await reader.head()).signature).toHaveLength(384);
    reader.close();
    expect(process.memoryUsage().rss - before).toBeLessThan(64 << 20);
  });
});

test("of any bytes the reader reads what was packed or throws a RuntimeError", async () => {
  const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`bundle fuzz: SVC_FUZZ_SEED=${seed}`);
  let state = seed >>> 0;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // the generator of Numerical Recipes
    return Math.floor((state / 2 ** 32) * below);
  };
  const small = [{ name: "libame_kernel.so", bytes: bytes(600, 1) }];
  const tar = gunzipSync(packBundle([...HEAD, ...small]));
  let accepted = 0;
  for (let round = 0; round < 1500; round++) {
    let copy = Buffer.from(tar);
    for (let change = random(4); change >= 0; change--) {
      const at = random(copy.length);
      const kind = random(4);
      if (kind === 0) copy[at] = random(256);
      else if (kind === 1) copy = Buffer.from(copy.subarray(0, at));
      else if (kind === 2) copy = Buffer.concat([copy.subarray(0, at), copy.subarray(random(copy.length))]);
      else copy.copy(copy, at, random(copy.length), copy.length);
      if (copy.length === 0) break;
    }
    if (random(2) === 0 && copy.length >= 512) reseal(copy, random(copy.length >> 9) << 9);
    try {
      expect(await readAll(gzipSync(copy, { level: 1 }), small)).toHaveLength(3);
      accepted++;
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
    }
  }
  expect(accepted).toBeLessThan(1500);
});
