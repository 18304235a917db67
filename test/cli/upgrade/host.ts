/** Releases of a script that answers as svc does, signed by this checkout's release key, and a host that may lie. */
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { releaseKey } from "../../../src/build/release-keys.ts";
import { type BuildInfo, buildInfo } from "../../../src/build-info.ts";
import { install, rollBack } from "../../../src/cli/upgrade/install.ts";
import { platformTag } from "../../../src/paths.ts";
import { type ReleaseManifest, releaseNames } from "../../../src/trust/release/manifest.ts";
import { sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import { ReleaseHost } from "../../build/release/release-host.ts";
import type { TestKey } from "../../keys.ts";
import type { Answer } from "../../trust/account/packages-server.ts";
import { manifestOf, signed } from "../../trust/release/fixture.ts";

export const TAG = platformTag()!;
export const OWN: BuildInfo = buildInfo();
/** The key that this checkout's executables know. */
export const ownKey: Pick<TestKey, "privateKey"> = { privateKey: releaseKey(join(import.meta.dir, "../../..")) };

/** The release number of a version, as `npm run release` gives it. */
const numberOf = (version: string) => {
  const [x = 0, y = 0, z = 0] = version.split(".").map(Number);
  return x * 1_000_000 + y * 1000 + z;
};

/** A program that says that it is svc of a version, and does what `also` says for other commands. */
export function program(version: string, also = "", key: string = OWN.releaseKeyId): Buffer<ArrayBuffer> {
  const said = JSON.stringify({ version, release: numberOf(version), release_key: key });
  return Buffer.from(`#!/bin/sh\n[ "$1" = version ] && echo '${said}' && exit 0\n${also}\nexit 0\n`);
}

/** What a release may be changed in. */
export interface Changes {
  /** The bytes of its executable. */
  executable?: Buffer<ArrayBuffer>;
  /** Members of its manifest. */
  manifest?: Record<string, unknown>;
  key?: Pick<TestKey, "privateKey">;
}

/** Files by their names. */
export type Files = Record<string, Uint8Array>;

/** The files of a release. */
export function releaseOf(version: string, changes: Changes = {}): Files {
  const { executable = program(version), key = ownKey } = changes;
  const names = releaseNames(TAG);
  const gzip = Bun.gzipSync(executable);
  const zstd = Bun.zstdCompressSync(executable);
  const file = (name: string, bytes: Uint8Array) => ({ name, sha256: sha256(bytes), size_bytes: bytes.length });
  const platforms = {
    [TAG]: {
      executable: file(names.executable, executable),
      gzip: file(names.gzip, gzip),
      zstd: file(names.zstd, zstd),
    },
  };
  const manifest: ReleaseManifest = manifestOf({
    ...{ version, release: numberOf(version), floor: "0.0.0", key_id: OWN.releaseKeyId, platforms },
    ...changes.manifest,
  });
  const { bytes, signature } = signed(manifest, key as TestKey);
  return { "manifest.json": bytes, "manifest.sig": signature, [names.gzip]: gzip, [names.zstd]: zstd };
}

/** A machine with a svc of this build's version, and a host of releases. */
export class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-upgrade-test-"));
  readonly executable = join(this.folder, "bin/svc");
  readonly home = join(this.folder, "home");
  readonly env: Record<string, string>;
  readonly controller = new AbortController();
  /** How long it waits for the host. */
  readonly pace = { idleMs: 30_000, pauseMs: 1 };

  private constructor(readonly host: ReleaseHost) {
    this.env = { PATH: process.env.PATH!, HOME: this.folder, SVC_HOME: this.home, SVC_BASE_URL: host.url };
    mkdirSync(join(this.folder, "bin"));
    this.putOld();
  }

  /**
   * @param releases by their versions; the last one is the newest
   * @param answer replaces an answer; undefined where it does not
   */
  static async of(releases: Record<string, Files>, answer?: (path: string) => Answer | undefined): Promise<Scene> {
    const host = await ReleaseHost.start();
    for (const [version, files] of Object.entries(releases)) host.offer(version, files);
    host.change = (found, { path }) => answer?.(path) ?? found;
    return new Scene(host);
  }

  /** The executable before the upgrade. */
  putOld(bytes = program(OWN.version)): void {
    writeFileSync(this.executable, bytes);
    chmodSync(this.executable, 0o755);
  }

  upgrade(version?: string) {
    return install({ ...this.options, version });
  }

  rollBack() {
    return rollBack(this.options);
  }

  private get options() {
    const { executable, env, pace } = this;
    return { executable, env, pace, signal: this.controller.signal };
  }
}
