/**
 * Compiles C to shared libraries, for all three platforms from any of them. `zig cc` has compiler, linker and the C
 * library's stubs, so that no system package is needed. Every object and library is cached under a hash of its inputs:
 * a build without changes reads a few hundred kilobytes and starts no compiler.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { libraryExtension, type PlatformTag } from "../paths.ts";
import { Crash, compilerCommand, type ZigOptions, zig } from "./compiler.ts";
import { BuildError, hash } from "./step.ts";
import { madeHeaders } from "./tables/tables.ts";

/** The two libraries and their folders under `ffi`. */
export const LIBRARIES = [
  { folder: "ame_kernel", name: "libame_kernel", versionScript: "ame.map" },
  { folder: "ty_runtime", name: "libty_runtime", versionScript: "ty.map" },
] as const;
type Library = (typeof LIBRARIES)[number];

/** At least glibc 2.17 or macOS 13. */
export const ZIG_TARGET: Record<PlatformTag, string> = {
  "linux-x86_64": "x86_64-linux-gnu.2.17",
  "linux-arm64": "aarch64-linux-gnu.2.17",
  "macos-arm64": "aarch64-macos.13.0",
};

const AVX2 = ["-mavx2", "-mfma", "-mf16c", "-mcrc32", "-mpopcnt"];
const AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni", ...AVX2];
const VBMI2 = ["-mavx512vbmi2", "-mavx512vpopcntdq", ...AVX512];
/** By the features' names: zig knows no `-march=armv8.2-a`, and gcc and clang take these as well. */
const NEON_DOT = ["-mcpu=generic+dotprod+crc"];

/** Files of one CPU path get that CPU's instructions; no other file does, so that every library starts on every CPU. */
const ISA_FLAGS: Record<string, { arch: "x86_64" | "arm64"; flags: string[] }> = {
  "avx2.c": { arch: "x86_64", flags: AVX2 },
  "avx512.c": { arch: "x86_64", flags: AVX512 },
  "vbmi2.c": { arch: "x86_64", flags: VBMI2 },
  "neon.c": { arch: "arm64", flags: [] },
  "neon_dot.c": { arch: "arm64", flags: NEON_DOT },
};

/** Compilers at a time: each takes a core and some hundred megabytes. */
const PARALLEL_MAX = 2;
/** Other orders of objects in which a linker that crashed is tried again. */
const TURNS_MAX = 4;
const STALE_MS = 3 * 24 * 3600 * 1000;

/** `root` holds `ffi/ame_kernel` and `ffi/ty_runtime`; objects and libraries go below `cache`. */
export interface NativeOptions extends ZigOptions {
  tag: PlatformTag;
}

/** Paths of the finished libraries under the cache. */
export interface NativeLibraries {
  kernel: string;
  runtime: string;
  /** Files that had to be compiled. */
  compiled: number;
}

/** Compiles and links both libraries for one platform. @throws BuildError with the compiler's output */
export async function buildNative(options: NativeOptions): Promise<NativeLibraries> {
  const plans = planAll(options, "shipped");
  const compiled = await compileAll(plans, options);
  const [kernel, runtime] = await Promise.all(plans.map((plan) => link(plan, options)));
  return { kernel: kernel!, runtime: runtime!, compiled };
}

/**
 * Sources of both libraries for this CPU architecture with the include folders and extra flags of each, for another
 * compiler.
 */
export function nativeSources(options: NativeOptions): { source: string; flags: string[] }[] {
  return LIBRARIES.flatMap((library) =>
    planLibrary(library, "", options, "shipped").objects.map(({ source }) => ({
      source,
      flags: [...includesOf([library], options), ...(ISA_FLAGS[basename(source)]?.flags ?? [])],
    })),
  );
}

interface ObjectPlan {
  source: string;
  flags: string[];
  path: string;
}

interface LibraryPlan {
  library: Library;
  objects: ObjectPlan[];
  versionScript: string;
}

/**
 * As they ship; with ffi/ty_runtime/os/assert.h switched on; or with that and a counter at each edge, which takes the
 * program's own `__sanitizer_cov_8bit_counters_init`.
 */
