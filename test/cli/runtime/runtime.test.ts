/** `svc runtime` on a machine where nothing is installed, and the line that a shell evaluates. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { exportLine } from "../../../src/cli/runtime/env.ts";
import { describeReport } from "../../../src/cli/runtime/verify.ts";
import { svc, temporaryFolder } from "../support.ts";

const OTHER_MACHINE = join(import.meta.dir, "../mcp/other-machine.ts");

describe("where nothing is installed", () => {
  test("verify says so with exit code 1, env says nothing with 0, and neither makes a folder", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const verify = await svc(["runtime", "verify", "--json"], { env });
    expect(verify.code).toBe(1);
    expect(JSON.parse(verify.stdout)).toMatchObject({ ok: false, installed: false });
    const text = await svc(["runtime", "verify"], { env });
    expect(text.code).toBe(1);
    expect(text.stdout).toContain("svc runtime install");
    expect(await svc(["runtime", "env"], { env })).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(JSON.parse((await svc(["runtime", "env", "--json"], { env })).stdout)).toEqual({
      pysite: null,
      pycache_prefix: null,
    });
    expect(existsSync(env.SVC_HOME)).toBe(false);
  });

  test("verify has a report of the same shape on a machine that no runtime is built for", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const here = JSON.parse((await svc(["runtime", "verify", "--json"], { env })).stdout);
    const { code, stdout, stderr } = await svc(["runtime", "verify", "--json"], { env, preload: [OTHER_MACHINE] });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const there = JSON.parse(stdout);
    expect(there).toMatchObject({ ok: false, installed: false, platform: null });
    expect(Object.keys(there)).toEqual(Object.keys(here));
    expect(there.checks.map(({ name }: { name: string }) => name)).toEqual(["installed", "licence", "login"]);
    expect(there.checks[0].detail).toMatch(/^there is no native runtime for \w+ on riscv64$/);
    const text = await svc(["runtime", "verify"], { env, preload: [OTHER_MACHINE] });
    expect(text).toMatchObject({ code: 1, stdout: expect.stringContaining("on riscv64"), stderr: "" });
  });

  test("install needs a login first", async () => {
    const { code, stdout, stderr } = await svc(["runtime", "install"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe("svc: not logged in: run 'svc login' once\n");
  });

  test("status shows both halves and exits with 0", async () => {
    const { code, stdout } = await svc(["runtime", "status", "--json"]);
    expect(code).toBe(0);
    const { runtime, login } = JSON.parse(stdout);
    expect(runtime.version).toBeNull();
    expect(login).toEqual({
      tier: null,
      features: [],
      expires_at: null,
      device: null,
      renewal: null,
      problem: "not logged in: run 'svc login' once",
    });
  });
});

describe("the line for the shell", () => {
  const CASES: [string, string, string][] = [
    ["/a/pysite", "", "/a/pysite"],
    ["/a/pysite", "/b:/c", "/a/pysite:/b:/c"],
    ['/it\'s "$HOME" here/pysite', "/b", '/it\'s "$HOME" here/pysite:/b'],
  ];
  test.each(CASES)("%s in front of '%s'", (pysite, before, after) => {
    const bytecode = '/it\'s "$HOME" too';
    const script = `${exportLine(pysite, bytecode)}; printf '%s\n%s' "$PYTHONPATH" "$PYTHONPYCACHEPREFIX"`;
    const { stdout } = Bun.spawnSync(["sh", "-c", script], { env: { PYTHONPATH: before } });
    expect(stdout.toString()).toBe(`${after}\n${bytecode}`);
  });

  test("leaves the user's folder for bytecode as it is", () => {
    const script = `${exportLine("/a/pysite")}; printf %s "$PYTHONPYCACHEPREFIX"`;
    const { stdout } = Bun.spawnSync(["sh", "-c", script], { env: { PYTHONPYCACHEPREFIX: "/mine" } });
    expect(stdout.toString()).toBe("/mine");
  });
});

test("a report says which checks failed and which keys replace built-in ones", () => {
  const report = {
    ok: false,
    installed: true,
    platform: "linux-x86_64" as const,
    version: "1.2.3",
    release: 7,
    anchor: "SVC_RELEASE_PUBKEY" as const,
    checks: [
      { name: "permissions SVC_HOME", ok: true, detail: "closed" },
      { name: "permissions runtime", ok: false, detail: "open" },
      { name: "permissions runtime/x/a-file-with-a-long-name", ok: true, detail: "closed" },
      { name: "permissions runtime/x/another-one", ok: false, detail: "open too" },
      { name: "signature", ok: true, detail: "fits" },
      { name: "expires", ok: true, detail: "until 2030", warning: "it ended" },
      { name: "hash a", ok: true, detail: "sha256 0" },
      { name: "hash b", ok: true, detail: "sha256 1" },
      { name: "licence", ok: false, detail: "expired" },
    ],
  };
  expect(describeReport(report, "SVC_LICENSE_PUBKEY_FILE").split("\n")).toEqual([
    "ok      permissions               no other user can write these 2 files and folders",
    "failed  permissions runtime       open",
    "failed  permissions runtime/x/another-one  open too",
    "ok      signature                 fits",
    "warned  expires                   until 2030; it ended",
    "ok      hash                      2 files are as they were signed",
    "failed  licence                   expired",
    "the key in SVC_RELEASE_PUBKEY replaces the built-in release key",
    "the key in SVC_LICENSE_PUBKEY_FILE replaces the one licences are checked with",
    "runtime 1.2.3 (release 7) is NOT verified",
  ]);
});
