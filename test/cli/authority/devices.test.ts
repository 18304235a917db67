/** `svc authority devices` and `audit`: what an administrator sees of devices, and does with one. */
import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { newHome } from "../../trust/account/helpers.ts";
import { FAKE_BUILD, svc } from "../support.ts";

const NOW = Date.parse("2026-11-22T14:30:00Z");
const [ONE, TWO] = ["1".repeat(32), "2".repeat(32)];
let data: string;
let ledger: Ledger;

beforeEach(() => {
  data = join(newHome(), "data");
  mkdirSync(data, { mode: 0o700 });
  ledger = new Ledger(join(data, "ledger.sqlite"), data);
  const record = { publicKey: "p", platform: "linux-x86_64", hostHash: "h", account: "ada" };
  ledger.devices.register({ ...record, deviceId: ONE, thumbprint: "ed25519:1", name: "laptop" }, NOW);
  ledger.devices.register(
    { ...record, deviceId: TWO, thumbprint: "ed25519:2", name: "ci", tags: ["ci", "x"] },
    NOW + 1,
  );
  ledger.devices.addLicense("l", TWO, "team", NOW, NOW + 30 * 86_400_000);
});

const run = (...words: string[]) => svc(["authority", ...words, "--data", data], { preload: [FAKE_BUILD] });
const events = () => [...ledger.audit.each()].map(({ event, actor, device, detail }) => [event, actor, device, detail]);
const ACTOR = expect.stringMatching(/^terminal \(.+\)$/);

describe("devices", () => {
  test("are a table for people, and JSON for programs", async () => {
    const { code, stdout, stderr } = await run("devices");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "2 of 2 devices; 0 of all are revoked\n" });
    expect(stdout.split("\n")).toEqual([
      `ID${" ".repeat(32)}NAME    ACCOUNT  PLATFORM      TAGS  LAST LICENCE      UNTIL             STATE`,
      `${TWO}  ci      ada      linux-x86_64  ci x  2026-11-22 14:30  2026-12-22 14:30`,
      `${ONE}  laptop  ada      linux-x86_64        never             never`,
      "",
    ]);
    const json = JSON.parse((await run("devices", "list", "--search", "LAP", "--json")).stdout);
    expect(json).toMatchObject({
      devices: [{ device_id: ONE, name: "laptop", revoked_at: null }],
      count: { all: 2, revoked: 0 },
    });
  });

  test("are renamed, revoked and allowed, by id or by name, and it is recorded", async () => {
    const name = "Bo's laptop";
    expect(await run("devices", "rename", "laptop", name)).toMatchObject({
      code: 0,
      stdout: `device ${ONE} is called ${name} now\n`,
    });
    expect((await run("devices", "revoke", name)).stdout).toStartWith(
      `device ${ONE} is revoked: it is refused from now on`,
    );
    expect((await run("devices", "revoke", ONE)).stdout).toBe(`device ${ONE} was revoked before\n`);
    expect((await run("devices", "--revoked")).stdout).toMatch(
      / {2}revoked \d{4}-\d\d-\d\d \d\d:\d\d by terminal \([^)]+\)\n$/,
    );
    expect(JSON.parse((await run("devices", "--no-revoked", "--json")).stdout).devices).toHaveLength(1);
    const allowed = JSON.parse((await run("devices", "allow", ONE, "--json")).stdout);
    expect(allowed).toMatchObject({ device_id: ONE, name, revoked_at: null, changed: true });
    expect((await run("devices", "allow", ONE)).stdout).toBe(`device ${ONE} is not revoked\n`);
    expect(events()).toEqual([
      ["device_renamed", ACTOR, ONE, { from: "laptop", to: name }],
      ["device_revoked", ACTOR, ONE, undefined],
      ["device_allowed", ACTOR, ONE, undefined],
    ]);
  });

  const WRONG: [string[], number, RegExp][] = [
    [
      ["rename", "laptop", "cod\u202egnp.exe"],
      2,
      /^svc: device name 'cod\\u202egnp\.exe' holds a control or format character;/,
    ],
    [["rename", "laptop", "\x1b[2Jx"], 2, /device name '\\+u001b\[2Jx' holds a control/],
    [["rename", "laptop", "x".repeat(65)], 2, /has more than 64 characters;/],
    [["rename", "laptop", ""], 2, /device name '' is empty/],
    [["rename", "laptop"], 2, /rename needs a device and its new name/],
    [["rename"], 2, /rename needs a device/],
    [["revoke"], 2, /which device\? 'svc authority devices' lists them/],
    [["revoke", "nobody"], 1, /there is no device 'nobody'/],
    [["revoke", "laptop", "x"], 2, /unexpected argument 'x'/],
    [["revoke", "laptop", "--search", "x"], 2, /--search and --revoked are for list/],
    [["list", "x"], 2, /unexpected argument 'x'/],
    [["remove", "laptop"], 2, /'remove' is none of list, rename, revoke and allow/],
    [["constructor"], 2, /'constructor' is none of/],
  ];
  test.each(WRONG)("%j is refused, and nothing is changed", async (words, code, message) => {
    const ended = await run("devices", ...words);
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: "" });
    expect(ended.stderr.split("\n")[0]).toMatch(message);
    expect(events()).toEqual([]);
    expect(ledger.devices.get(ONE)?.name).toBe("laptop");
  });

  test("names of an older svc that would control a terminal are escaped", async () => {
    ledger.devices.rename(ONE, "\x1b]0;title\x07\u202e");
    const { stdout } = await run("devices");
    expect(stdout).toContain(String.raw`\x1b]0;title\x07\u202e`);
    expect((await run("devices", "--json")).stdout).toContain(String.raw`\u001b]0;title\u0007\u202e`);
  });

  test("none are said to be none, and a folder without an authority is named", async () => {
    const empty = join(newHome(), "data");
    mkdirSync(empty, { mode: 0o700 });
    const none = await svc(["authority", "devices", "--data", empty], { preload: [FAKE_BUILD] });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no authority in") });
    new Ledger(join(empty, "ledger.sqlite"), empty).close();
    const fresh = await svc(["authority", "devices", "--data", empty], { preload: [FAKE_BUILD] });
    expect(fresh).toMatchObject({ code: 0, stdout: expect.stringContaining("there are no devices") });
  });
});

describe("the audit log", () => {
  test("is a JSON object a line, oldest first, escaped for terminals, from a time on", async () => {
    for (let n = 0; n < 450; n++)
      ledger.audit.add({
        at: NOW + n * 1000,
        event: "device_renamed",
        actor: "eve\u202e",
        device: ONE,
        detail: { to: `${n}` },
      });
    const { code, stdout, stderr } = await run("audit");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(450);
    expect(lines[0]).toBe(
      `{"id":1,"at":"2026-11-22T14:30:00.000Z","event":"device_renamed","actor":"eve\\u202e","device":"${ONE}","detail":{"to":"0"}}`,
    );
    expect((await run("audit", "--since", "2026-11-22T14:37:00Z")).stdout.trimEnd().split("\n")).toHaveLength(30);
    expect((await run("audit", "--since", "2027-01-01")).stdout).toBe("");
  });

  test("a time that is not one is wrong usage, and an empty log is not a line", async () => {
    expect(await run("audit", "--since", "yesterday")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--since is"),
    });
    expect(await run("audit")).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});
