/** The executable in a folder and an environment that want code of their own to run: it answers as it does elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, linkSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ended } from "../ended.ts";
import { testKey } from "../keys.ts";
import { large, Raw } from "../remote/server/raw.ts";
import { selfSigned } from "./certificate.ts";
import { type Ended, emptyHome, Session, SVC, signedIn, svc } from "./home.ts";
import { hostileFolder, hostileVariables } from "./hostile.ts";

type Env = Record<string, string>;
const folder = hostileFolder();
const beside = join(folder.path, "svc");
const alone = hostileVariables(folder);
/** All at once; of those that have several values, the last. */
const together: Env = Object.assign({}, ...alone);
delete together.NODE_CHANNEL_FD; // names stdin, which is another thing for each command
let quiet: Env;
let hostile: Env;

beforeAll(async () => {
  try {
    linkSync(SVC, beside);
  } catch {
    copyFileSync(SVC, beside); // on another file system
  }
  quiet = await signedIn();
  await svc(quiet, ["mem", "add", "notes", "we deploy on Tuesdays", "--id", "1"]);
  hostile = { ...quiet, HOME: folder.path, XDG_CONFIG_HOME: join(folder.path, ".config"), ...together };
});
afterAll(() => expect(folder.hasRun()).toBe(false));

/** Requests that came to a server which variables or files name. */
let asked = 0;
const listener = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => {
    asked++;
    return new Response();
  },
});
afterAll(() => listener.stop(true));

/** In the hostile folder, by the executable that lies beside its files. */
async function inFolder(env: Env, args: string[], input = ""): Promise<Ended> {
  const child = Bun.spawn([beside, ...args], {
    env,
    cwd: folder.path,
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  return ended(child);
}

const COMMANDS = [
  ["version"],
  ["--help"],
  ["run", "evil.ts"],
  ["evil.ts"],
  ["-e", "1"],
  ["mem", "list"],
  ["mem", "search", "notes", "when do we deploy"],
  ["mem", "get", "notes", "1", "--json"],
  ["runtime", "status"],
  ["runtime", "verify", "--json"],
  ["runtime", "env"],
];

describe("what a command prints and its exit code are the same", () => {
  for (const words of COMMANDS) {
    test(`svc ${words.join(" ")}`, async () => {
      const expected = await svc(quiet, words);
      expect(await inFolder(hostile, words)).toEqual(expected);
      expect(folder.hasRun()).toBe(false);
    });
  }

  for (const variables of alone) {
    const names = Object.entries(variables).map(([name, value]) => `${name}=${value.replaceAll(folder.path, ".")}`);
    test(`with ${names.join(" ")}`, async () => {
      const words = ["mem", "get", "notes", "1"];
      expect(await inFolder({ ...quiet, ...variables }, words)).toEqual(await svc(quiet, words));
      const run = await inFolder({ ...quiet, ...variables }, ["run", "evil.ts"]);
      expect({ code: run.code, out: run.out }).toEqual({ code: 2, out: "" });
      expect(run.err).toStartWith("svc: unknown command 'run'");
      expect(folder.hasRun()).toBe(false);
    });
  }
});

test("a login and a first note", async () => {
  const home = mkdtempSync(join(tmpdir(), "svc-hostile-home-"));
  const env = { ...hostile, SVC_HOME: join(home, "svc") };
  const login = await inFolder(env, ["login", "--yes"]);
  expect(login.code).toBe(0);
  // A request that is printed has lines of its method, its headers and its answer.
  expect(login.out + login.err).not.toMatch(/curl|HTTP|[Bb]earer|authorization|content-type/i);
  expect((await inFolder(env, ["mem", "add", "notes", "a note", "--id", "1"])).code).toBe(0);
  expect((await inFolder(env, ["logout"])).code).toBe(0);
  expect(folder.hasRun()).toBe(false);
});

test("svc mcp: initialize, tools/list and a call", async () => {
  const session = await Session.openIn(folder.path, hostile);
  try {
    expect((await session.client.listTools()).tools).toHaveLength(19);
    const { hits } = await session.call("svc_search", { collection: "notes", query: "deploy" });
    expect(hits.map(({ id }: { id: string }) => id)).toEqual(["1"]);
  } finally {
    await session.close();
  }
  expect(folder.hasRun()).toBe(false);
});

test("svc serve: a large frame is read by the thread in the executable", async () => {
  const socket = join(mkdtempSync(join(tmpdir(), "svc-hostile-")), "s.sock");
  const child = Bun.spawn([beside, "serve", "--socket", socket], {
    env: hostile,
    cwd: folder.path,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  try {
    for await (const _ of child.stdout) break; // it listens
    const raw = await Raw.open(`unix://${socket}`);
    raw.send(large({ op: "stats" }, 400_000));
    expect((await raw.next())?.ok).toBe(true);
    raw.close();
  } finally {
    child.kill();
  }
  expect(await new Response(child.stderr).text()).not.toContain("JSC");
  expect(folder.hasRun()).toBe(false);
});

test("an authority or packages server whose certificate is its own is refused by that name, whatever NODE_TLS_REJECT_UNAUTHORIZED says", async () => {
  asked = 0;
  using authority = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: selfSigned(),
    fetch: () => {
      asked++;
      return new Response("{}");
    },
  });
  const env = {
    ...emptyHome(),
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    SVC_ACCOUNTS_URL: `https://localhost:${authority.port}`,
    SVC_LICENSE_PUBKEY: testKey("license").publicPem,
  };
  const { code, err } = await inFolder(env, ["login", "--token", "-"], "secret-token\n");
  const named = (peer: string) =>
    new RegExp(
      `cannot reach ${peer} at https://localhost:\\d+: its certificate is not trusted \\([A-Z_]+\\); 'svc login --ca-file`,
    );
  expect(err).toMatch(named("the accounts server"));
  expect({ code, asked }).toEqual({ code: 1, asked: 0 });
  const packages = { ...quiet, SVC_PACKAGES_URL: env.SVC_ACCOUNTS_URL, NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  const install = await inFolder(packages, ["runtime", "install"]);
  expect(install.err).toMatch(named("the packages server"));
  expect({ code: install.code, asked }).toEqual({ code: 1, asked: 0 });
});

test("a crash sends no report", async () => {
  asked = 0;
  const reports = `http://127.0.0.1:${listener.port}`;
  const child = Bun.spawn([beside, "mcp"], {
    env: { ...quiet, BUN_CRASH_REPORT_URL: reports, BUN_ENABLE_CRASH_REPORTING: "1" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  child.stdin.flush();
  for await (const _ of child.stdout) break; // it runs
  child.kill("SIGSEGV");
  await child.exited;
  // The report is another process, which does not end with this one.
  await Bun.sleep(500);
  expect(asked).toBe(0);
});
