/** `svc runtime verify` of the executable reports what a tool call would, and as JSON whatever it finds. */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asPlainUser, copyOfHome, emptyHome, type Home, SVC, signedIn, svc } from "./home.ts";

const home = () => copyOfHome(original);
type Check = { name: string; ok: boolean; detail: string };

let original: Home;
let shape: string[];
beforeAll(async () => {
  original = await signedIn();
  shape = Object.keys((await verify(original)).report).sort();
});

async function verify(env: Home, prefix: readonly string[] = []) {
  const { code, out, err } = await svc(env, ["runtime", "verify", "--json"], "", { prefix });
  expect(err).toBe("");
  const report = JSON.parse(out);
  const failed = (report.checks as Check[]).filter(({ ok }) => !ok);
  expect(code).toBe(report.ok ? 0 : 1);
  expect(report.ok).toBe(failed.length === 0);
  return { report, failed: failed.map(({ name }) => name), said: failed.map(({ detail }) => detail).join("; ") };
}

/** What the gate in front of every tool says; undefined where it opens. */
async function refusal(env: Home): Promise<string | undefined> {
  const { code, err } = await svc(env, ["mem", "list"]);
  return code === 0 ? undefined : err.replace(/^svc: /, "").trim();
}

describe("the check 'login'", () => {
  test("is made, and is good after a login", async () => {
    const { report, failed } = await verify(original);
    expect(failed).toEqual([]);
    expect(report.checks.map(({ name }: Check) => name)).toContain("login");
    expect((await svc(original, ["runtime", "verify"])).out).toMatch(/^ok {6}login /m);
  });

  const SPOILS: [string, (path: string) => void][] = [
    ["missing", (path) => rmSync(path)],
    ["0666", (path) => chmodSync(path, 0o666)],
    ["empty", (path) => writeFileSync(path, "")],
  ];
  const FILES = ["api_key", "token", "login_license.jwt", "device_key.pem", "device_id"];
  test.each(FILES.flatMap((file) => SPOILS.map(([how, spoil]) => [file, how, spoil] as const)))(
    "fails with %s %s, in the words of the gate",
    async (file, _, spoil) => {
      const env = home();
      spoil(join(env.SVC_HOME!, file));
      const { report, failed } = await verify(env);
      expect(failed).toContain("login");
      const { detail } = report.checks.find(({ name }: Check) => name === "login");
      expect(detail).toBe((await refusal(env))!);
      expect(detail).not.toContain(env.SVC_HOME!);
      const text = await svc(env, ["runtime", "verify"]);
      expect(text.code).toBe(1);
      expect(text.out).toContain(detail);
    },
  );

  const GIVEN: [string, string, Home][] = [
    ["token", "SVC_TOKEN", { SVC_TOKEN: "t" }],
    ["api_key", "SVC_API_KEY", { SVC_API_KEY: "k" }],
  ];
  test.each(
    GIVEN.flatMap(([file, name, given]) => SPOILS.map(([how, spoil]) => [file, how, name, given, spoil] as const)),
  )("is satisfied with %s %s by %s", async (file, _how, _name, given, spoil) => {
    const env = { ...home(), ...given };
    spoil(join(env.SVC_HOME!, file));
    expect(await verify(env)).toMatchObject({ report: { ok: true }, failed: [] });
    expect(await refusal(env)).toBeUndefined();
  });

  test("with an API key in the environment a missing token is not a failure", async () => {
    const env: Home = { ...home(), SVC_API_KEY: "k" };
    for (const file of ["token", "api_key"]) rmSync(join(env.SVC_HOME!, file));
    expect(await verify(env)).toMatchObject({ report: { ok: true } });
    expect(await refusal(env)).toBeUndefined();
  });
});

