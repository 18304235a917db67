/**
 * Compiles TypeScript and a bundle to one executable. The toolchain notes have the flags and what each was measured to
 * gain; those for safety: no `.env` and no `bunfig.toml` of the working directory, no code from strings, and the names of
 * variables that make Bun run something else are changed (`bun-names.ts`). A source map is left out: no one is shown a
 * stack, and it takes 1.6 MB.
 */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type BuildInfo, EMBEDDED_BUNDLE, NOTICES } from "../build-info.ts";
import { type PlatformTag, platformTag } from "../paths.ts";
import { bunWithClosedNames, proveClosed } from "./bun-names.ts";
import { bundleLate, LATE_FILES, lateModules } from "./late.ts";
import { bundledPackages, type Metafile, notices } from "./notices.ts";
import { fetchedPackage, fetchPackage } from "./packages.ts";
import { BuildError, hash, run } from "./step.ts";

/** Those that decide what is in the bundle. */
const BUNDLE = { target: "bun", minify: true, format: "esm", splitting: true } as const;

const COMPILE = {
  jitPolicy: 8,
  autoloadDotenv: false,
  autoloadBunfig: false,
  execArgv: ["--disallow-code-generation-from-strings=strict"],
} as const;

/** Bun's names for our platforms: the compile target, and the npm package of the executable. */
const BUN: Record<PlatformTag, { target: Bun.Build.CompileTarget; pack: string }> = {
  "linux-x86_64": { target: "bun-linux-x64", pack: "@oven/bun-linux-x64" },
  "linux-arm64": { target: "bun-linux-arm64", pack: "@oven/bun-linux-aarch64" },
  "macos-arm64": { target: "bun-darwin-arm64", pack: "@oven/bun-darwin-aarch64" },
};

/** Further entries: files that run on their own threads, each started by its path. */
const THREADS = ["remote/server/requests/decode-worker.ts"];

export interface ExecutableOptions {
  /** The checkout; its node_modules resolve the imports. */
  root: string;
  cache: string;
  /** Entry point, absolute. */
  entry: string;
  /** The signed bundle to embed, absolute. */
  bundle: string;
  /** Where the executable goes. */
  output: string;
  info: BuildInfo;
}

/** Compiles the executable unless its inputs are unchanged. @returns whether it was compiled */
export async function buildExecutable(options: ExecutableOptions): Promise<boolean> {
  const { root, cache, output, info } = options;
  const stamp = stampOf(cache, output);
  const key = inputsKey(options);
  if (isCurrent(stamp, key, output)) return false;
  const work = join(cache, "exe", `${info.platform}-${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    // A copy: build-info.ts looks for this base name, and another build may replace the original.
    const asset = join(work, EMBEDDED_BUNDLE);
    copyFileSync(options.bundle, asset);
    const entries = [options.entry, ...THREADS.map((file) => join(dirname(options.entry), file))];
    const define = { SVC_BUILD_INFO: JSON.stringify(info) };
    const late = await bundleLate(lateModules(root, entries), join(work, "late"), define);
    const common = { ...BUNDLE, entrypoints: entries, define, external: [LATE_FILES] };
    // The notices are in the executable and name what is in it, so that the packages are found before.
    const bundled = await bundle(root, work, { ...common, outdir: join(work, "out") });
    const texts = join(work, NOTICES);
    const named = [...new Set([...bundled, ...late.packages])].sort();
    writeFileSync(texts, Bun.zstdCompressSync(notices(root, named), { level: 19 }));
    const built = join(work, "svc"); // one base name always: it is part of the executable's bytes
    const isHost = info.platform === platformTag();
    const bun = isHost ? process.execPath : await foreignBun(root, cache, info.platform);
    const executablePath = bunWithClosedNames(cache, bun, info.platform);
    const target = isHost ? undefined : BUN[info.platform].target;
    const assets = [asset, texts, ...late.files];
    const compile = { ...COMPILE, execArgv: [...COMPILE.execArgv], assets, executablePath, target };
    const compiled = await bundle(root, work, { ...common, bytecode: true, compile: { ...compile, outfile: built } });
    if (!Bun.deepEquals(compiled, bundled)) {
      throw new BuildError(`the executable has the packages ${compiled}, and its notices name ${bundled}`);
    }
    if (isHost) {
      proveClosed(built, info.platform, work);
      renameSync(texts, join(cache, NOTICES)); // for svc that runs from source
    }
    mkdirSync(dirname(output), { recursive: true });
    renameSync(built, output);
    writeFileSync(stamp, JSON.stringify({ key, packages: named, ...identity(output) }));
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Folders of the npm packages in an executable that was built, relative to the checkout. */
export function packagesIn(cache: string, output: string): string[] {
  return JSON.parse(readFileSync(stampOf(cache, output), "utf8")).packages;
}

function stampOf(cache: string, output: string): string {
  return join(cache, "exe", `${hash(output)}.json`);
}

/** Runs the bundler. @returns folders of the packages that have bytes in what it made */
async function bundle(root: string, work: string, options: Bun.BuildConfig): Promise<string[]> {
  const metafile = join(work, "metafile.json");
  await run([process.execPath, join(import.meta.dir, "bundler.ts"), JSON.stringify(options), metafile], root);
  return bundledPackages(JSON.parse(readFileSync(metafile, "utf8")) as Metafile);
}

/** The same file under a second name, without a second copy where the file system can. */
export function alsoAs(path: string, name: string): void {
  mkdirSync(dirname(name), { recursive: true });
  const temporary = `${name}.${process.pid}.tmp`;
  try {
    linkSync(path, temporary);
  } catch {
    copyFileSync(path, temporary);
  }
  renameSync(temporary, name);
  rmSync(temporary, { force: true }); // rename(2) of two names of one file does nothing and keeps both
}

function inputsKey({ root, entry, bundle, info }: ExecutableOptions): string {
  const sources = [
    ...filesUnder(dirname(entry)),
    ...filesUnder(join(root, "ffi")).filter((path) => path.endsWith(".ts")),
  ];
  const lock = join(root, "package-lock.json");
  if (existsSync(lock)) sources.push(lock);
  const parts = sources.flatMap((path) => [path, readFileSync(path)]);
  const options = JSON.stringify([info, BUNDLE, COMPILE]);
  return hash(Bun.version, options, readFileSync(bundle), ...parts);
}

function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function isCurrent(stamp: string, key: string, output: string): boolean {
  try {
    const { size, mtime } = identity(output);
    const last = JSON.parse(readFileSync(stamp, "utf8"));
    return last.key === key && last.size === size && last.mtime === mtime;
  } catch {
    return false;
  }
}

function identity(path: string): { size: number; mtime: number } {
  const { size, mtimeMs } = statSync(path);
  return { size, mtime: mtimeMs };
}

/** Where a build of all platforms leaves Bun for another one. */
export function foreignBunPath(cache: string, tag: PlatformTag): string {
  return join(fetchedPackage(cache, BUN[tag].pack, Bun.version), "bin", "bun");
}

/** Bun for another platform. Its own implicit download ignores npm's configuration. */
async function foreignBun(root: string, cache: string, tag: PlatformTag): Promise<string> {
  await fetchPackage(root, cache, BUN[tag].pack, Bun.version, `which the executable for ${tag} needs`);
  return foreignBunPath(cache, tag);
}
