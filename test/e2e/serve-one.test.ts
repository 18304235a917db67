/** One memory directory has one `svc serve`: a second one is refused with a sentence that names the first. */
import { beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryLock } from "../../ffi/system/calls.ts";
import { connect } from "../../src/remote/client/client.ts";
import { until } from "../remote/server/raw.ts";
import { asPlainUser, type Home, SVC, signedIn, svc } from "./home.ts";
import { servers } from "./served.ts";

const TOKEN = "sesame-4713";
const start = servers();
let home: Home;

beforeAll(async () => {
  home = { ...(await signedIn()), SVC_ACCESS_TOKEN: TOKEN };
});

const folder = () => mkdtempSync(join(tmpdir(), "svc-one-"));
const memoryIn = () => join(folder(), "memory");
const socket = () => ["--socket", join(folder(), "s.sock")];
const TCP = ["--host", "127.0.0.1", "--port", "0"];

const serving = (memory: string, flags = socket(), prefix: readonly string[] = []) =>
  start([...prefix, SVC, "serve", "--path", memory, "--json", "--save-interval", "1", ...flags], home);

/** What a second server prints. */
async function refusal(memory: string, flags = TCP, prefix: readonly string[] = []): Promise<string> {
  const { code, out, err } = await svc(home, ["serve", "--path", memory, ...flags], "", { prefix });
  expect([code, out]).toEqual([1, ""]);
  return err.replace(/^\d{4}-.*\n/gm, "").trim();
}

const SERVED = "svc: this memory directory is served already, by";

test("the second one names the first one's process, command and address, and how to stop it", async () => {
  for (const flags of [socket(), TCP, [...TCP, "--tls", "self"]]) {
    const memory = memoryIn();
    const { server, address } = await serving(memory, flags);
    expect(await refusal(memory)).toBe(
      `${SERVED} process ${server.pid} (svc serve), which listens on ${address}: connect to it, or stop it with ` +
        `'kill ${server.pid}'`,
    );
    // The one that is there, as the sentence says.
    await using client = await connect(address, { token: TOKEN });
    await client.callTool("svc_add", { collection: "notes", texts: ["The kettle is broken."] });
    process.kill(server.pid);
    const next = await serving(memory, flags);
    expect(await server.exited).toBe(0);
    await using other = await connect(next.address, { token: TOKEN });
    expect(await other.collections()).toEqual(["notes"]);
  }
});