describe("--json is one object of one shape", () => {
  const NONE = { ok: false, installed: false, version: null, release: null };
  const SETUPS: [string, (env: Home) => void, RegExp][] = [
    ["no home", () => {}, /svc runtime install.*svc login/],
    ["a home that is a file", (env) => writeFileSync(env.SVC_HOME!, ""), /SVC_HOME is not a folder/],
    ["a home below a file", (env) => blockedBy(env), /ENOTDIR/],
    ["a home that is a link to itself", (env) => symlinkSync(env.SVC_HOME!, env.SVC_HOME!), /ELOOP/],
    [
      "a runtime folder that is a file",
      (env) => {
        mkdirSync(env.SVC_HOME!, { mode: 0o700 });
        writeFileSync(join(env.SVC_HOME!, "runtime"), "");
      },
      /ENOTDIR/,
    ],
  ];
  function blockedBy(env: Home): void {
    writeFileSync(env.SVC_HOME!, "");
    env.SVC_HOME = join(env.SVC_HOME!, "home");
  }
  test.each(SETUPS)("%s", async (_, make, wanted) => {
    const env = emptyHome();
    make(env);
    const { report, failed, said } = await verify(env);
    expect(report).toMatchObject(NONE);
    expect(Object.keys(report).sort()).toEqual(shape);
    expect(failed).toEqual(["installed", "licence", "login"]);
    expect(said).toMatch(wanted);
    expect(said).not.toContain(env.HOME!);
  });

  test.skipIf(asPlainUser === undefined)("what cannot be read (as root it needs setpriv)", async () => {
    for (const folder of ["", "runtime", "runtime/*", "runtime/*/pysite"]) {
      const env = home();
      const [path] = new Bun.Glob(folder).scanSync({ cwd: env.SVC_HOME!, onlyFiles: false, absolute: true });
      chmodSync(path ?? env.SVC_HOME!, 0o000);
      const { report, said } = await verify(env, asPlainUser);
      expect(report.ok).toBe(false);
      expect(Object.keys(report).sort()).toEqual(shape);
      expect(said).toContain("EACCES");
      expect(said).not.toContain(env.HOME!);
      chmodSync(path ?? env.SVC_HOME!, 0o700);
    }
  });

  test("without a home folder: HOME unset, and a user that the system does not know (which needs root)", async () => {
    const { HOME, SVC_HOME: _, ...env } = emptyHome();
    const isRoot = process.getuid?.() === 0 && asPlainUser !== undefined;
    const unknown = isRoot ? ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"] : [];
    // The executable lies where other users cannot go, perhaps; they start a copy.
    const copy = join(HOME!, "svc");
    cpSync(SVC, copy);
    for (const folder of [HOME!, copy]) chmodSync(folder, 0o755);
    for (const prefix of isRoot ? [unknown, []] : [[]]) {
      const child = Bun.spawnSync([...prefix, copy, "runtime", "verify", "--json"], { env, cwd: "/" });
      expect(child.stderr.toString()).toBe("");
      const report = JSON.parse(child.stdout.toString());
      expect(Object.keys(report).sort()).toEqual(shape);
      expect(child.exitCode).toBe(report.ok ? 0 : 1);
      if (prefix.length === 0) continue;
      expect(report.checks.map(({ name, ok }: Check) => [name, ok])).toEqual([
        ["installed", false],
        ["licence", false],
        ["login", false],
      ]);
      for (const { detail } of report.checks) expect(detail).toMatch(/no home folder: set SVC_HOME/);
    }
  });

  test("in a folder that is gone, with a home relative to it", () => {
    const env: Home = { ...emptyHome(), SVC_HOME: "relative" };
    const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$SVC" runtime verify --json';
    const child = Bun.spawnSync(["sh", "-c", script], { env: { ...env, SVC }, cwd: env.HOME });
    expect(child.stderr.toString()).toBe("");
    expect(child.exitCode).toBe(1);
    expect(Object.keys(JSON.parse(child.stdout.toString())).sort()).toEqual(shape);
  });

  test("files of the install that are something else", async () => {
    for (const name of ["telys_manifest.json", "telys_manifest.sig", "installed.json"]) {
      const env = home();
      const [path] = new Bun.Glob(`runtime/*/${name}`).scanSync({ cwd: env.SVC_HOME!, absolute: true });
      rmSync(path!);
      expect(Bun.spawnSync(["mkfifo", path!]).success).toBe(true);
      const { report, failed } = await verify(env);
      expect(Object.keys(report).sort()).toEqual(shape);
      expect(failed).toContainEqual(expect.stringMatching(new RegExp(`^permissions runtime/.*${name}$`)));
    }
  });

  test("a key in the environment that cannot be used", async () => {
    for (const name of [
      "SVC_RELEASE_PUBKEY",
      "SVC_RELEASE_PUBKEY_FILE",
      "SVC_LICENSE_PUBKEY",
      "SVC_LICENSE_PUBKEY_FILE",
    ]) {
      const { report, failed } = await verify({ ...original, [name]: "rubbish" });
      expect(Object.keys(report).sort()).toEqual(shape);
      expect(failed).toEqual(name.includes("RELEASE") ? ["signature"] : ["licence", "login"]);
    }
  });
});

test("no secret is printed", async () => {
  const { out } = await svc(original, ["runtime", "verify", "--json"]);
  for (const file of ["api_key", "token", "login_license.jwt"]) {
    expect(out).not.toContain(readFileSync(join(original.SVC_HOME!, file), "utf8").trim());
  }
});
