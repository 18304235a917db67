/** `svc mcp --login`: where there is no login, the first tool call signs in and installs the runtime. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { platformTag } from "../../src/paths.ts";
import { startAuthority } from "../../src/trust/authority/server/server.ts";
import { testKey } from "../keys.ts";
import { leftIn } from "../trust/account/kills.ts";
import { executableOf } from "./executables.ts";
import { asPlainUser, copyOfHome, emptyHome, type Home, ROOT, Session, SVC, signedIn, svc } from "./home.ts";

const ADD = { collection: "notes", texts: ["We deploy blue-green."] };
const NOTICE =
  /^svc signed in with this machine's local authority, without network .* and installed its native runtime$/;
const identity = (env: Home) => ["device_id", "token"].map((name) => readFileSync(join(env.SVC_HOME!, name), "utf8"));

/** What a server answers to one call, after the words of `prefix`, without the reference client. */
async function callOf(env: Home, name: string, args: object, prefix: readonly string[] = [], exe = SVC) {
  const child = Bun.spawn([...prefix, exe, "mcp", "--login"], { env, cwd: "/", stdin: "pipe", stdout: "pipe" });
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "e2e", version: "1" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  send({ id: 2, method: "tools/call", params: { name, arguments: args } });
  await child.stdin.flush();
  let text = "";
  for await (const bytes of child.stdout) {
    text += new TextDecoder().decode(bytes);
    if (text.includes('"id":2')) break;
  }
  child.stdin.end();
  await child.exited;
  const answers = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { result } = answers.find(({ id }) => id === 2);
  return { text: result.content[0].text as string, isError: result.isError as boolean };
}

test("the first call signs in, says so once, and the tools work; before it nothing is made", async () => {
  const env = emptyHome();
  const session = await Session.open(env, "--login");
  expect((await session.client.listTools()).tools).toHaveLength(19);
  expect(existsSync(env.SVC_HOME!)).toBe(false);
  // An error has no notice: the next answer has it.
  expect(await session.raw("svc_count", { collection: "absent" })).toMatchObject({ isError: true });
  const { notice } = await session.call("svc_list_collections");
  expect(notice).toMatch(NOTICE);
  expect(await session.call("svc_add", ADD)).not.toHaveProperty("notice");
  const { hits } = await session.call("svc_search", { collection: "notes", query: "how do we deploy" });
  expect(hits).toHaveLength(1);
  expect((await svc(env, ["mem", "search", "notes", "deploy"])).out).toContain("blue-green");
  const doctor = JSON.parse((await svc(env, ["doctor", "--json"])).out);
  const bad = doctor.findings.filter(({ level }: { level: string }) => level === "problem");
  expect(bad).toEqual([]);
});

test("without the flag every call is refused, and nothing is made", async () => {
  const env = emptyHome();
  const session = await Session.open(env);
  const refused = { text: "PermissionError: not logged in: run 'svc login' once", isError: true };
  expect(await session.raw("svc_add", ADD)).toEqual(refused);
  expect(existsSync(env.SVC_HOME!)).toBe(false);
});

test("ten clients whose first calls come at once make one login", async () => {
  const env = emptyHome();
  const sessions = await Promise.all(Array.from({ length: 10 }, () => Session.open(env, "--login")));
  const answers = await Promise.all(sessions.map((session) => session.call("svc_add", ADD)));
  expect(answers.filter(({ notice }) => NOTICE.test(notice))).toHaveLength(1);
  expect(answers.every(({ added }) => added === 1)).toBe(true);
  const ledger = new (await import("bun:sqlite")).Database(join(env.SVC_HOME!, "authority/ledger.sqlite"));
  for (const table of ["devices", "licenses", "tokens"])
    expect(ledger.query(`SELECT count(*) AS n FROM ${table}`).get()).toEqual({ n: 1 });
  ledger.close();
  expect(leftIn(env.SVC_HOME!)).toEqual([]);
});

test("the lock of a process that was killed while it held it stops no other client", async () => {
  const env = emptyHome();
  mkdirSync(env.SVC_HOME!, { mode: 0o700 });
  const lock = join(env.SVC_HOME!, ".first-login.lock");
  const hold = `(await import(process.argv[1])).withLock(process.argv[2], () => { console.log("held"); return Bun.sleep(60_000); })`;
  const words = [process.execPath, "-e", hold, join(ROOT, "src/durable.ts"), lock];
  const holder = Bun.spawn(words, { stdout: "pipe" });
  for await (const _ of holder.stdout) break;
  let isAnswered = false;
  const waiting = callOf(env, "svc_add", ADD).finally(() => {
    isAnswered = true;
  });
  await Bun.sleep(300);
  expect(isAnswered).toBe(false);
  holder.kill("SIGKILL");
  expect(await waiting).toMatchObject({ isError: false });
});

