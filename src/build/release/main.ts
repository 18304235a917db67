#!/usr/bin/env bun
/** `npm run release`: builds the executables and makes the files of a release in dist/release. It publishes nothing. */
import { join } from "node:path";
import { SvcError } from "../../errors.ts";
import { type PlatformTag, platformTag } from "../../paths.ts";
import { packagesIn } from "../executable.ts";
import { commitOf, createdTime } from "../release.ts";
import { releaseKey } from "../release-keys.ts";
import { BuildError } from "../step.ts";
import { tooLarge } from "./files.ts";
import { makeRelease } from "./make.ts";
import { HELP, type ReleaseOptions, readOptions } from "./options.ts";

const ROOT = join(import.meta.dir, "../../..");

try {
  const options = readOptions(process.argv.slice(2));
  if (options) await release(options);
  else console.log(HELP);
} catch (error) {
  if (!(error instanceof BuildError || error instanceof SvcError)) throw error;
  console.error(error.message);
  process.exit(1);
}

async function release(options: ReleaseOptions): Promise<void> {
  const { releaseKey: file, endKeys, platforms, signMacos, ...named } = options;
  await buildAll(options);
  if (signMacos && platforms.includes("macos-arm64")) await signed(signMacos, builtPath("macos-arm64"));
  const folder = join(ROOT, "dist", "release");
  const executables = Object.fromEntries(platforms.map((tag) => [tag, builtPath(tag)]));
  const packages = [...new Set(platforms.flatMap((tag) => packagesIn(join(ROOT, ".build"), builtPath(tag))))].sort();
  const key = releaseKey(ROOT, { file });
  const created = createdTime(ROOT);
  const facts = {
    root: ROOT,
    folder,
    executables,
    packages,
    ...named,
    created,
    ends: endKeys,
    key,
    log: console.log,
  };
  await makeRelease(facts);
  console.log(`release ${named.version} (${named.release}) is in dist/release`);
  for (const sentence of tooLarge(folder)) console.log(`  ${sentence}`);
  if (file === undefined && !process.env.SVC_RELEASE_KEY && !process.env.SVC_RELEASE_KEY_FILE)
    console.log("  it is signed by this checkout's development key: good for a rehearsal, not for publication");
  const commit = commitOf(ROOT);
  if (!commit || commit.endsWith("-dirty"))
    console.log("  the checkout has changes or no commit: these bytes cannot be made again from a commit");
}

/** Runs build.ts, which prints its own steps. @throws BuildError where it fails, after it has said why */
async function buildAll(options: ReleaseOptions): Promise<void> {
  const { version, release, platforms, releaseKey, endKeys } = options;
  const words = ["--version", version, "--release", String(release)];
  for (const tag of platforms) words.push("--platform", tag);
  for (const id of endKeys) words.push("--end-key", id);
  if (releaseKey) words.push("--release-key", releaseKey);
  const command = [process.execPath, join(ROOT, "build.ts"), ...words];
  const child = Bun.spawn(command, { cwd: ROOT, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  if ((await child.exited) === 0) return;
  const host = platformTag();
  const others = platforms.some((tag) => tag !== host);
  const hint = others ? `; if it lacks the Bun of another platform, --platforms ${host} does without` : "";
  throw new BuildError(`the build failed${hint}`);
}

/** Runs a program that signs an executable in place. @throws BuildError where it fails, after it has said why */
async function signed(program: string, executable: string): Promise<void> {
  const child = Bun.spawn([program, executable], { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new BuildError(`${program} did not sign the executable for macOS`);
}

/** Where build.ts puts the executable of a platform. */
function builtPath(tag: PlatformTag): string {
  return tag === platformTag() ? join(ROOT, "dist", "svc") : join(ROOT, "dist", tag, "svc");
}