export type Variant = "shipped" | "asserting" | "counting";

/** The objects of both libraries, by their paths in the cache; nothing is compiled. */
export function planAll(options: NativeOptions, variant: Variant): LibraryPlan[] {
  const headers = hashHeaders(options.root);
  return LIBRARIES.map((library) => planLibrary(library, headers, options, variant));
}

function planLibrary(library: Library, headers: string, options: NativeOptions, variant: Variant): LibraryPlan {
  const { root, cache, tag } = options;
  // The kernel has no asserts: its objects serve both.
  const own = variant === "shipped" || library.folder !== "ty_runtime" ? "" : `-${variant}`;
  const place = join(cache, tag, `${library.folder}${own}`);
  const folder = join(root, "ffi", library.folder);
  const arch = tag === "linux-x86_64" ? "x86_64" : "arm64";
  const includes = includesOf([library], options);
  const objects = filesOf(folder, /\.c$/)
    .filter((file) => (ISA_FLAGS[basename(file)]?.arch ?? arch) === arch)
    .map((file) => {
      const flags = [...compileFlags(tag), ...includes, ...(ISA_FLAGS[basename(file)]?.flags ?? [])];
      if (own !== "") flags.push("-DTY_ASSERTS");
      if (own === "-counting") flags.push("-O1", "-fsanitize-coverage=inline-8bit-counters");
      const key = hash(readFileSync(join(folder, file)), headers, ...flags);
      const path = join(place, `${file.slice(0, -2).replaceAll("/", "-")}-${key}.o`);
      return { source: `ffi/${library.folder}/${file}`, flags, path };
    });
  if (objects.length === 0) throw new BuildError(`ffi/${library.folder} holds no C file for ${tag}`);
  return { library, objects, versionScript: join(folder, library.versionScript) };
}

/**
 * `-ffp-contract=off`: without it the compiler fuses a*b+c on arm64 and not on x86-64, and the same text would have
 * different vectors. Intrinsics for a fused operation are not affected. `-fno-math-errno`: errno of a square root is
 * never read, and setting it prevents vectorised loops.
 */
export function compileFlags(tag: PlatformTag): string[] {
  const system = tag === "macos-arm64" ? ["-D_DARWIN_C_SOURCE"] : ["-D_GNU_SOURCE"];
  const language = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-O3",
    // Libraries are stripped anyway, and zig would write debug information: a fifth of the compiling.
    "-g0",
    // Nothing unwinds the stack of C code, and these tables are 6 % of a library, which every process reads and hashes.
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
  ];
  return ["-target", ZIG_TARGET[tag], ...language, ...system];
}

/** Headers are named from the root of their library; the runtime uses the kernel's too, and its own come first. */
export function includesOf(libraries: readonly Library[], { root, cache }: NativeOptions): string[] {
  const folders = new Set([...libraries.map(({ folder }) => folder), "ame_kernel"]);
  return [...[...folders].map((folder) => `ffi/${folder}`), relative(root, madeHeaders(cache))].map(
    (path) => `-I${path}`,
  );
}

/** Compiles what is not there yet; returns how many files that were. */
export async function compileAll(plans: LibraryPlan[], options: NativeOptions): Promise<number> {
  const objects = plans.flatMap((plan) => plan.objects);
  const compiled = await compileMissing(objects, options);
  for (const plan of plans) removeStale(plan.objects);
  return compiled;
}

/** Compiles the objects that are not in the cache; returns how many files that were. */
export async function compileMissing(objects: ObjectPlan[], options: NativeOptions): Promise<number> {
  const missing = objects.filter(({ path }) => !existsSync(path));
  await inParallel(missing, (object) => compile(object, options));
  return missing.length;
}

async function compile(object: ObjectPlan, options: NativeOptions): Promise<void> {
  mkdirSync(dirname(object.path), { recursive: true });
  // Relative names and the prefix map keep the checkout's path out of the object: the same source gives the same bytes.
  const flags = [...object.flags, `-ffile-prefix-map=${options.root}=.`];
  const command = await compilerCommand(flags, object.source, options);
  await produce(object.path, (path) => zig(options, command(object.source, path)));
}