describe("what a person decided stands:", () => {
  test("after a logout no call signs in, until a person does", async () => {
    const env = await signedIn();
    expect(await svc(env, ["logout"])).toMatchObject({ code: 0 });
    const session = await Session.open(env, "--login");
    const why = "PermissionError: not logged in: 'svc logout' was run, and 'svc mcp --login' does not sign in after it";
    expect(await session.raw("svc_add", ADD)).toEqual({ text: `${why}: run 'svc login'`, isError: true });
    expect(existsSync(join(env.SVC_HOME!, "device_id"))).toBe(false);
    expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0 });
    expect(await session.call("svc_add", ADD)).not.toHaveProperty("notice");
    // Losing its files is not a logout.
    for (const name of ["login_license.jwt", "token", "api_key"]) rmSync(join(env.SVC_HOME!, name));
    expect(await callOf(env, "svc_add", ADD)).toMatchObject({ isError: false });
  });

  test("also where there was nothing to log out of", async () => {
    const env = emptyHome();
    expect(await svc(env, ["logout"])).toMatchObject({ code: 0 });
    expect((await callOf(env, "svc_add", ADD)).text).toContain("'svc logout' was run");
    expect(readdirSync(env.SVC_HOME!).sort()).toEqual([".login.lock", "logged_out"]);
  });

  test("an organisation's login is not replaced", async () => {
    const env = emptyHome();
    const data = join(env.HOME!, "organisation");
    const authority = await startAuthority({ home: env.HOME!, data });
    const { origin } = new URL(authority.url);
    const pin = { format: 1, issuer: authority.url, license_key: authority.licensePublicKeyPem, ca: null };
    try {
      // By the environment, and by what a login has pinned.
      const named = { SVC_ACCOUNTS_URL: authority.url, SVC_LICENSE_PUBKEY: authority.licensePublicKeyPem };
      const why = `the authority of this machine is ${origin}, where 'svc mcp --login' does not sign in`;
      expect((await callOf({ ...env, ...named }, "svc_add", ADD)).text).toContain(why);
      expect(existsSync(env.SVC_HOME!)).toBe(false);
      mkdirSync(env.SVC_HOME!, { mode: 0o700 });
      const record = { ...pin, successors: [], pinned_at: 1 };
      writeFileSync(join(env.SVC_HOME!, "authority.json"), JSON.stringify(record), { mode: 0o600 });
      expect((await callOf(env, "svc_add", ADD)).text).toContain(why);
      expect(readdirSync(env.SVC_HOME!)).toEqual(["authority.json"]);
    } finally {
      await authority.stop();
    }
  });

  test("a build for one authority refuses the flag, and writes it into no entry", async () => {
    const keys = [testKey("roll-1"), testKey("roll-2")] as const;
    const vendor = { authority: "https://svc.example.org", licensePublicKey: testKey("license").publicPem };
    const exe = await executableOf("first-vendor", { version: "1.0.0", release: 1, keys, vendor });
    const env = emptyHome();
    const { code, err } = await svc(env, ["mcp", "--login"], "", { exe });
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining("--login: this build signs in only at its organisation: run 'svc login' once"),
    });
    const { out } = await svc(env, ["mcp", "install", "--json"], "", { exe });
    expect(JSON.parse(out).server.args).toEqual(["mcp", "--with-text"]);
  });
});

test("a runtime that an older svc left is replaced, and one that was changed is not", async () => {
  const keys = [testKey("roll-1"), testKey("roll-2")] as const;
  const old = await executableOf("before", { version: "1.0.0", release: 1_000_000, keys });
  const next = await executableOf("first-next", { version: "1.0.0", release: 1_000_001, keys });
  const env = emptyHome();
  expect(await callOf(env, "svc_add", ADD, [], old)).toMatchObject({ isError: false });
  const updated = await callOf(env, "svc_add", ADD, [], next);
  expect(JSON.parse(updated.text).notice).toBe("svc installed its native runtime");
  // The older svc can use the newer one, and does not put its own in its place.
  expect(await callOf(env, "svc_count", { collection: "notes" }, [], old)).toMatchObject({ isError: false });
  const folder = join(env.SVC_HOME!, "runtime", platformTag()!);
  const library = readdirSync(folder).find((name) => name.startsWith("libty_runtime"))!;
  writeFileSync(join(folder, library), "changed");
  const refused = await callOf(env, "svc_add", ADD, [], next);
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("svc runtime install") });
  expect(readFileSync(join(folder, library), "utf8")).toBe("changed");
});

