/** A server on loopback that stands for the host of releases, and can answer as no good host does. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packagesIn } from "../../../src/build/executable.ts";
import { makeRelease } from "../../../src/build/release/make.ts";
import { platformTag } from "../../../src/paths.ts";
import { largeDir } from "../../fixture.ts";
import { type TestKey, testKey } from "../../keys.ts";
import { type Answer, packagesServer, type ReceivedRequest } from "../../trust/account/packages-server.ts";

const ROOT = join(import.meta.dir, "../../..");

/** What it has for a request. */
export interface Found extends Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface HostRequest {
  path: string;
  /** The first byte that was asked for, of a range that ends with the file. */
  from: number;
}

export interface Published {
  version: string;
  /** The path of its executable. */
  executable: string;
  release?: number;
  key?: Pick<TestKey, "privateKey">;
  ends?: string[];
  /** Without its packages. */
  isQuick?: boolean;
}

/** Serves files by their paths, with ranges. */
export class ReleaseHost {
  /** The bytes or the path on the disk of each, by its path here, as `/download/v0.2.0/SHA256SUMS`. */
  readonly files = new Map<string, Uint8Array | string>();
  readonly requests: HostRequest[] = [];
  url = "";
  /** Ends all connections. */
  cut = () => {};
  /** Changes an answer; the last argument counts the requests for this path from 1. */
  change: (found: Found, request: HostRequest, count: number) => Answer = (found) => found;
  /** Settles when an answer stops. */
  stopped = Promise.withResolvers<void>();
  /** Removed with the host at the end of its test or file. */
  readonly #folder = largeDir();
  #newest = "";

  static async start(): Promise<ReleaseHost> {
    const host = new ReleaseHost();
    const { url, cut } = await packagesServer((request) => host.#answer(request));
    return Object.assign(host, { url, cut });
  }

  /** Makes a release and offers it as the newest one. */
  async publish({ version, executable, ...more }: Published): Promise<void> {
    const { release = 1, key = testKey("release"), ends = [], isQuick } = more;
    const folder = join(this.#folder, `v${version}`);
    await makeRelease({
      root: ROOT,
      folder,
      executables: { [platformTag()!]: executable },
      packages: packagesIn(join(ROOT, ".build"), join(ROOT, "dist/svc")),
      ...{ version, release, floor: "0.0.0", ends, key: key.privateKey, created: "2026-01-02T03:04:05.000Z", isQuick },
    });
    this.offer(version, Object.fromEntries(readdirSync(folder).map((name) => [name, join(folder, name)])));
  }

  /** Offers a release of these files as the newest one. */
  offer(version: string, files: Record<string, Uint8Array | string>): void {
    for (const [name, file] of Object.entries(files)) this.files.set(`/download/v${version}/${name}`, file);
    this.#newest = version;
  }

  /** The bytes of a file; undefined where there is none. */
  read(path: string): Uint8Array | undefined {
    const file = this.files.get(path);
    return typeof file === "string" ? readFileSync(file) : file;
  }

  /** Forgets requests and faults. */
  reset(): void {
    this.requests.length = 0;
    this.change = (found) => found;
    this.stopped = Promise.withResolvers<void>();
  }

  paths(): string[] {
    return this.requests.map(({ path }) => path);
  }

  #answer({ path: target, headers }: ReceivedRequest): Answer {
    const path = target.replace(/^http:\/\/[^/]*/, ""); // a proxy gets the whole address
    const request = { path, from: Number(/^bytes=(\d+)-/.exec(headers.range ?? "")?.[1] ?? 0) };
    this.requests.push(request);
    const count = this.paths().filter((one) => one === path).length;
    const answer = this.change(this.#find(request), request, count);
    if (answer.stop !== undefined) this.stopped.resolve();
    return answer;
  }

  /** As GitHub does it: the newest release by a redirect. */
  #find({ path, from }: HostRequest): Found {
    const name = path.split("/latest/download/")[1];
    const location = `${this.url}/download/v${this.#newest}/${name}`;
    if (name !== undefined) return { status: 302, headers: { location }, body: new Uint8Array() };
    const body = this.read(path);
    if (body === undefined) return { status: 404, body: Buffer.from("Not Found") };
    if (from === 0) return { status: 200, headers: { "accept-ranges": "bytes" }, body };
    const range = `bytes ${from}-${body.length - 1}/${body.length}`;
    return { status: 206, headers: { "content-range": range }, body: body.subarray(from) };
  }
}
