#!/usr/bin/env bun
/**
 * The build: C to libraries, libraries to a signed bundle, TypeScript and bundle to one executable.
 *
 *   bun build.ts                    dist/svc for this machine, dist/<tag>/runtime.bundle
 *   bun build.ts --native-only      libraries and bundle, no executable: enough for `bun test` and `bun src/main.ts`
 *   bun build.ts --all              dist/<tag>/svc and its bundle for all three platforms
 *   --platform TAG                  the same for this machine and the platform of that name
 *   bun build.ts --authority URL --license-pubkey FILE    an executable that trusts only this authority
 *   --release-key FILE              the private key that signs the bundle, instead of SVC_RELEASE_KEY or the checkout's
 *   --version V --release N         instead of those that package.json gives
 *   --expires DATE                  until when a packages server may offer the bundle, instead of for two years
 *   --end-key ID                    the release key of that id ends with this release; the build prints the ids
 *
 * What it leaves: `.build` (caches, libraries, build-info.json for running from source) and `dist`. The steps are in src/build.
 */
import { createPublicKey } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { abiVersion } from "./ffi/system/map.ts";
import { buildNative } from "./src/build/compile.ts";
import { alsoAs, buildExecutable } from "./src/build/executable.ts";
import { MODEL_PACKAGE, makeModel } from "./src/build/meaning/model.ts";
import { commitOf, createdTime, defaultRelease, expiryTime, makeBundle } from "./src/build/release.ts";
import { nextReleaseKey, publicPem, releaseKey } from "./src/build/release-keys.ts";
import { BuildError, stepper } from "./src/build/step.ts";
import { prepareZig } from "./src/build/zig.ts";
import { type BuildInfo, EMBEDDED_BUNDLE } from "./src/build-info.ts";
import { readChoice } from "./src/checks/strings.ts";
import { SvcError } from "./src/errors.ts";
import { PLATFORM_TAGS, type PlatformTag, platformTag } from "./src/paths.ts";
import { licensePublicKey } from "./src/trust/account/license/license-token.ts";
import { keyId } from "./src/trust/runtime/anchor.ts";

export interface BuildOptions {
  /** The checkout: `ffi`, `src`, package.json; `.build`, `.keys` and `dist` are made in it. */
  root: string;
  all?: boolean;
  /** Platforms to build for; this machine's is always one of them. `all` is all of them. */
  platforms?: readonly PlatformTag[];
  nativeOnly?: boolean;
  authority?: string;
  /** Path of the licence key, SPKI in PEM. */
  licensePubkey?: string;
  /** Path of the private key that signs the bundle, in PEM, 0600; it counts before those of the environment. */
  releaseKey?: string;
  version?: string;
  release?: number;
  /** A date or time in UTC. */
  expires?: string;
  /** Ids of release keys. */
  endKeys?: readonly string[];
  /** Gets one line for each step. */
  log?: (line: string) => void;
}

