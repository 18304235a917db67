/** Executables of several releases that upgrade each other, over a host of releases on loopback. */
import { beforeAll, beforeEach, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { BuildInfo } from "../../src/build-info.ts";
import { releasesPath } from "../../src/paths.ts";
import { keyId } from "../../src/trust/runtime/anchor.ts";
import { ReleaseHost } from "../build/release/release-host.ts";
import { removedAtEnd } from "../fixture.ts";
import { testKey } from "../keys.ts";
import { closedAtEnd } from "../opened.ts";
import { packagesServer } from "../trust/account/packages-server.ts";
import { executableOf } from "./executables.ts";
import { copyOfHome, emptyHome, type Home, ROOT, svc } from "./home.ts";

const [one, two, three] = [testKey("roll-1"), testKey("roll-2"), testKey("roll-3")];
const OWN: BuildInfo = JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8"));
const host = await ReleaseHost.start();
/** Of three releases: the first two know keys 1 and 2; the third is signed by 2 and ends 1. */
let executables: [first: string, second: string, third: string];
/** After a login with the first one. */
let original: Home;
let env: Home;
/** Where the executable under test is. */
let path = "";

beforeAll(async () => {
  const { version, release } = OWN;
  const ends = [keyId(one.publicPem)];
  executables = [
    await executableOf("twin", { version, release, keys: [one, two] }),
    await executableOf("before", { version: "1.0.0", release: 1_000_000, keys: [one, two] }),
    await executableOf("after", { version: "1.1.0", release: 1_001_000, keys: [two, three], ends }),
  ];
  await host.publish({ version, release, executable: executables[0], key: one, isQuick: true });
  await host.publish({ version: "1.0.0", release: 1_000_000, executable: executables[1], key: one, isQuick: true });
  original = emptyHome();
  const login = await svc(original, ["login", "--yes"], "", { exe: executables[0] });
  if (login.code !== 0) throw new Error(login.err);
}, 300_000);
beforeEach(() => {
  env = { ...copyOfHome(original), SVC_BASE_URL: host.url };
  removedAtEnd(env.HOME!);
  path = join(env.HOME!, "bin/svc");
  mkdirSync(join(env.HOME!, "bin"));
  copyFileSync(executables[0], path);
});

const run = (...words: string[]) => svc(env, words, "", { exe: path });
const ok = async (...words: string[]) => {
  const ended = await run(...words);
  if (ended.code !== 0) throw new Error(`svc ${words.join(" ")}: ${ended.err}`);
  return ended.out;
};
const version = async () => JSON.parse(await ok("version", "--json")).version;
const beside = () => readdirSync(join(env.HOME!, "bin/.svc-upgrade")).sort();

test("an upgrade puts the newest release in place with its runtime, and a rollback takes both back", async () => {
  await ok("mem", "add", "notes", "We deploy blue-green.");
  expect(await ok("upgrade", "--check")).toBe(
    `svc 1.0.0 is the newest release, and this is ${OWN.version}: 'svc upgrade' installs it\n`,
  );
  const { code, out, err } = await run("upgrade");
  expect({ code, out, err }).toEqual({
    code: 0,
    out:
      `installed svc 1.0.0 in the place of ${OWN.version}; 'svc upgrade --rollback' goes back\n` +
      "installed its native runtime (release 1000000)\n",
    err: "",
  });
  expect(await version()).toBe("1.0.0");
  expect(beside()).toEqual(["lock", "svc.previous"]);
  expect(await ok("mem", "search", "notes", "deploy", "--with-text")).toContain("blue-green");
  await ok("runtime", "verify");
  expect(await ok("upgrade")).toBe("svc 1.0.0 is the newest release, and this is it\n");

  const back = JSON.parse(await ok("upgrade", "--rollback", "--json"));
  expect(back).toMatchObject({ from: { version: "1.0.0" }, to: { version: OWN.version }, runtime: { ok: true } });
  expect(await version()).toBe(OWN.version);
  expect(await ok("mem", "search", "notes", "deploy", "--with-text")).toContain("blue-green");
  expect(beside()).toEqual(["lock", "svc.previous"]);
});

test("running servers answer every call during and after an upgrade, and are listed with their client", async () => {
  await ok("mcp", "install", "--client", "cursor", "--yes");
  await ok("mem", "add", "notes", "We deploy blue-green.");
  const [busy, idle] = [await session(), await session()];
  const find = (one: Client) =>
    one.callTool({ name: "svc_search", arguments: { collection: "notes", query: "deploy" } });
  await find(busy);
  let isDone = false;
  let calls = 0;
  const asking = (async () => {
    for (; !isDone; calls++) expect(await find(busy)).not.toMatchObject({ isError: true });
  })();
  const outcome = JSON.parse(await ok("upgrade", "--json"));
  isDone = true;
  await asking;
  expect(calls).toBeGreaterThan(10);
  expect(outcome.clients).toEqual(["Cursor"]);
  expect(outcome.running.map(({ command }: { command: string }) => command)).toEqual(["svc mcp", "svc mcp"]);
  // What they load from now on is in the file that was replaced, and so is the runtime of the one that was idle.
  const isGood = async (one: Client, name: string, args: object) =>
    expect(await one.callTool({ name, arguments: { collection: "notes", ...args } })).not.toMatchObject({
      isError: true,
    });
  for (const one of [busy, idle]) {
    await isGood(one, "svc_search", { query: "deploy" });
    await isGood(one, "svc_add", { texts: ["We release on Tuesdays."] });
    await isGood(one, "svc_tune", {});
  }
  for (const one of [busy, idle]) await one.close();
});

/** A client of `svc mcp` that was started with the file in place now. */
async function session(): Promise<Client> {
  const client = new Client({ name: "e2e", version: "1" });
  await client.connect(new StdioClientTransport({ command: path, args: ["mcp"], env, stderr: "ignore" }));
  return closedAtEnd(client);
}

test("a release that ends the key of the one before is taken, and what that key signed is not taken again", async () => {
  copyFileSync(executables[1], path);
  await ok("runtime", "install");
  await host.publish({
    ...{ version: "1.1.0", release: 1_001_000, executable: executables[2], key: two, isQuick: true },
    ends: [keyId(one.publicPem)],
  });
  expect(await ok("upgrade")).toStartWith("installed svc 1.1.0 in the place of 1.0.0;");
  expect(await ok("mem", "list")).toBe("");
  expect(JSON.parse(readFileSync(releasesPath(env.SVC_HOME!), "utf8")).ended).toEqual([keyId(one.publicPem)]);
  expect((await run("upgrade", "--rollback")).err).toBe(
    "svc: svc 1.0.0 is signed by a release key that has ended: choose a newer version\n",
  );
  expect((await run("upgrade", "--version", "1.0.0")).err).toMatch(/names a release key that this svc does not know/);
  // The executable before still knows the key, and this machine that it has ended.
  copyFileSync(executables[1], path);
  expect((await run("upgrade", "--version", OWN.version)).err).toBe(
    `svc: svc ${OWN.version} is signed by a release key that has ended: choose a newer version\n`,
  );
  expect(beside()).toEqual(["lock", "svc.previous"]);
});

test("the proxy of the environment is asked for the release host, and none for a host on this machine", async () => {
  const proxy = await packagesServer(() => ({ status: 502 }));
  const proxied = { ...env, HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url };
  const check = (base: string) => svc({ ...proxied, SVC_BASE_URL: base }, ["upgrade", "--check"], "", { exe: path });
  expect(await check("https://releases.invalid")).toMatchObject({ code: 1, out: "" });
  expect(proxy.asked.map(({ path }) => path)).toEqual(["releases.invalid:443"]);
  expect(await check(host.url)).toMatchObject({ code: 0 });
  expect(proxy.asked).toHaveLength(1);
});

test("of two upgrades at once one says so, and a killed one leaves the old file", async () => {
  host.change = (found, { path }) => (path.endsWith(".zst") ? { ...found, stop: 0 } : found);
  const first = Bun.spawn([path, "upgrade", "--version", "1.0.0"], {
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await host.stopped.promise;
  host.reset();
  expect(await run("upgrade", "--version", "1.0.0")).toMatchObject({
    code: 1,
    err: "svc: another 'svc upgrade' of this file is running: wait until it ends\n",
  });
  first.kill("SIGKILL");
  await first.exited;
  expect(await version()).toBe(OWN.version);
  expect(await ok("upgrade", "--version", "1.0.0")).toStartWith("installed svc 1.0.0");
});
