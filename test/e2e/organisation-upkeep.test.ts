/** What an organisation's authority keeps to itself and refuses to its administrators, and what a licence's end leaves. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chownSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths } from "../../src/paths.ts";
import { testKey } from "../keys.ts";
import { enroll, FleetDevice, license, onboard } from "../trust/authority/fleet.ts";
import { ageBy } from "./aged.ts";
import { asPlainUser, emptyHome, svc } from "./home.ts";
import { loginByPage, Organisation } from "./organisation.ts";

let org: Organisation;
beforeAll(async () => {
  org = await Organisation.found();
});
afterAll(() => org?.end());

// A process of root without privileges, because folders of the test are closed to every other user.
const canGiveAway = process.getuid?.() === 0 && asPlainUser !== undefined;
test.skipIf(!canGiveAway)(
  "a data folder of another user is refused with whom to run the command as (needs root)",
  async () => {
    await using other = await Organisation.found();
    await other.end();
    chownSync(other.data, 12345, 12345);
    const runAsOwner = "run the command as that one, as with \"sudo -u '#12345'\"";
    const commands: [string[], string][] = [
      [["serve"], "the data folder belongs to another user: name a folder of your own with --data"],
      [["devices", "list"], `belongs to the user with number 12345: ${runAsOwner}`],
      [["backup", join(other.env.HOME!, "copy")], `belongs to the user with number 12345: ${runAsOwner}`],
    ];
    for (const [words, sentence] of commands) {
      const command = ["authority", ...words, "--data", other.data];
      const { code, out, err } = await svc(other.env, command, "", { prefix: asPlainUser });
      expect({ words, code, out }).toEqual({ words, code: 1, out: "" });
      expect(err).toStartWith("svc: ");
      expect(err).toContain(sentence);
    }
  },
);

describe("a ledger", () => {
  test("of a newer version is refused by every command, and is as it was", async () => {
    await using other = await Organisation.found();
    await other.end();
    const path = join(other.data, "ledger.sqlite");
    const db = new Database(path);
    const { user_version: version } = db.query<{ user_version: number }, []>("PRAGMA user_version").get()!;
    db.run("PRAGMA user_version = 99");
    db.close();
    const before = readFileSync(path);
    const sentence = new RegExp(`version 99, of a newer svc; this one knows versions up to ${version}`);
    await expect(other.serve()).rejects.toThrow(sentence);
    for (const words of [
      ["enroll"],
      ["backup", join(other.env.HOME!, "copy")],
      ["devices", "list"],
      ["keys", "list"],
    ]) {
      const ended = await other.run(words);
      expect({ words, ...ended }).toMatchObject({ words, code: 1, out: "", err: expect.stringMatching(sentence) });
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("is served by one process", async () => {
    await expect(
      (async () => {
        const second = await Organisation.found({ data: org.data });
        await second.end();
      })(),
    ).rejects.toThrow(new RegExp(`is served by process ${org.pid} already`));
    expect((await fetch(`${org.url}/healthz`)).status).toBe(200);
  });

  test("restored beside the write-ahead log of another is refused", async () => {
    await using other = await Organisation.found();
    await other.enrollKey();
    const backup = join(other.env.HOME!, "copy");
    expect((await other.run(["backup", backup])).code).toBe(0);
    expect(await other.run(["backup", backup])).toMatchObject({ code: 1 });
    await other.end("SIGKILL");
    const data = join(other.env.HOME!, "restored");
    mkdirSync(data, { mode: 0o700 });
    cpSync(backup, join(data, "ledger.sqlite"));
    cpSync(join(other.data, "ledger.sqlite-wal"), join(data, "ledger.sqlite-wal"));
    await expect(
      (async () => {
        const restored = await Organisation.found({ data });
        await restored.end();
      })(),
    ).rejects.toThrow(/ledger\.sqlite-wal/);
  });
});

test("a device keeps its name where the new one has control or format characters", async () => {
  const { id } = await enrolled();
  expect((await org.run(["devices", "rename", id, "build-7"])).code).toBe(0);
  for (const name of ["a\nb", "a\u001b[31mb", "a\u202eb", "a\u200bb", "", " ".repeat(3), "x".repeat(65)]) {
    const { code, err } = await org.run(["devices", "rename", id, name]);
    expect({ name, code }).toEqual({ name, code: 2 });
    expect(err).toMatch(/^svc: /);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be in it
    expect(err.trimEnd()).not.toMatch(/[\u0000-\u001f\u202e\u200b]/);
  }
  const { devices } = await org.json("devices", "list");
  expect(devices.find((entry: { device_id: string }) => entry.device_id === id).name).toBe("build-7");
});

test("no secret is in the log, in the output or in an error", async () => {
  const device = await FleetDevice.make();
  const key = await org.enrollKey("--reusable");
  const { body } = await enroll(org, key, device);
  await license(org, body.api_key, device);
  await onboard(org, body.access_token, device);
  const home = emptyHome();
  const login = await loginByPage(org, home, [...org.loginWords(home), "--no-install"]);
  const paths = accountPaths(home.SVC_HOME!);
  const files = [paths.token, paths.apiKey, paths.license].map((path) => readFileSync(path, "utf8").trim());
  for (const where of ["/v1/device/nonce", "/device?user_code=SECRETQU", "/oauth/device/code"]) {
    await fetch(`${org.url}${where}`, {
      method: "POST",
      headers: { authorization: "Bearer SECRETHD" },
      body: "SECRETBD",
    });
  }
  const audit = (await org.run(["audit"])).out;
  const secrets = [
    key,
    key.slice("sve_0123456789ab_".length),
    body.access_token,
    body.api_key,
    body.license,
    org.approvalCode,
    ...files,
  ];
  const said = org.log + audit + login.out + login.err;
  expect(org.log).toContain("/v1/svc/enroll");
  for (const secret of [...secrets, "SECRETQU", "SECRETHD", "SECRETBD"]) expect(said).not.toContain(secret);
});

test("of a licence that is beyond its grace nothing works until the next login, and the data stays", async () => {
  const home = emptyHome();
  await using own = await Organisation.found({
    words: ["--license-key", written(testKey("organisation").privatePem)],
  });
  const words = [...own.loginWords(home), "--enroll-key", "-"];
  expect(await svc(home, words, `${await own.enrollKey()}\n`)).toMatchObject({ code: 0 });
  expect(await svc(home, ["mem", "add", "notes", "We deploy blue-green."])).toMatchObject({ code: 0 });
  await ageBy(1000, home.SVC_HOME!, testKey("organisation").privatePem);
  expect(await svc(home, ["mem", "list"])).toMatchObject({ code: 1, err: expect.stringContaining("'svc login'") });
  const again = await svc(home, ["login", "--enroll-key", "-"], `${await own.enrollKey()}\n`);
  expect(again).toMatchObject({ code: 0 });
  expect((await svc(home, ["mem", "search", "notes", "deploy", "--with-text"])).out).toContain("blue-green");
});

async function enrolled(): Promise<FleetDevice> {
  const device = await FleetDevice.make();
  expect((await enroll(org, await org.enrollKey(), device)).status).toBe(200);
  return device;
}

function written(pem: string): string {
  const path = join(emptyHome().HOME!, "key.pem");
  writeFileSync(path, pem, { mode: 0o600 });
  return path;
}