async function link(plan: LibraryPlan, options: NativeOptions): Promise<string> {
  const { library, objects } = plan;
  const { tag, cache } = options;
  const file = `${library.name}.${libraryExtension(tag)}`;
  const inputs = objects.map(({ path }) => path);
  const stable = join(cache, tag, file);
  if (tag !== "macos-arm64" && !existsSync(plan.versionScript)) {
    throw new BuildError(`ffi/${library.folder}/${library.versionScript} is missing`);
  }
  const script = `-Wl,--version-script=${plan.versionScript}`;
  const elf = ["-shared", "-s", "-lm", "-lpthread", `-Wl,-soname,${file}`, "-Wl,-z,relro,-z,now,-z,defs"];
  // `zig cc -shared` for macOS exports compiler-rt's symbols; `build-lib -fno-compiler-rt` does not.
  const macho = [
    "-dynamic",
    "-lc",
    "-fno-compiler-rt",
    "-O",
    "ReleaseFast",
    "-fstrip",
    "-fPIC",
    "--name",
    library.folder,
  ];
  const install = ["-install_name", `@loader_path/${file}`];
  const isMac = tag === "macos-arm64";
  const names = inputs.map((path) => basename(path));
  const versionScript = isMac ? "" : readFileSync(plan.versionScript);
  const key = hash(versionScript, ZIG_TARGET[tag], ...(isMac ? [...macho, ...install] : elf), ...names);
  const linked = join(cache, tag, library.folder, `${library.name}-${key}.${libraryExtension(tag)}`);
  if (!existsSync(linked)) {
    await produce(linked, (path) =>
      isMac
        ? inTurns(inputs, (order) =>
            zig(options, [
              "build-lib",
              "-target",
              ZIG_TARGET[tag],
              ...macho,
              ...install,
              ...order,
              `-femit-bin=${path}`,
            ]),
          )
        : zig(options, ["cc", "-target", ZIG_TARGET[tag], ...inputs, ...elf, script, "-o", path]),
    );
  }
  await produce(stable, async (path) => copyFileSync(linked, path));
  return stable;
}

/**
 * zig's linker for macOS writes past a buffer of its own for one order of objects in some ten, and its allocator ends it
 * then: the next order begins with the second object. What is linked does not depend on the order.
 */
async function inTurns(inputs: string[], make: (order: string[]) => Promise<void>): Promise<void> {
  for (let turn = 0; ; turn++) {
    try {
      return await make([...inputs.slice(turn), ...inputs.slice(0, turn)]);
    } catch (error) {
      if (!(error instanceof Crash) || turn === TURNS_MAX) throw error;
    }
  }
}

/** Makes a file under a temporary name first: another build may use the same cache. */
export async function produce(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(dirname(path), `.${process.pid}-${Math.random().toString(36).slice(2)}-${basename(path)}`);
  try {
    await make(temporary);
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
    rmSync(`${temporary}.o`, { force: true }); // left by `zig build-lib`
  }
}

/** Files below a folder whose name matches, relative to it, sorted; none where there is no folder. */
export function filesOf(folder: string, name: RegExp): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.filter((file) => name.test(file)).sort();
}

/** A hash of all headers of both libraries. */
export function hashHeaders(root: string): string {
  const parts: (string | Uint8Array)[] = [];
  for (const { folder } of LIBRARIES) {
    const path = join(root, "ffi", folder);
    for (const file of filesOf(path, /\.h$/)) parts.push(`${folder}/${file}`, readFileSync(join(path, file)));
  }
  return hash(...parts);
}

async function inParallel<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL_MAX }, worker));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
}

/** Removes objects of earlier sources after some days: until then a change back needs no compiler. */
export function removeStale(objects: ObjectPlan[]): void {
  const folder = dirname(objects[0]!.path);
  const current = new Set(objects.map(({ path }) => basename(path)));
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (
      !current.has(name) &&
      Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > STALE_MS
    ) {
      rmSync(path, { force: true });
    }
  }
}
