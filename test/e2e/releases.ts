/** Releases of executables in a folder, and a server on loopback that stands for the release host. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packagesIn } from "../../src/build/executable.ts";
import { makeRelease } from "../../src/build/release/make.ts";
import { platformTag } from "../../src/paths.ts";
import type { ReleaseManifest } from "../../src/trust/release/manifest.ts";
import { largeDir } from "../fixture.ts";
import type { TestKey } from "../keys.ts";
import { fakeServer } from "../trust/account/helpers.ts";
import { ROOT } from "./home.ts";

export interface Published {
  version: string;
  release: number;
  /** The path of its executable. */
  executable: string;
  key: Pick<TestKey, "privateKey">;
  floor?: string;
  ends?: string[];
}

/** A release host; the release that was published last is the newest. */
export class ReleaseHost {
  readonly url: string;
  readonly paths: string[];
  private readonly folder = largeDir();
  private newest = "";
  /** Called before each answer; what it returns is the answer. */
  answer: ((path: string) => Response | Promise<Response> | undefined) | undefined;

  constructor() {
    const { url, paths } = fakeServer((_, path) => this.answer?.(path) ?? this.serve(path));
    this.url = url;
    this.paths = paths;
  }

  /** Makes a release and offers it as the newest one. */
  async publish({
    version,
    release,
    executable,
    key,
    floor = "0.0.0",
    ends = [],
  }: Published): Promise<ReleaseManifest> {
    const manifest = await makeRelease({
      root: ROOT,
      folder: join(this.folder, `v${version}`),
      executables: { [platformTag()!]: executable },
      packages: packagesIn(join(ROOT, ".build"), executable),
      ...{ version, release, floor, ends, key: key.privateKey, created: "2026-01-02T03:04:05.000Z", isQuick: true },
    });
    this.newest = version;
    return manifest;
  }

  /** As GitHub does it: the newest one by a redirect. */
  private serve(path: string): Response {
    const [, kind, ...rest] = path.split("/");
    if (kind === "latest" && this.newest !== "")
      return Response.redirect(`${this.url}/download/v${this.newest}/${rest.at(-1)}`, 302);
    const file = join(this.folder, ...rest);
    return existsSync(file) ? new Response(Bun.file(file)) : new Response("Not Found", { status: 404 });
  }
}
