/** `svc login`, `svc logout` and `svc authority serve`, with a build that brings no runtime. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FAKE_BUILD, start, svc, temporaryFolder } from "../support.ts";

const preload = [FAKE_BUILD];
const SECRETS = ["api_key", "device_id", "device_key.pem", "login_license.jwt", "token"];

/** What a process wrote so far, once it contains `wanted`. */
async function until(stream: ReadableStream<Uint8Array>, wanted: RegExp): Promise<RegExpExecArray> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    const found = wanted.exec(text);
    if (found) return found;
  }
  throw new Error(`ended without ${wanted}: ${text}`);
}

describe("login", () => {
  test("--yes needs no browser; logout undoes it; the gate then requires a login again", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const { code, stdout, stderr } = await svc(["login", "--yes", "--no-install", "--json"], { preload, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ logged_in: true, tier: "community", runtime: null });
    expect(readdirSync(env.SVC_HOME)).toEqual(expect.arrayContaining(SECRETS));
    for (const name of SECRETS) expect(statSync(join(env.SVC_HOME, name)).mode & 0o777).toBe(0o600);

    const list = await svc(["mem", "list"], { preload, env });
    expect(list.code).toBe(1);
    expect(list.stderr).toBe("svc: the native runtime is not installed: run 'svc runtime install'\n");

    const out = await svc(["logout", "--json"], { preload, env });
    expect(JSON.parse(out.stdout).removed.sort()).toEqual(SECRETS);
    expect((await svc(["mem", "list"], { preload, env })).stderr).toContain("not logged in");
  });

  test("a build without a bundle logs in and says what it cannot install", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const { code, stdout, stderr } = await svc(["login", "--yes"], { preload, env });
    expect(code).toBe(1);
    expect(stdout).toStartWith("logged in with a community licence until ");
    expect(stderr).toContain("svc: this svc brings no runtime bundle");
  });

  test("--no-browser shows address and code, and waits until it is interrupted", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const child = start(["login", "--no-install", "--no-browser"], { preload, env });
    await until(child.stderr, /code: (\S+)[\s\S]*(http:\/\/127\.0\.0\.1:\S+)/);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(existsSync(join(env.SVC_HOME, "login_license.jwt"))).toBe(false);
  });

  test("a token that the authority does not know is refused without being shown", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const { code, stderr } = await svc(["login", "--token", "not-a-token", "--no-install"], { preload, env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^note: other users of this machine can see --token .*\nsvc: /);
    expect(stderr).not.toContain("not-a-token");
  });
});

describe("logout", () => {
  test("says what stays, and the command that removes it", async () => {
    using folder = temporaryFolder();
    const home = join(folder.path, "home");
    const env = { SVC_HOME: home };
    const memory = join(folder.path, "it's here");
    for (const path of ["memory", "runtime", "pycache"].map((name) => join(home, name)).concat(memory))
      mkdirSync(path, { recursive: true });
    expect((await svc(["login", "--yes", "--no-install"], { preload, env })).code).toBe(0);
    writeFileSync(join(home, ".api_key.0badcafe.tmp"), "x");
    const first = await svc(["logout"], { preload, env });
    expect(first.stdout).toBe(
      "logged out; removed login_license.jwt, api_key, token, device_id, device_key.pem\n" +
        "removed temporary files of killed runs: 1\n",
    );
    const line = (name: string) => `  ${name.padEnd(9)}  rm -r "\${SVC_HOME:-$HOME/.svc}/${name}"\n`;
    const lines = ["memory", "runtime", "pycache", "authority"].map(line).join("");
    expect(first.stderr).toBe(`what stays, and the command that removes it:\n${lines}`);
    writeFileSync(join(home, ".token.0badcafe.tmp"), "x");
    const again = await svc(["logout", "--json"], { preload, env: { ...env, SVC_MEMORY_PATH: memory } });
    const { stays, ...rest } = JSON.parse(again.stdout);
    expect(rest).toEqual({ logged_out: false, removed: [".token.0badcafe.tmp"], pinned: null });
    expect(stays.map(({ name }: { name: string }) => name)).toEqual(["memory", "runtime", "pycache", "authority"]);
    // The commands do what they say, however a folder is named.
    for (const { path, remove } of stays) {
      expect(existsSync(path)).toBe(true);
      expect(Bun.spawnSync(["sh", "-c", remove], { env: { ...env, PATH: process.env.PATH } }).success).toBe(true);
      expect(existsSync(path)).toBe(false);
    }
    const last = await svc(["logout", "--json"], { preload, env: { ...env, SVC_MEMORY_PATH: memory } });
    expect(JSON.parse(last.stdout)).toEqual({ logged_out: false, removed: [], pinned: null, stays: [] });
  });

  test("where nothing ever was is recorded all the same: nothing signs in after it", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    expect(await svc(["logout"], { preload, env })).toEqual({ code: 0, stdout: "was not logged in\n", stderr: "" });
    expect(readdirSync(env.SVC_HOME).sort()).toEqual([".login.lock", "logged_out"]);
    const nowhere = { SVC_HOME: join(env.SVC_HOME, "logged_out", "home") };
    expect(await svc(["logout"], { preload, env: nowhere })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("would be in a file and not a folder"),
    });
  });
});

test("svc authority serve prints its address, answers there, and exits with 0 when stopped", async () => {
  using folder = temporaryFolder();
  const child = start(["authority", "serve", "--json"], { preload, env: { SVC_HOME: join(folder.path, "home") } });
  const [line] = await until(child.stdout, /\{.*\}/);
  const { url, license_public_key, asks_approval_code } = JSON.parse(line);
  expect(license_public_key).toStartWith("-----BEGIN PUBLIC KEY-----");
  expect(asks_approval_code).toBe(true);
  const code = await fetch(`${url}/oauth/device/code`, {
    method: "POST",
    body: new URLSearchParams({ client_id: "svc" }),
  });
  expect(code.status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});
