/** Executables of other releases: with keys and numbers of their own, made once and kept in `.build/test/exe`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildExecutable } from "../../src/build/executable.ts";
import { makeBundle } from "../../src/build/release.ts";
import { type BuildInfo, EMBEDDED_BUNDLE } from "../../src/build-info.ts";
import { withLock } from "../../src/durable.ts";
import { keyId } from "../../src/trust/runtime/anchor.ts";
import type { TestKey } from "../keys.ts";
import { builtLibraries } from "../native.ts";
import { ROOT } from "./home.ts";

export interface OtherRelease {
  version: string;
  release: number;
  /** The one that signs its bundle, and the next one. */
  keys: readonly [TestKey, TestKey];
  /** Ids of keys that end with it. */
  ends?: readonly string[];
  /** The only authority that it trusts, and that one's LICENSE key, SPKI in PEM. */
  vendor?: { authority: string; licensePublicKey: string };
}

/** A build takes seconds, and longer on a machine that does much else. */
const BUILD_MS = 120_000;

/** The path of an executable of this checkout as that release; compiled where something changed. */
export async function executableOf(
  name: string,
  { version, release, keys, ends, vendor }: OtherRelease,
): Promise<string> {
  const info: BuildInfo = {
    ...JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8")),
    version,
    release,
    releaseKeyId: keyId(keys[0].publicPem),
    releasePublicKeys: keys.map(({ publicPem }) => publicPem),
    ...vendor,
  };
  const folder = join(ROOT, ".build/test/exe", name);
  mkdirSync(folder, { recursive: true });
  const output = join(folder, "svc");
  const bundle = join(folder, EMBEDDED_BUNDLE);
  const { kernel, runtime } = await builtLibraries();
  const created = "2026-01-01T00:00:00Z";
  const key = keys[0].privateKey;
  const entry = join(ROOT, "src/main.ts");
  // Several files of tests use one executable, and begin at the same time.
  await withLock(
    join(folder, "lock"),
    async () => {
      writeFileSync(bundle, makeBundle({ tag: info.platform, version, release, created, ends, kernel, runtime, key }));
      await buildExecutable({ root: ROOT, cache: join(ROOT, ".build"), entry, bundle, output, info });
    },
    BUILD_MS,
  );
  return output;
}