describe("a folder that cannot be used is named, with what to do:", () => {
  const instead = "set SVC_HOME in the client's configuration to a folder that this user can write";

  test.skipIf(asPlainUser === undefined)(
    "one that is read-only, and the next call after that is mended works",
    async () => {
      const env = emptyHome();
      mkdirSync(env.SVC_HOME!, { mode: 0o500 });
      const why = `OSError: SVC_HOME, '${env.SVC_HOME}', cannot be written (EACCES): let this user write there, or ${instead}`;
      expect(await callOf(env, "svc_add", ADD, asPlainUser)).toEqual({ text: why, isError: true });
      chmodSync(env.SVC_HOME!, 0o700);
      chmodSync(env.HOME!, 0o500);
      const absent = { ...env, SVC_HOME: "" };
      const text = `OSError: the folder of svc, '~/.svc', cannot be created (EACCES): let this user write there, or ${instead}`;
      expect(await callOf(absent, "svc_add", ADD, asPlainUser)).toEqual({ text, isError: true });
      expect(await callOf(env, "svc_add", ADD, asPlainUser)).toMatchObject({ isError: false });
      chmodSync(env.HOME!, 0o700);
    },
  );

  test("one that is a file, or below one; the same server works once it is gone", async () => {
    const env = emptyHome();
    writeFileSync(env.SVC_HOME!, "");
    const session = await Session.open(env, "--login");
    const text = `OSError: SVC_HOME, '${env.SVC_HOME}', is a file and not a folder: ${instead}`;
    expect(await session.raw("svc_add", ADD)).toEqual({ text, isError: true });
    const below = { ...env, SVC_HOME: join(env.SVC_HOME!, "home") };
    expect((await callOf(below, "svc_add", ADD)).text).toContain("would be in a file and not a folder");
    rmSync(env.SVC_HOME!);
    expect(await session.call("svc_add", ADD)).toMatchObject({ added: 1, notice: expect.stringMatching(NOTICE) });
  });

  const mount = process.platform === "linux" ? Bun.which("mount") : null;
  const small = (folder: string, size: string) =>
    mount !== null && Bun.spawnSync([mount, "-t", "tmpfs", "-o", `size=${size},mode=700`, "none", folder]).success;

  test("one on a full disk, at whatever file it is full", async () => {
    for (const kib of [4, 16, 64, 180, 400, 4000]) {
      const env = emptyHome();
      mkdirSync(env.SVC_HOME!, { mode: 0o700 });
      if (!small(env.SVC_HOME!, `${kib}k`)) return; // not without the right to mount
      try {
        const { text, isError } = await callOf(env, "svc_list_collections", {});
        expect(isError).toBe(true);
        expect(text).toMatch(/^OSError: .*(free some space|check the disk and its free space)/);
        Bun.spawnSync([mount!, "-o", "remount,size=64m", env.SVC_HOME!]);
        expect(await callOf(env, "svc_list_collections", {})).toMatchObject({ isError: false });
        expect(leftIn(env.SVC_HOME!)).toEqual([]);
      } finally {
        Bun.spawnSync(["umount", "--lazy", env.SVC_HOME!]);
      }
    }
  });
});

test.skipIf(process.getuid?.() !== 0 || asPlainUser === undefined)(
  "another user with an empty home (needs root and setpriv)",
  async () => {
    // Not in the temporary folder of the tests, which is closed to other users.
    const place = mkdtempSync("/tmp/svc-e2e-");
    try {
      chownSync(place, 54_321, 54_321);
      const env = { ...emptyHome(), HOME: place, SVC_HOME: "", TMPDIR: "/tmp" };
      const user = [Bun.which("setpriv")!, "--reuid=54321", "--regid=54321", "--clear-groups", "--bounding-set=-all"];
      // The checkout may lie where another user cannot go.
      if (Bun.spawnSync([...user, SVC, "version"], { env, cwd: "/" }).exitCode !== 0) return;
      const added = await callOf(env, "svc_add", ADD, user);
      expect(JSON.parse(added.text)).toMatchObject({ added: 1, notice: expect.stringMatching(NOTICE) });
      const found = await callOf(env, "svc_search", { collection: "notes", query: "deploy" }, user);
      expect(JSON.parse(found.text).hits).toHaveLength(1);
    } finally {
      rmSync(place, { recursive: true });
    }
  },
);

