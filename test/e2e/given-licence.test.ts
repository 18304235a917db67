/** A licence that an administrator issues by hand, on the machine of the server that is given it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { copyOfHome, emptyHome, SVC, svc } from "./home.ts";
import { Organisation } from "./organisation.ts";

let org: Organisation;
let home: Record<string, string>;
beforeAll(async () => {
  org = await Organisation.found({ words: ["--feature", "memory"] });
  home = emptyHome();
  const words = [...org.loginWords(home), "--enroll-key", "-", "--device-name", "build-server"];
  expect(await svc(home, words, `${await org.enrollKey()}\n`)).toMatchObject({ code: 0 });
});
afterAll(() => org[Symbol.asyncDispose]());

/** `svc serve` with a licence: its exit code once it has listened and was ended, or what it said instead. */
async function serve(env: Record<string, string>, SVC_LICENSE: string, ...words: string[]): Promise<number | string> {
  const command = [SVC, "serve", "--socket", join(env.HOME!, "s.sock"), ...words];
  await using child = Bun.spawn(command, { env: { ...env, SVC_LICENSE }, stdout: "pipe", stderr: "pipe" });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) return new Response(child.stderr).text();
  child.kill("SIGTERM");
  return child.exited;
}

const issue = async (...words: string[]) => (await org.json("license", "--device", "build-server", ...words)).license;

test("svc serve takes it, by the next LICENSE key too, and on no other machine", async () => {
  expect(await serve(home, "")).toContain("svc serve needs the feature 'serve'");
  const any = await issue("--feature", "mcp", "--tier", "staff");
  expect(await serve(home, any, "--require-license")).toBe(0);
  expect(await serve(home, any, "--require-tier", "team")).toContain('the licence is of tier "staff", not "team"');
  expect(await serve(home, "", "--license", any)).toContain("--license is checked with --require-license");
  const team = await issue();
  expect(await serve(home, team, "--require-tier", "team")).toBe(0);
  expect(await serve(home, team, "--require-tier", "team", "--supervise")).toBe(0);

  const status = JSON.parse((await svc(home, ["runtime", "status", "--json"])).out);
  const { thumbprint, id } = status.login.device;
  const other = (await org.json("license", "--thumbprint", `ed25519:${"A".repeat(43)}`)).license;
  expect(await serve(home, other, "--require-license")).toContain("it was issued to another device");

  expect((await org.run(["keys", "roll-over"])).code).toBe(0);
  const later = await org.json("license", "--thumbprint", thumbprint);
  expect(later.device_id).toBe(id);
  // This machine learns of the key where it next asks for a licence of its own.
  expect(await serve(home, later.license, "--require-license")).toContain("its signature is not by the key");
  const relogin = copyOfHome(home);
  expect(await svc(relogin, ["login", "--enroll-key", "-"], `${await org.enrollKey()}\n`)).toMatchObject({ code: 0 });
  expect(await serve(relogin, later.license, "--require-license")).toBe(0);
  expect(await serve(relogin, team, "--require-license")).toBe(0);

  expect((await org.run(["devices", "revoke", "build-server"])).code).toBe(0);
  expect(await org.run(["license", "--device", "build-server"])).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringContaining("was revoked: 'svc authority devices allow"),
  });
  const log = (await org.run(["audit"])).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const byHand = log.filter(({ event, detail }) => event === "license_issued" && detail.by_hand);
  expect(byHand.map(({ device }) => device ?? null)).toEqual([id, id, null, id]);
});
