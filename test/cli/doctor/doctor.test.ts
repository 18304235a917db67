/** What the doctor finds in homes, logins and memories that something is wrong with, and how it is printed. */
import { afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { tryLock } from "../../../ffi/system/calls.ts";
import { report } from "../../../src/cli/doctor/doctor.ts";
import { checkExecutable, versionOf } from "../../../src/cli/doctor/executable.ts";
import { type Finding, remedyIn, span, tilde } from "../../../src/cli/doctor/finding.ts";
import { checkHome, roomFinding } from "../../../src/cli/doctor/home.ts";
import { checkLogin } from "../../../src/cli/doctor/login.ts";
import { checkMemory } from "../../../src/cli/doctor/memory.ts";
import { accountPaths, authorityPaths } from "../../../src/paths.ts";
import { ensureDevice } from "../../../src/trust/account/device.ts";
import { revocationRecord } from "../../../src/trust/account/license/revocation.ts";
import { testKey } from "../../keys.ts";
import { goodClaims, LICENSE_KEY_PEM, LICENSE_PUBLIC_PEM, newHome, signed } from "../../trust/account/helpers.ts";

const DAY = 86_400;

/** A finding as its level and its remedy; undefined where there is none of that check. */
function found(findings: readonly Finding[], check: string) {
  return findings.find((one) => one.check === check);
}

describe("SVC_HOME", () => {
  test("that is not there yet is not a mistake", () => {
    const findings = checkHome({ HOME: "/h", SVC_HOME: join(newHome(), "none") });
    expect(found(findings, "home.absent")).toMatchObject({ level: "ok" });
    expect(findings.every(({ level }) => level === "ok")).toBe(true);
  });

  test("that others may look into, or write to, names the chmod", () => {
    const home = newHome();
    chmodSync(home, 0o755);
    expect(found(checkHome({ SVC_HOME: home }), "home.readable")).toMatchObject({
      level: "warning",
      remedy: expect.stringMatching(/^chmod go-rwx /),
    });
    chmodSync(home, 0o777);
    expect(found(checkHome({ SVC_HOME: home }), "home.permissions")).toMatchObject({
      level: "problem",
      remedy: expect.stringMatching(/^chmod go-w /),
    });
  });

  test("that is a file, or that this user cannot use", () => {
    const home = newHome();
    writeFileSync(join(home, "file"), "");
    const noFolder = checkHome({ SVC_HOME: join(home, "file") });
    expect(noFolder).toEqual([expect.objectContaining({ check: "home.no_folder", level: "problem" })]);
    // Root may use everything.
    if (process.getuid?.() === 0) return;
    chmodSync(home, 0o500);
    expect(found(checkHome({ SVC_HOME: home }), "home.access")).toMatchObject({ level: "problem" });
    chmodSync(home, 0o700);
  });

  test.each([
    [50 * 2 ** 20, 1000, "problem", "only 50 MB free"],
    [500 * 2 ** 20, 1000, "warning", "only 500 MB free"],
    [5 * 2 ** 30, undefined, "ok", "5.0 GB free"],
    [5 * 2 ** 30, 3, "problem", "only 3 more files fit"],
  ] as const)("with %d bytes and %p files free", (bytes, files, level, message) => {
    const room = roomFinding(bytes, files, "move it");
    expect(room).toMatchObject({ level, message: expect.stringContaining(message) });
    expect(room.remedy).toBe(level === "ok" ? undefined : "free some room, or move it");
  });
});

describe("the login", () => {
  /** A home whose login is good but for what is wrong with its claims. */
  async function loggedIn(change: Record<string, unknown> = {}, isOwn = false) {
    const home = newHome();
    const device = await ensureDevice(home);
    const paths = accountPaths(home);
    const jwt = await signed({ ...goodClaims(device.thumbprint), ...change });
    for (const [path, text] of [
      [paths.license, jwt],
      [paths.apiKey, "key"],
      [paths.token, "token"],
    ] as const)
      writeFileSync(path, `${text}\n`, { mode: 0o600 });
    const own = authorityPaths(home);
    if (isOwn) {
      mkdirSync(own.dir, { mode: 0o700 });
      writeFileSync(own.licenseKey, LICENSE_KEY_PEM, { mode: 0o600 });
      writeFileSync(own.licensePublicKey, LICENSE_PUBLIC_PEM, { mode: 0o600 });
    }
    const env = isOwn ? { SVC_HOME: home } : { SVC_HOME: home, SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
    return { home, paths, env };
  }
  const now = Math.floor(Date.now() / 1000);

  test("that is good", async () => {
    const { env, home } = await loggedIn({ exp: now + 90 * DAY });
    const { findings, license } = await checkLogin(env);
    expect(license?.tier).toBe("community");
    expect(found(findings, "login.licence")).toMatchObject({ level: "ok", remedy: null });
    // The key of the environment is a warning, as tests have one.
    expect(findings.filter(({ level }) => level !== "ok").map(({ check }) => check)).toEqual(["login.anchor"]);
    expect(found(findings, "login.anchor")).toMatchObject({ remedy: "unset SVC_LICENSE_PUBKEY" });
    // Nothing is written, the latest time seen neither.
    expect(readdirSync(home)).not.toContain("clock");
  });

  const CASES: [string, Record<string, unknown>, string, Finding["level"]][] = [
    [
      "has expired",
      { exp: now - 60 * DAY, iat: now - 90 * DAY, nbf: now - 90 * DAY },
      "login.license_expired",
      "problem",
    ],
    ["is in its days of grace", { exp: now - DAY, iat: now - 90 * DAY, nbf: now - 90 * DAY }, "login.grace", "warning"],
    ["is for another device", { cnf: { jkt: "other" } }, "login.license_invalid", "problem"],
    ["lacks features", { products: { svc: { tier: "t", features: ["memory"] } } }, "login.features", "warning"],
    ["ends soon", { exp: now + 10 * DAY, iat: now - 80 * DAY, nbf: now - 80 * DAY }, "login.renewal", "warning"],
  ];
  test.each(CASES)("whose licence %s", async (_, change, check, level) => {
    const { env } = await loggedIn(change);
    const { findings } = await checkLogin(env);
    expect(found(findings, check)).toMatchObject({ level, remedy: expect.stringContaining("svc login") });
  });

  test("whose licence this machine signs by itself only warns when it has expired", async () => {
    const { env } = await loggedIn({ exp: now - 60 * DAY, iat: now - 90 * DAY, nbf: now - 90 * DAY }, true);
    const { findings } = await checkLogin(env);
    expect(found(findings, "login.license_expired")).toMatchObject({
      level: "warning",
      message: expect.stringContaining("by itself"),
    });
  });

  test("with a clock that went back", async () => {
    const { env, paths } = await loggedIn();
    writeFileSync(paths.clock, `${now + 5 * DAY}\n`, { mode: 0o600 });
    const { findings } = await checkLogin(env);
    expect(found(findings, "login.clock")).toMatchObject({ level: "warning", remedy: "svc login" });
    expect(readFileSync(paths.clock, "utf8")).toBe(`${now + 5 * DAY}\n`);
  });

  test("that was revoked, is incomplete, or whose secret others can read", async () => {
    const { env, paths } = await loggedIn();
    chmodSync(paths.apiKey, 0o644);
    expect(found((await checkLogin(env)).findings, "login.secret_exposed")).toMatchObject({
      level: "problem",
      remedy: expect.stringMatching(/^chmod 600 /),
    });
    rmSync(paths.apiKey);
    expect(found((await checkLogin(env)).findings, "login.denied")).toMatchObject({ remedy: "svc login" });
    mkdirSync(paths.apiKey);
    const remedy = expect.stringMatching(/^rm -r .*\/api_key"$/);
    expect(found((await checkLogin(env)).findings, "login.failed")).toMatchObject({ remedy });
    rmdirSync(paths.apiKey);
    writeFileSync(paths.revoked, revocationRecord("https://svc.example.org", now), { mode: 0o600 });
    expect(found((await checkLogin(env)).findings, "login.device_revoked")).toMatchObject({
      level: "problem",
      message: expect.stringContaining("revoked at https://svc.example.org"),
    });
  });

  test("whose device key is gone: its id is registered with that key", async () => {
    const { env, paths } = await loggedIn();
    rmSync(paths.deviceKey);
    const { findings } = await checkLogin(env);
    expect(found(findings, "login.denied")).toMatchObject({ remedy: "svc logout && svc login" });
  });

  test("with keys and secrets of the environment", async () => {
    const { env } = await loggedIn();
    const { findings } = await checkLogin({
      ...env,
      SVC_TOKEN: "t",
      SVC_RELEASE_PUBKEY: testKey("other").publicPem,
    });
    const anchors = findings.filter(({ check }) => check === "login.anchor").map(({ remedy }) => remedy);
    expect(anchors).toEqual(["unset SVC_LICENSE_PUBKEY", "unset SVC_RELEASE_PUBKEY"]);
    expect(found(findings, "login.environment")?.message).toContain("SVC_TOKEN");
  });
});

describe("the memory, from outside", () => {
  const held: number[] = [];
  afterEach(() => {
    for (const fd of held.splice(0)) closeSync(fd);
  });

  /** A memory with a collection whose lock file says this, held by this process or not. */
  function locked(lines: string, { isHeld = true, ageMs = 0 } = {}) {
    const home = newHome();
    const folder = join(home, "memory", "notes");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "collection.json"), "{}");
    const lock = join(folder, ".lock");
    writeFileSync(lock, lines);
    const time = (Date.now() - ageMs) / 1000;
    utimesSync(lock, time, time);
    const fd = openSync(lock, "r+");
    held.push(fd);
    if (isHeld) expect(tryLock(fd)).toBe(true);
    return { env: { SVC_HOME: home }, lock };
  }
  const lines = (pid: number, words: string) => `writer ${String(pid).padEnd(24)}\n${words.padEnd(63)}\n`;

  test("shows who writes to a collection, and for how long", async () => {
    const { env } = locked(lines(process.pid, "svc mem import saving"), { ageMs: 5000 });
    const lock = found(await checkMemory({ env, license: undefined }), "memory.locked");
    expect(lock?.level).toBe("ok");
    expect(lock?.message).toContain(`process ${process.pid} (svc mem import)`);
    expect(lock?.message).toMatch(/\(for \d s\)$/);
  });

  test("warns of one that writes for very long, and of changes that wait for a save", async () => {
    const long = locked(lines(process.pid, "svc mem compact compacting"), { ageMs: 3_600_000 });
    expect(found(await checkMemory({ env: long.env, license: undefined }), "memory.locked")).toMatchObject({
      level: "warning",
      remedy: `ps -p ${process.pid}`,
    });
    const unsaved = locked(lines(process.pid, "svc serve unsaved"), { ageMs: 3_600_000 });
    expect(found(await checkMemory({ env: unsaved.env, license: undefined }), "memory.unsaved")).toMatchObject({
      level: "warning",
      message: expect.stringContaining("has unsaved changes in process"),
    });
  });

  test.skipIf(process.platform !== "linux")(
    "a stopped process that holds a lock is a problem (needs /proc)",
    async () => {
      const child = Bun.spawn(["sleep", "60"]);
      try {
        process.kill(child.pid, "SIGSTOP");
        const state = () => readFileSync(`/proc/${child.pid}/stat`, "utf8");
        while (!state().includes(") T ")) await Bun.sleep(5);
        const { env } = locked(lines(child.pid, "svc mem add saving"));
        expect(found(await checkMemory({ env, license: undefined }), "memory.locked")).toMatchObject({
          level: "problem",
          remedy: `kill -CONT ${child.pid}`,
        });
      } finally {
        child.kill("SIGKILL");
      }
    },
  );

  test("a lock that is not held says nothing, whatever stands in its file", async () => {
    const { env, lock } = locked(lines(1, "svc mem add saving"), { isHeld: false });
    const before = statSync(lock);
    expect(found(await checkMemory({ env, license: undefined }), "memory.locked")).toBeUndefined();
    expect([statSync(lock).mtimeMs, statSync(lock).ino]).toEqual([before.mtimeMs, before.ino]);
  });

  test("names what killed backups and removals left, and that nothing was opened", async () => {
    const home = newHome();
    const hourAgo = Date.now() / 1000 - 3_700;
    for (const name of [".svc-backup-x1", ".discarded-y 2", "notes", ".svc-staged-new"]) {
      mkdirSync(join(home, "memory", name), { recursive: true });
      if (!name.endsWith("new")) utimesSync(join(home, "memory", name), hourAgo, hourAgo);
    }
    const findings = await checkMemory({ env: { SVC_HOME: home }, license: undefined });
    const left = found(findings, "memory.leftovers");
    expect(left?.level).toBe("warning");
    expect(left?.message).toStartWith("2 folders are left");
    expect(left?.remedy).toContain("rm -r ");
    expect(left?.remedy).toContain(`/'memory/.discarded-y 2'`);
    expect(found(findings, "memory.unopened")).toMatchObject({ level: "warning", remedy: "svc login" });
  });

  test("that is a file, or not there", async () => {
    const home = newHome();
    expect(await checkMemory({ env: { SVC_HOME: home }, license: undefined })).toMatchObject([
      { check: "memory.empty" },
    ]);
    writeFileSync(join(home, "memory"), "");
    const findings = await checkMemory({ env: { SVC_HOME: home }, license: undefined });
    const remedy = expect.stringMatching(/^mv .*\/memory" .*\/memory.old"$/);
    expect(findings).toMatchObject([{ check: "memory.folder", level: "problem", remedy }]);
  });
});

describe("the executable", () => {
  test("another program says its version, or that it is something else", async () => {
    const home = newHome();
    const program = (name: string, script: string) => {
      writeFileSync(join(home, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return join(home, name);
    };
    const env = { PATH: process.env.PATH };
    expect(await versionOf(program("old", `echo '{"version":"0.0.1"}'`), env)).toBe("0.0.1");
    expect(await versionOf(program("other", "echo usage; exit 2"), env)).toBeUndefined();
    expect(await versionOf(join(home, "none"), env)).toBeUndefined();
  });

  test("from a checkout says so", async () => {
    expect(await checkExecutable({})).toMatchObject([{ check: "executable.version" }]);
  });
});

describe("a finding", () => {
  test("takes its command from the sentence of an error", () => {
    expect(remedyIn("not logged in: run 'svc login' once")).toBe("svc login");
    expect(remedyIn('others can write to x: run chmod go-w "$SVC_HOME/x"')).toBe('chmod go-w "$SVC_HOME/x"');
    expect(
      remedyIn("others can write to the folder /x above SVC_HOME: move SVC_HOME elsewhere, or run sudo chmod go-w /x"),
    ).toBe("sudo chmod go-w /x");
    expect(remedyIn("the disk is gone")).toBeUndefined();
  });

  test("has spans and paths as people say them", () => {
    expect([0, 119_000, 120_000, 7_200_000, 200_000_000].map(span)).toEqual(["0 s", "119 s", "2 min", "2 h", "2 days"]);
    expect(tilde("/h/a", { HOME: "/h" })).toBe("~/a");
    expect(tilde("/hx/a", { HOME: "/h" })).toBe("/hx/a");
  });
});

describe("the report", () => {
  const findings: Finding[] = [
    { area: "executable", check: "executable.version", level: "ok", message: "svc 1.2.3", remedy: null },
    {
      area: "memory",
      check: "memory.damaged",
      level: "problem",
      message: `collection '記憶の集まり' cannot be opened, ${"and this goes on ".repeat(12)}\x1b[31mred`,
      remedy: "svc mem check notes --repair",
    },
    {
      area: "clients",
      check: "clients.disabled",
      level: "warning",
      message: "it is switched off",
      remedy: "switch it on",
    },
  ];

  test.each([60, 80, 120, 200])("fits %d columns, and shows all of it", (columns) => {
    const text = report(findings, columns);
    for (const line of text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(text.replace(/\s+/g, " ")).toContain("and this goes on and this goes on");
    expect(text).not.toContain("\x1b");
    expect(text).toContain("→ svc mem check notes --repair");
    expect(text.indexOf("memory\n")).toBeLessThan(text.indexOf("clients\n"));
    expect(text.trimEnd().split("\n").at(-1)).toBe("1 problem, 1 warning");
  });

  test("without anything wrong says so", () => {
    expect(report(findings.slice(0, 1), 80)).toEndWith("all is well: 1 finding");
  });
});
