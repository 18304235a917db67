/**
 * Bun reads variables of the environment before the first line of ours runs, and some of them make it run, write or
 * print what the starter of svc did not ask for. Their names are changed, at equal length, in the copy of Bun that is
 * compiled in, so that setting them does nothing. No flag of `bun build --compile` does that, and clearing them and
 * starting again would double the time of a start.
 *
 * Where a version of Bun keeps its names is not documented: each has to be found exactly once, as a C string or as the
 * comparisons that were read in the machine code, else the build ends.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlatformTag } from "../paths.ts";
import { BuildError, hash } from "./step.ts";

/** Names that Bun looks up with getenv(3), and what each would do to svc. */
const LOOKED_UP = [
  "BUN_BE_BUN", // svc is Bun: `svc run evil.ts` runs the file
  "BUN_OPTIONS", // Bun's own flags: --preload, --version, --cpu-prof
  "BUN_INSPECT", // ends svc, as an inspector needs code from strings
  "BUN_INSPECT_CONNECT_TO", // a warning on stderr
  "BUN_INSPECT_PRELOAD", // like --preload
  "BUN_BYTECODE_ORDER_OUT", // writes over the file that it names
  "BUN_BYTECODE_ORDER_NAMES_OUT",
  "BUN_BYTECODE_DIGEST_OUT",
  "BUN_CRASH_REPORT_URL", // where a report goes when svc crashes; one is sent whatever switches reports off
];

/** Switches such reports on. Not on macOS: there they are on, and `silenceCrashReports` sets this name to 0. */
const REPORTS = "BUN_ENABLE_CRASH_REPORTING";

/** Begins the names of the JavaScript engine's options, which dump to stderr and into files, or end svc. */
const ENGINE = "BUN_JSC_";

/**
 * What the first letter of a name becomes. No shell sets a variable whose name begins so. Further on it would end the
 * name: getenv of `BUN=OPTIONS` finds the variable `BUN` where its value begins with `OPTIONS=`.
 */
const INSTEAD = "=".charCodeAt(0);

/** The names that do nothing in the executable for a platform; ENGINE stands for all that begin with it. */
export function closedNames(tag: PlatformTag): string[] {
  return [...LOOKED_UP, ...(tag === "macos-arm64" ? [] : [REPORTS]), ENGINE];
}

/**
 * Changes the names in the bytes of Bun's executable.
 * @throws BuildError where a name is not where it is known to be; nothing has changed then
 */
export function closeNames(bun: Buffer, tag: PlatformTag): void {
  const strings = closedNames(tag).filter((name) => name !== ENGINE);
  const letters = strings.map((name) => 1 + only(name, occurrences(bun, Buffer.from(`\0${name}\0`))));
  const x86 = tag === "linux-x86_64";
  const comparison = only(ENGINE, x86 ? comparisonsX86(bun) : comparisonsArm(bun));
  for (const at of letters) bun[at] = INSTEAD;
  if (x86) bun[comparison + X86_CONSTANT] = INSTEAD;
  else bun.writeUInt32LE(armConstant(bun.readUInt32LE(comparison), INSTEAD), comparison);
}

/**
 * A copy of Bun in which the names are changed; made once for each version.
 * @param source Bun's executable for the platform: the running one (`process.execPath` is never a wrapper) or another
 * @returns the path of the copy, below `cache`
 * @throws BuildError where this version of Bun keeps its names elsewhere
 */
