/** The copy of Bun that is compiled in: which bytes of it are changed, and that what was made of it for macOS is signed. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedNames, closeNames, proveClosed } from "../src/build/bun-names.ts";
import { foreignBunPath } from "../src/build/executable.ts";
import { PLATFORM_TAGS, type PlatformTag, platformTag } from "../src/paths.ts";

const ROOT = join(import.meta.dir, "..");
const host = platformTag()!;
const executableFor = (tag: string) => join(ROOT, "dist", tag, "svc");
const bunFor = (tag: PlatformTag) => (tag === host ? process.execPath : foreignBunPath(join(ROOT, ".build"), tag));
const namesOf = (bytes: Buffer) => closedNames(host).filter((name) => bytes.includes(`\0${name}\0`));

for (const tag of PLATFORM_TAGS) {
  const there = existsSync(bunFor(tag));
  test.skipIf(!there)(`Bun for ${tag}${there ? "" : " (bun build.ts --all)"}: one byte a name is changed`, () => {
    const bun = readFileSync(bunFor(tag));
    const before = Buffer.from(bun);
    expect(namesOf(bun).length).toBeGreaterThan(7);
    closeNames(bun, tag);
    const strings = closedNames(tag).filter((name) => name !== "BUN_JSC_");
    for (const name of strings) expect(bun.includes(`\0=${name.slice(1)}\0`)).toBe(true);
    expect(strings.filter((name) => bun.includes(`\0${name}\0`))).toEqual([]);
    // The comparison of the prefix is one instruction: one byte of its constant on x86-64, at most two on arm64.
    const changed = differences(before, bun);
    expect(changed).toBeGreaterThan(strings.length);
    expect(changed).toBeLessThanOrEqual(strings.length + 2);
    // What is changed is not found again: the places are known by what stands there.
    expect(() => closeNames(bun, tag)).toThrow(/has the name BUN_BE_BUN at 0 places/);
  });
}

test("a Bun with a name at another number of places is refused, and nothing of it has changed", () => {
  const bun = readFileSync(process.execPath);
  const twice = Buffer.concat([bun, Buffer.from("\0BUN_OPTIONS\0")]);
  const before = Buffer.from(twice);
  expect(() => closeNames(twice, host)).toThrow(/^Bun \S+ has the name BUN_OPTIONS at 2 places, and not at one/);
  expect(twice.equals(before)).toBe(true);
});

test("a Bun that obeys its variables does not pass for a finished executable", () => {
  const scratch = mkdtempSync(join(tmpdir(), "svc-names-"));
  expect(() => proveClosed(process.execPath, host, scratch)).toThrow(/obeys a variable of the environment/);
});

const mac = executableFor("macos-arm64");
const hasMac = existsSync(mac);
test.skipIf(!hasMac)(
  `the executable for macOS is signed${hasMac ? "" : " (bun build.ts --all)"}: every page's hash is right`,
  () => {
    const bytes = readFileSync(mac);
    const { directory, at } = codeDirectory(bytes);
    const word = (offset: number) => directory.readUInt32BE(offset);
    const [flags, hashes, pages, limit] = [word(12), word(16), word(28), word(32)];
    const [hashBytes, kind, pageBits] = [directory[36]!, directory[37]!, directory[39]!];
    expect(flags & 2).toBe(2); // ad hoc
    expect([hashBytes, kind]).toEqual([32, 2]); // SHA-256
    expect(limit).toBe(at); // all that stands before the signature
    expect(pages).toBe(Math.ceil(limit / 2 ** pageBits));
    for (let page = 0; page < pages; page++) {
      const start = page * 2 ** pageBits;
      const found = createHash("sha256")
        .update(bytes.subarray(start, Math.min(start + 2 ** pageBits, limit)))
        .digest();
      const kept = directory.subarray(hashes + page * hashBytes, hashes + (page + 1) * hashBytes);
      if (!found.equals(kept)) throw new Error(`page ${page} has another hash than the signature says`);
    }
  },
);

test.skipIf(!hasMac)(
  `the executable for macOS${hasMac ? "" : " (bun build.ts --all)"} is for arm64, from macOS 13 on, and loads the system's libraries only`,
  () => {
    const bytes = readFileSync(mac);
    const MH_EXECUTE = 2;
    const CPU_TYPE_ARM64 = 0x0100000c;
    expect([bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(12)]).toEqual([
      0xfeedfacf,
      CPU_TYPE_ARM64,
      MH_EXECUTE,
    ]);
    const LC_BUILD_VERSION = 0x32;
    const LC_LOAD_DYLIB = 0xc;
    const [version] = commandsOf(bytes, LC_BUILD_VERSION).map((at) => [
      bytes.readUInt32LE(at + 8), // platform: 1 is macOS
      bytes.readUInt32LE(at + 12) >>> 16, // the lowest version
    ]);
    expect(version).toEqual([1, 13]);
    const libraries = commandsOf(bytes, LC_LOAD_DYLIB).map((at) => {
      const start = at + bytes.readUInt32LE(at + 8);
      return bytes.toString("utf8", start, bytes.indexOf(0, start));
    });
    expect(libraries.length).toBeGreaterThan(0);
    for (const path of libraries) expect(path).toStartWith("/usr/lib/");
  },
);

function differences(a: Buffer, b: Buffer): number {
  expect(b.length).toBe(a.length);
  const STEP = 1 << 16;
  let count = 0;
  for (let start = 0; start < a.length; start += STEP) {
    const [x, y] = [a.subarray(start, start + STEP), b.subarray(start, start + STEP)];
    if (!x.equals(y)) for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) count++;
  }
  return count;
}

/** Where the load commands of a kind are in a Mach-O of 64 bits. */
function commandsOf(bytes: Buffer, kind: number): number[] {
  const HEADER = 32;
  const found: number[] = [];
  let at = HEADER;
  for (let left = bytes.readUInt32LE(16); left > 0; left--) {
    if (bytes.readUInt32LE(at) === kind) found.push(at);
    at += bytes.readUInt32LE(at + 4);
  }
  return found;
}

/** The code directory of a Mach-O's embedded signature, and where in the file the signature begins. */
function codeDirectory(bytes: Buffer): { directory: Buffer; at: number } {
  const LC_CODE_SIGNATURE = 0x1d;
  const [command] = commandsOf(bytes, LC_CODE_SIGNATURE);
  if (command === undefined) throw new Error("the executable has no signature");
  const at = bytes.readUInt32LE(command + 8);
  expect(bytes.readUInt32BE(at)).toBe(0xfade0cc0); // the list of parts; the first is the code directory
  const directory = bytes.subarray(at + bytes.readUInt32BE(at + 16));
  expect(directory.readUInt32BE(0)).toBe(0xfade0c02);
  return { directory, at };
}