test("the message as JSON has the type of an address that is taken", async () => {
  const memory = memoryIn();
  await serving(memory);
  const { code, err } = await svc(home, ["serve", "--path", memory, ...TCP, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(err).error).toMatchObject({ type: "OSError", code: "OSError.io" });
});

test("a supervised server is named, and so is one under a supervisor that is refused", async () => {
  const memory = memoryIn();
  const { server, address } = await serving(memory, [...socket(), "--supervise"]);
  await using client = await connect(address);
  const { pid } = await client.stats();
  for (const flags of [TCP, [...socket(), "--supervise"]])
    expect(await refusal(memory, flags)).toContain(`process ${pid} (svc serve), which listens on ${address}: `);
  process.kill(Number(pid));
  expect(await server.exited).toBe(0);
  await serving(memory);
});

test("a killed server has no lock, and one that is stopped by a signal is named as stopped", async () => {
  const memory = memoryIn();
  const first = await serving(memory);
  first.server.kill("SIGKILL");
  await first.server.exited;
  const { server } = await serving(memory);
  server.kill("SIGSTOP");
  expect(await refusal(memory)).toContain(
    `and is stopped: continue it with 'kill -CONT ${server.pid}' or end it with 'kill -KILL ${server.pid}'`,
  );
});

test("a restart in place keeps the lock: nothing else gets it meanwhile", async () => {
  const memory = memoryIn();
  const { server, address, log } = await serving(memory);
  const fd = openSync(join(memory, ".serve/.lock"), "r");
  const starts = () => log.text.split("listening on ").length;
  let isFree = false;
  for (let i = 0; i < 3; i++) {
    const before = starts();
    process.kill(server.pid, "SIGUSR2");
    await until("the next server", () => {
      isFree ||= tryLock(fd);
      return starts() > before;
    });
    expect(await refusal(memory)).toContain(`process ${server.pid} (svc serve), which listens on ${address}: `);
  }
  expect(isFree).toBe(false);
  server.kill("SIGKILL");
  await server.exited;
  expect(tryLock(fd)).toBe(true);
  closeSync(fd);
});

test("other commands go on beside a server: 'svc mem', a backup without the lock, a restore", async () => {
  const memory = memoryIn();
  await serving(memory);
  const mem = async (...args: string[]) => {
    const { code, out, err } = await svc(home, ["mem", ...args]);
    expect(`${code} ${err}`).toStartWith("0 ");
    return out;
  };
  await mem("add", "notes", "The kettle is broken.", "--path", memory);
  const backup = join(folder(), "backup");
  await mem("backup", backup, "--path", memory);
  expect(readdirSync(backup)).toEqual(["notes"]);
  await mem("drop", "notes", "--yes", "--path", memory);
  await mem("restore", backup, "--path", memory);
  expect(await mem("list", "--path", memory)).toMatch(/^notes/m);
  expect(await mem("check", "--path", memory)).not.toContain(".serve");
  // The backup is a memory of its own, also where it is a copy with the files of svc.
  await serving(backup);
});

const unshare = process.platform === "linux" ? Bun.which("unshare") : null;
const asOther = [unshare ?? "", "--pid", "--fork", "--kill-child", "--mount-proc"];
const canUnshare = unshare !== null && Bun.spawnSync([...asOther, "true"]).success;

test.skipIf(!canUnshare)("a server of another container is not taken for a process here (needs unshare)", async () => {
  const memory = memoryIn();
  const { server, address } = await serving(memory);
  const said = await refusal(memory, TCP, asOther);
  expect(said).toBe(
    `${SERVED} a process that cannot be seen from here; the last to write its lock file was process ${server.pid} ` +
      `(svc serve), which listens on ${address}, perhaps in another container or on another machine: connect to it, or ` +
      "stop it there",
  );
});

test.skipIf(asPlainUser === undefined)("a memory that is read-only is served (needs setpriv as root)", async () => {
  const memory = memoryIn();
  expect((await svc(home, ["mem", "add", "notes", "The kettle is broken.", "--path", memory])).code).toBe(0);
  chmodSync(memory, 0o500);
  for (let i = 0; i < 2; i++) {
    const { address } = await serving(memory, socket(), asPlainUser);
    await using client = await connect(address);
    expect(await client.collections()).toEqual(["notes"]);
  }
  expect(existsSync(join(memory, ".serve"))).toBe(false);
  // With a lock file that cannot be written there is one server, too.
  chmodSync(memory, 0o700);
  const first = await serving(memory);
  first.server.kill();
  await first.server.exited;
  for (const path of [join(memory, ".serve"), memory]) chmodSync(path, 0o500);
  chmodSync(join(memory, ".serve/.lock"), 0o400);
  const { server } = await serving(memory, socket(), asPlainUser);
  expect(await refusal(memory, TCP, asPlainUser)).toBe(
    `${SERVED} process ${server.pid}: stop it with 'kill ${server.pid}'`,
  );
});

test.skipIf(process.getuid?.() !== 0 || asPlainUser === undefined)(
  "a user locks a memory that root's server had, and names that one while it runs (needs root and setpriv)",
  async () => {
    // Not in the temporary folder of the tests, which is closed to other users.
    const place = mkdtempSync("/tmp/svc-one-");
    try {
      chownSync(place, 54_321, 54_321);
      const memory = join(place, "memory");
      mkdirSync(memory, { mode: 0o700 });
      chownSync(memory, 54_321, 54_321);
      const { server, address } = await serving(memory, socket(), ["sh", "-c", 'umask 077; exec "$@"', "sh"]);
      expect(statSync(join(memory, ".serve/.lock")).uid).toBe(0);
      const user = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--bounding-set=-all"];
      const theirs: Home = { ...home, HOME: place, SVC_HOME: join(place, "svc"), TMPDIR: "/tmp" };
      // The checkout may lie where another user cannot go.
      if (Bun.spawnSync([...user, SVC, "version"], { env: theirs, cwd: "/" }).exitCode !== 0) return;
      expect((await svc(theirs, ["login", "--yes"], "", { prefix: user, cwd: "/" })).code).toBe(0);
      const serve = [...user, SVC, "serve", "--path", memory, "--json", "--socket", join(place, "run/s.sock")];
      await expect(start(serve, theirs)).rejects.toThrow(
        `process ${server.pid} (svc serve), which listens on ${address}: connect to it, or stop it with ` +
          `'kill ${server.pid}', as its user`,
      );
      server.kill();
      await server.exited;
      await using client = await connect((await start(serve, theirs)).address);
      await client.callTool("svc_add", { collection: "notes", texts: ["The kettle is broken."] });
    } finally {
      rmSync(place, { recursive: true });
    }
  },
);