/** Builds everything that was asked for. @throws BuildError with what a tool said, or what is wrong with the options */
export async function build(options: BuildOptions): Promise<BuildInfo> {
  const { root } = options;
  const host = platformTag();
  if (!host) throw new BuildError(`there is no runtime for ${process.platform} on ${process.arch}`);
  const cache = join(root, ".build");
  const step = stepper(options.log ?? (() => {}));
  const trust = await authorityTrust(options);
  const version = options.version ?? packageVersion(root);
  const release = options.release ?? defaultRelease(version);
  if (!Number.isSafeInteger(release) || release < 1) throw new BuildError("--release must be a whole number from 1");
  const key = releaseKey(root, { file: options.releaseKey });
  const next = nextReleaseKey(root, key, { file: options.releaseKey });
  const releasePublicKeys: BuildInfo["releasePublicKeys"] = [publicPem(key), publicPem(next)];
  const created = createdTime(root);
  const commit = commitOf(root);
  const releaseKeyId = keyId(releasePublicKeys[0]);
  const offer = { created, expires: options.expires && expiryTime(options.expires), ends: options.endKeys };
  step("release keys", releasePublicKeys.map((pem) => keyId(pem)).join(", next "));

  const model = makeModel(root, cache);
  step("sentence encoder", model ? "" : `left out, because the package ${MODEL_PACKAGE} is not installed`);

  await prepareZig();
  // This machine first: its libraries say which ABI versions the executables expect.
  const wanted = options.all ? PLATFORM_TAGS : (options.platforms ?? []);
  const tags = [host, ...PLATFORM_TAGS.filter((tag) => wanted.includes(tag) && tag !== host)];
  let abi: BuildInfo["abi"] | undefined;
  for (const tag of tags) {
    const { kernel, runtime, compiled } = await buildNative({ root, cache, tag });
    step(`native ${tag}`, compiled === 0 ? "nothing changed" : `${compiled} compiled`);
    abi ??= { kernel: abiVersion(kernel, "ame_abi_version"), runtime: abiVersion(runtime, "ty_abi_version") };
    const pysite = join(root, "src", "remote", "python");
    const bundle = makeBundle({ tag, version, release, ...offer, kernel, runtime, model, pysite, key });
    put(bundlePath(root, tag), bundle);
    step(
      `bundle ${tag}`,
      `${Math.ceil(bundle.length / 1024)} KiB, release ${release}${model ? "" : ", no sentence encoder"}`,
    );
  }
  const infoFor = (tag: PlatformTag): BuildInfo => {
    return { version, release, commit, releaseKeyId, releasePublicKeys, ...trust, abi: abi!, platform: tag };
  };
  put(join(cache, "build-info.json"), `${JSON.stringify(infoFor(host), null, 2)}\n`);
  if (options.nativeOnly) return infoFor(host);

  const entry = join(root, "src", "main.ts");
  if (!existsSync(entry)) throw new BuildError("src/main.ts is missing");
  for (const tag of tags) {
    const output = tag === host ? join(root, "dist", "svc") : join(root, "dist", tag, "svc");
    const made = await buildExecutable({
      root,
      cache,
      entry,
      bundle: bundlePath(root, tag),
      output,
      info: infoFor(tag),
    });
    if (tag === host && wanted.length > 0) alsoAs(output, join(root, "dist", tag, "svc"));
    step(`executable ${tag}`, made ? "compiled" : "nothing changed");
  }
  return infoFor(host);
}

if (import.meta.main) {
  try {
    await build({ root: import.meta.dir, ...readArguments(), log: (line) => console.log(line) });
  } catch (error) {
    if (!(error instanceof BuildError || error instanceof SvcError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

function bundlePath(root: string, tag: PlatformTag): string {
  return join(root, "dist", tag, EMBEDDED_BUNDLE);
}

/** An authority and its licence key come together: a build that trusts one without the other would trust nobody or anybody. */
async function authorityTrust(options: BuildOptions): Promise<Pick<BuildInfo, "authority" | "licensePublicKey">> {
  const { authority, licensePubkey } = options;
  if (!authority !== !licensePubkey) throw new BuildError("--authority and --license-pubkey belong together");
  if (!authority || !licensePubkey) return { authority: null, licensePublicKey: null };
  const url = URL.parse(authority);
  const loopback = url && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (!url || !(url.protocol === "https:" || (url.protocol === "http:" && loopback))) {
    throw new BuildError("--authority must be an https address");
  }
  try {
    const pem = readFileSync(licensePubkey, "utf8");
    await licensePublicKey(pem);
    return {
      authority: url.href.replace(/\/$/, ""),
      licensePublicKey: createPublicKey(pem).export({ type: "spki", format: "pem" }).toString(),
    };
  } catch (error) {
    throw new BuildError(`--license-pubkey: ${licensePubkey}: ${(error as Error).message}`);
  }
}

function packageVersion(root: string): string {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
}

/** Build output is made again at will, so it is renamed into place but not synced. */
function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

function readArguments(): Omit<BuildOptions, "root" | "log"> {
  try {
    const { values } = parseArgs({
      options: {
        all: { type: "boolean" },
        platform: { type: "string", multiple: true },
        "native-only": { type: "boolean" },
        authority: { type: "string" },
        "license-pubkey": { type: "string" },
        "release-key": { type: "string" },
        version: { type: "string" },
        release: { type: "string" },
        expires: { type: "string" },
        "end-key": { type: "string", multiple: true },
      },
    });
    const licensePubkey = values["license-pubkey"] && resolve(values["license-pubkey"]);
    const releaseKey = values["release-key"] && resolve(values["release-key"]);
    const release = values.release === undefined ? undefined : Number(values.release);
    const { all, authority, version, expires, "end-key": endKeys } = values;
    const platforms = values.platform?.map((tag) => readChoice(tag, "--platform", PLATFORM_TAGS));
    const nativeOnly = values["native-only"];
    return { all, platforms, nativeOnly, authority, licensePubkey, releaseKey, version, release, expires, endKeys };
  } catch (error) {
    throw new BuildError((error as Error).message);
  }
}
