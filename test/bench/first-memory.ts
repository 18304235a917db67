/**
 * From nothing to the first memory found: the line that installs, a login, two memories and a question, as a new user types
 * them. A server on loopback stands for the release host, and is limited to 50 Mbit/s.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipped } from "../../src/build/release/archives.ts";
import { put, sumsOf } from "../../src/build/release/files.ts";
import { INSTALLER, installerOf } from "../../src/build/release/installer.ts";
import { SUMS } from "../../src/build/release/make.ts";
import { platformTag } from "../../src/paths.ts";
import { releaseNames } from "../../src/trust/release/manifest.ts";
import { SVC, scratchFolder } from "./home.ts";
import { atMost, type Line, median, timed } from "./measure.ts";

const BYTES_PER_SECOND = 50e6 / 8;
/** A slice of a second in which the server sends its share. */
const SLICE_MS = 20;
const RUNS = 5;

/** What a new user types after the line that installs. */
const STEPS = [
  ["login", "--yes"],
  ["mem", "add", "notes", "We deploy blue-green since the outage in March.", "Retro is on Fridays."],
  ["mem", "search", "notes", "how do we deploy"],
];

/** Seconds of one run, and what the commands took of it. */
interface Run {
  install: number;
  steps: number[];
}

export async function benchFirstMemory(): Promise<Line[]> {
  using scratch = scratchFolder();
  const size = release(scratch.path);
  await using server = throttled(scratch.path);
  const address = `http://127.0.0.1:${server.port}`;
  const runs: Run[] = [];
  for (let run = 0; run < RUNS; run++) runs.push(await firstMemory(address));
  const middle = (part: (run: Run) => number) => median(runs.map(part));
  const steps = (run: Run) => run.steps.reduce((sum, one) => sum + one, 0);
  const download = size / BYTES_PER_SECOND;
  const seconds = (what: string, value: number): Line => ({ what, value, unit: "s" });
  return [
    atMost(
      seconds(
        "from nothing to the first memory found, 50 Mbit/s",
        middle((run) => run.install + steps(run)),
      ),
      20,
    ),
    seconds(`of it the download, computed, of ${(size / 1e6).toFixed(1)} MB`, download),
    atMost(seconds("of it the rest", middle((run) => run.install + steps(run)) - download), 3),
    seconds("of that the installer", middle((run) => run.install) - download),
    ...STEPS.map((words, at) =>
      seconds(
        `of that svc ${words.slice(0, 2).join(" ")}`,
        middle((run) => run.steps[at]!),
      ),
    ),
  ];
}

/** Puts what the installer downloads into a folder. @returns the bytes of the executable's download */
function release(folder: string): number {
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8")) as {
    version: string;
  };
  const files = join(folder, "download", `v${version}`);
  mkdirSync(files, { recursive: true });
  const names = releaseNames(platformTag()!);
  const executable = readFileSync(SVC);
  put(files, names.executable, executable);
  const { size_bytes } = put(files, names.gzip, gzipped(executable));
  writeFileSync(join(files, SUMS), sumsOf(files));
  writeFileSync(join(folder, INSTALLER), installerOf(version));
  return size_bytes;
}

/** Serves a folder, each file at the rate of the line. */
function throttled(folder: string) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => new Response(slices(readFileSync(join(folder, new URL(request.url).pathname)))),
  });
  return { port: server.port, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** The bytes, as the line brings them. */
async function* slices(bytes: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const start = performance.now();
  let sent = 0;
  while (sent < bytes.length) {
    await Bun.sleep(SLICE_MS);
    const due = Math.floor(((performance.now() - start) / 1000) * BYTES_PER_SECOND);
    yield bytes.subarray(sent, due);
    sent = due;
  }
}

/** Installs into an empty home and finds a memory there. */
async function firstMemory(address: string): Promise<Run> {
  using home = scratchFolder();
  const env = { HOME: home.path, PATH: process.env.PATH!, SVC_BASE_URL: address };
  const install = await timed(() => run(["sh", "-c", `curl -fsSL ${address}/${INSTALLER} | sh`], env));
  const svc = join(home.path, ".local/bin/svc");
  // A pipe has the status of its last command: a curl that failed would go unnoticed.
  if (!existsSync(svc)) throw new Error("the installer was not downloaded, or installed nothing");
  const steps: number[] = [];
  let output = "";
  for (const words of STEPS)
    steps.push(
      await timed(async () => {
        output = await run([svc, ...words], env);
      }),
    );
  if (!output.includes("blue-green")) throw new Error(`the memory was not found: ${output}`);
  return { install: install / 1000, steps: steps.map((ms) => ms / 1000) };
}

/** Runs a command. @returns what it printed */
async function run(command: string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn(command, { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${error}`);
  return out;
}