test("status and doctor say that the first call signs in, where the entry passes --login", async () => {
  const env = emptyHome();
  mkdirSync(join(env.HOME!, ".cursor"));
  const installed = await svc(env, ["mcp", "install", "--client", "cursor"]);
  const FIRST = "not logged in: the first tool call signs in with this machine's local authority, without network";
  expect(installed).toMatchObject({ code: 0, err: expect.stringContaining(FIRST) });
  const file = join(env.HOME!, ".cursor/mcp.json");
  expect(JSON.parse(readFileSync(file, "utf8")).mcpServers.svc.args).toEqual(["mcp", "--with-text", "--login"]);
  expect(await svc(env, ["mcp", "status"])).toMatchObject({
    code: 0,
    err: expect.stringContaining(`Cursor: ${FIRST}`),
  });
  const found = async () => {
    const { findings } = JSON.parse((await svc(env, ["doctor", "--json"])).out);
    return (findings as { check: string; level: string }[]).filter(({ check }) => /^(login|runtime)/.test(check));
  };
  const levels = (await found()).map(({ check, level }) => `${check} ${level}`);
  expect(levels).toEqual(["login.not_logged_in warning", "runtime.installed warning"]);
  expect(existsSync(env.SVC_HOME!) && existsSync(join(env.SVC_HOME!, "device_id"))).toBe(false);

  await svc(env, ["logout"]);
  const status = await svc(env, ["mcp", "status"]);
  expect(status.err).toContain("Cursor: not logged in: 'svc logout' was run");
  expect((await found())[0]).toMatchObject({ check: "login.not_logged_in", level: "problem" });
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/,\s*"--login"/, ""));
  expect((await svc(env, ["mcp", "status"])).err).toContain("Cursor: not logged in: run 'svc login' once");
});

test("a client that is killed, or ends, while it signs in leaves the next one to do it", async () => {
  const all = [20, 60, 100, 140, 180, 220, 260, 300, 340, 380, 420, 500];
  for (const ms of process.env.KILLS === "all" ? all : [60, 180, 300, 420]) {
    const env = emptyHome();
    const sessions = await Promise.all([Session.open(env, "--login"), Session.open(env, "--login")]);
    const calls = sessions.map((session) => session.raw("svc_add", ADD).catch(() => "ended"));
    await Bun.sleep(ms);
    process.kill(sessions[0]!.transport.pid!, "SIGKILL");
    const [, second] = await Promise.all(calls);
    expect(second).toMatchObject({ isError: false });
    expect(await callOf(env, "svc_count", { collection: "notes" })).toMatchObject({ isError: false });
    expect(leftIn(env.SVC_HOME!)).toEqual([]);
    expect(identity(env).every((text) => text.length > 10)).toBe(true);
  }
});

test("ten clients at once, of which four are killed meanwhile: the other six are answered", async () => {
  const env = emptyHome();
  const sessions = await Promise.all(Array.from({ length: 10 }, () => Session.open(env, "--login")));
  const calls = sessions.map((session) => session.raw("svc_add", ADD).catch(() => undefined));
  for (const session of sessions.slice(0, 4)) {
    await Bun.sleep(70);
    process.kill(session.transport.pid!, "SIGKILL");
  }
  const answers = (await Promise.all(calls)).slice(4);
  expect(answers.map((answer) => answer?.isError)).toEqual(answers.map(() => false));
  expect(leftIn(env.SVC_HOME!)).toEqual([]);
  expect(identity(env).every((text) => text.length > 10)).toBe(true);
}, 60_000);

test("a home that was copied without its runtime gets one, and its login stays", async () => {
  const env = copyOfHome(await signedIn());
  rmSync(join(env.SVC_HOME!, "runtime"), { recursive: true });
  const before = identity(env);
  const { text } = await callOf(env, "svc_add", ADD);
  expect(JSON.parse(text).notice).toBe("svc installed its native runtime");
  expect(identity(env)).toEqual(before);
});
