/** A memory directory has one server: the lock file, and the sentence that names the server which has it. */
import { expect, test } from "bun:test";
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Holder, HolderState } from "../../../ffi/ty_collection.ts";
import { servedError } from "../../../src/remote/server/lock/memory-holder.ts";
import { serve } from "../../../src/remote/server/server.ts";
import { scratchDir } from "../../fixture.ts";
import { openLocal, TestServer, TOKEN } from "./raw.ts";

const lockFile = (dir: string) => join(dir, ".serve/.lock");
const start = async (dir: string) => TestServer.start({ dir });

/** The error of a start that must fail. */
async function refusal(dir: string): Promise<unknown> {
  const store = await openLocal(dir);
  try {
    await serve({ store, host: "127.0.0.1", port: 0, accessToken: TOKEN });
  } catch (error) {
    return error;
  } finally {
    await store.close();
  }
  throw new Error("it listens");
}

test("a second server is refused at another address, and starts once the first one has ended", async () => {
  const dir = scratchDir();
  const first = await start(dir);
  expect(readFileSync(lockFile(dir), "utf8")).toMatch(
    new RegExp(`^writer ${process.pid} {1,24}\n.* serving +\n${first.address}$`),
  );
  for (let i = 0; i < 2; i++) {
    expect(await refusal(dir)).toMatchObject({
      code: "OSError.io",
      message:
        "this memory directory is served already, by this very process, which listens on " +
        `${first.address}: connect to it, or stop that server first`,
    });
  }
  const raw = await first.open();
  await raw.ok("ping");
  await first.stop();
  await (await start(dir)).stop();
});

test("of many that start at once exactly one serves", async () => {
  const dir = scratchDir();
  const starts = await Promise.allSettled(Array.from({ length: 6 }, () => start(dir)));
  const servers = starts.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(servers).toHaveLength(1);
  for (const one of starts) if (one.status === "rejected") expect(one.reason).toMatchObject({ type: "OSError" });
  await servers[0]!.stop();
});

test("one that starts while the first one ends waits for it", async () => {
  const dir = scratchDir();
  const first = await start(dir);
  const raw = await first.open();
  await raw.ok("create_collection", "c", { dim: 1 });
  await raw.ok("add", "c", { vectors: [[1]], ids: ["a"] });
  const [next] = await Promise.all([start(dir), first.stop()]);
  expect(await (await next.open()).ok("ids", "c")).toEqual(["a"]);
  await next.stop();
});

test("a start that fails gives the lock back", async () => {
  const dir = scratchDir();
  const store = await openLocal(dir);
  await expect(serve({ store, host: "192.0.2.1", port: 0, accessToken: TOKEN })).rejects.toThrow("cannot listen");
  await expect(serve({ store })).rejects.toThrow("needs a socket");
  await store.close();
  await (await start(dir)).stop();
});

test("the directory is made where it is missing, closed to others, with nothing else in it", async () => {
  const dir = join(scratchDir(), "a/b");
  const server = await start(dir);
  expect(lstatSync(dir).mode & 0o777).toBe(0o700);
  expect(readdirSync(dir)).toEqual([".serve"]);
  expect([join(dir, ".serve"), lockFile(dir)].map((path) => lstatSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
  // As a person may do: the next server locks the new one.
  rmSync(join(dir, ".serve"), { recursive: true });
  const next = await start(dir);
  expect(await refusal(dir)).toMatchObject({ message: expect.stringContaining(next.address) });
  await server.stop();
  expect(await refusal(dir)).toMatchObject({ message: expect.stringContaining(next.address) });
  await next.stop();
});

test.each<[string, (dir: string) => void, RegExp]>([
  ["a file", (dir) => writeFileSync(join(dir, ".serve"), ""), /'\.serve' is not a folder: remove it$/],
  ["a link", (dir) => symlinkSync(scratchDir(), join(dir, ".serve")), /'\.serve' is not a folder: remove it$/],
  ["a link to nothing", (dir) => symlinkSync("nowhere", join(dir, ".serve")), /'\.serve' is not a folder: remove it$/],
  [
    "a link as its lock file",
    (dir) => {
      mkdirSync(join(dir, ".serve"));
      symlinkSync("/etc/passwd", lockFile(dir));
    },
    /'\.lock' is a link, not a regular file: remove it$/,
  ],
])("%s in place of its folder is refused", async (_, put, message) => {
  const dir = scratchDir();
  put(dir);
  expect(await refusal(dir)).toMatchObject({ type: "OSError", message: expect.stringMatching(message) });
});

test("what an earlier holder left says nothing about the next one, whatever it is", async () => {
  for (const left of ["", "x", `writer 1${" ".repeat(23)}\n${"svc serve serving".padEnd(63)}\nunix:///old\n`]) {
    const dir = scratchDir();
    mkdirSync(join(dir, ".serve"));
    writeFileSync(lockFile(dir), left);
    const server = await start(dir);
    const error = (await refusal(dir)) as Error;
    expect(error.message).toContain(server.address);
    expect(error.message).not.toContain("old");
    await server.stop();
  }
});

const RUNS: Holder = { pid: 4711, state: HolderState.RUNS, isForeign: false, label: "svc serve", what: "serving" };
const AT = "tcp://127.0.0.1:8471";
const ONE = "this memory directory is served already, by";

test.each<[string, Partial<Holder>, string | undefined, string]>([
  ["runs", {}, AT, `process 4711 (svc serve), which listens on ${AT}: connect to it, or stop it with 'kill 4711'`],
  [
    "is of another user",
    { isForeign: true },
    AT,
    `process 4711 (svc serve), which listens on ${AT}: connect to it, or stop it with 'kill 4711', as its user`,
  ],
  ["wrote no address", {}, undefined, "process 4711 (svc serve): stop it with 'kill 4711'"],
  [
    "starts",
    { what: "starting" },
    "unix:///of-the-one-before",
    "process 4711 (svc serve), which is starting: stop it with 'kill 4711'",
  ],
  ["wrote nothing", { label: "", what: "" }, AT, "process 4711: stop it with 'kill 4711'"],
  [
    "is stopped",
    { state: HolderState.STOPPED },
    AT,
    `process 4711 (svc serve), which listens on ${AT} and is stopped: ` +
      "continue it with 'kill -CONT 4711' or end it with 'kill -KILL 4711'",
  ],
  [
    "is being debugged",
    { state: HolderState.TRACED, what: "starting" },
    AT,
    "process 4711 (svc serve), which is starting and is stopped by a debugger: continue it there",
  ],
  [
    "is in a container",
    { state: HolderState.UNSEEN },
    AT,
    "a process that cannot be seen from here; the last to write its lock file was process 4711 (svc serve), which " +
      `listens on ${AT}, perhaps in another container or on another machine: connect to it, or stop it there`,
  ],
  [
    "left no number",
    { state: HolderState.UNSEEN, pid: 0 },
    undefined,
    "a process that cannot be seen from here: stop it there, or give --path another directory",
  ],
])("the sentence about a server that %s", (_, holder, address, message) => {
  const error = servedError({ ...RUNS, ...holder }, address);
  expect([error.code, error.message]).toEqual(["OSError.io", `${ONE} ${message}`]);
});