export function bunWithClosedNames(cache: string, source: string, tag: PlatformTag): string {
  const { size, mtimeMs } = statSync(source);
  const all = join(cache, "bun");
  const version = `${tag}-${Bun.version}-closed-`;
  const folder = join(all, version + hash(`${size} ${mtimeMs}`, readFileSync(import.meta.path)));
  const path = join(folder, "bun");
  if (existsSync(path)) return path;
  const bytes = readFileSync(source);
  closeNames(bytes, tag);
  const work = join(all, `.${tag}-${process.pid}`);
  try {
    mkdirSync(work, { recursive: true });
    writeFileSync(join(work, "bun"), bytes, { mode: 0o755 });
    for (const old of readdirSync(all)) if (old.startsWith(version)) rmSync(join(all, old), { recursive: true });
    renameSync(work, folder);
  } catch (error) {
    if (!existsSync(path)) throw error; // else another build was first
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return path;
}

/**
 * Runs a finished executable with every closed name set, each in a way that would change what `svc version` does.
 * @throws BuildError where it does not print that and nothing else
 */
export function proveClosed(executable: string, tag: PlatformTag, scratch: string): void {
  const written = join(scratch, "written");
  const env: Record<string, string> = {
    BUN_BE_BUN: "1",
    BUN_OPTIONS: "--version",
    BUN_INSPECT: "127.0.0.1:0",
    BUN_INSPECT_CONNECT_TO: "ws://127.0.0.1:1",
    BUN_INSPECT_PRELOAD: join(scratch, "nothing.ts"),
    BUN_BYTECODE_ORDER_OUT: written,
    BUN_BYTECODE_ORDER_NAMES_OUT: written,
    BUN_BYTECODE_DIGEST_OUT: written,
    BUN_JSC_noSuchOption: "1",
  };
  const { stdout, stderr, exitCode } = Bun.spawnSync([executable, "version"], { cwd: scratch, env, timeout: 60_000 });
  const said = `${stdout}${stderr}`.trim();
  if (exitCode !== 0 || !/^svc \S+ \([^\n]*\)$/.test(said) || existsSync(written)) {
    throw new BuildError(`Bun ${Bun.version} obeys a variable of the environment in svc (${tag}): ${said}`);
  }
}

function only(name: string, places: number[]): number {
  if (places.length === 1) return places[0]!;
  throw new BuildError(
    `Bun ${Bun.version} has the name ${name} at ${places.length} places, and not at one as the version that ` +
      "src/build/bun-names.ts was written for: find out what reads it",
  );
}

function occurrences(bytes: Buffer, what: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(what); at >= 0; at = bytes.indexOf(what, at + 1)) places.push(at);
  return places;
}

/** Where `cmpb $'B',(%r14)` stands with its constant. */
const X86_CONSTANT = 3;

/** Places in the machine code that compare the bytes at r14 with ENGINE, one after the other. */
function comparisonsX86(code: Buffer): number[] {
  const JNE = 0x75;
  const JUMP_BYTES = 2;
  const start = [0x41, 0x80, 0x3e, ENGINE.charCodeAt(0), JNE];
  return occurrences(code, Buffer.from(start)).filter((place) => {
    let at = place + start.length - 1 + JUMP_BYTES;
    for (let i = 1; i < ENGINE.length; i++) {
      const comparison = Buffer.from([0x41, 0x80, 0x7e, i, ENGINE.charCodeAt(i), JNE]);
      if (!code.subarray(at, at + comparison.length).equals(comparison)) return false;
      at += comparison.length - 1 + JUMP_BYTES;
    }
    return true;
  });
}

/** Places of the first `cmp w,#'B'` of eight groups `ldrb w,[x,#i]; cmp w,#ENGINE[i]; b.ne`, whatever the registers. */
function comparisonsArm(code: Buffer): number[] {
  const GROUP = 3;
  const words = new Uint32Array(code.buffer, code.byteOffset, Math.floor(code.length / 4));
  const isGroup = (at: number, i: number) =>
    ((words[at - 1] ?? 0) & 0xfffffc00) >>> 0 === (0x39400000 | (i << 10)) >>> 0 &&
    ((words[at] ?? 0) & 0xfffffc1f) >>> 0 === armConstant(0x7100001f, ENGINE.charCodeAt(i)) &&
    ((words[at + 1] ?? 0) & 0xff00001f) >>> 0 === 0x54000001;
  const places: number[] = [];
  for (let at = 1; at < words.length; at++) {
    if (isGroup(at, 0) && Array.from(ENGINE).every((_, i) => isGroup(at + GROUP * i, i))) places.push(at * 4);
  }
  return places;
}

/** The instruction `cmp w,#constant` with another constant: 12 bits from bit 10. */
function armConstant(instruction: number, constant: number): number {
  return ((instruction & ~(0xfff << 10)) | (constant << 10)) >>> 0;
}
