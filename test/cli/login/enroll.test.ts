/** A login with an enrolment key on stdin. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { enrollKeyId, newEnrollKey } from "../../../src/trust/account/enroll-key.ts";
import { LICENSE_PUBLIC_PEM } from "../../trust/account/helpers.ts";
import { organisation } from "../../trust/authority/enrolling.ts";
import { FAKE_BUILD, svc, temporaryFolder } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

const preload = [FAKE_BUILD];

describe("svc login --enroll-key -", () => {
  const LOGIN = ["login", "--no-install", "--enroll-key", "-"];

  async function machine(url: string) {
    const folder = temporaryFolder();
    const home = join(folder.path, "home");
    const env = { SVC_HOME: home, SVC_ACCOUNTS_URL: url, SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
    const enter = (stdin: string | undefined, words = LOGIN, more = {}) =>
      svc(words, { preload, env: { ...env, ...more }, ...(stdin !== undefined && { stdin }) });
    return { home, env, enter, [Symbol.dispose]: () => folder[Symbol.dispose]() };
  }

  test("signs a machine in without a person, and shows the key nowhere", async () => {
    const { url, newKey, ledger } = await organisation();
    const { text } = newKey({ tags: ["ci"] });
    using me = await machine(url);
    const done = await me.enter(`${text}\n`, [...LOGIN, "--device-name", "build 7", "--json"], { CI: "true" });
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(JSON.parse(done.stdout)).toMatchObject({ logged_in: true, tier: "community" });
    const [device] = ledger.devices.list({ limit: 2 });
    expect(device).toMatchObject({ name: "build 7", tags: ["ci"], account: "machines" });
    for (const name of readdirSync(me.home)) {
      if (!statSync(join(me.home, name)).isFile()) continue;
      expect(readFileSync(join(me.home, name), "utf8")).not.toContain(text);
    }
    using other = await machine(url);
    const refused = await other.enter(text);
    const said = `svc: the enrolment key ${enrollKeyId(text)} has been used as often as it may be: ask for another one\n`;
    expect([refused.code, refused.stderr, refused.stdout]).toEqual([1, said, ""]);
  });

  test("sends nothing where stdin has no key, a wrong one, or more than one line", async () => {
    const { url, ledger, newKey } = await organisation();
    const { text } = newKey();
    using me = await machine(url);
    for (const [stdin, says] of [
      ["", /--enroll-key -: stdin is empty, one line with the key is expected/],
      ["\n \n", /stdin is empty/],
      [`${text}\n${text}\n`, /stdin holds more than one line/],
      [`${text.slice(0, -1)}\n`, /the enrolment key has 59 characters, not 60: nothing was sent/],
      ["x".repeat(20_000), /stdin holds more than 16384 bytes/],
      ["svt_token\n", /is an access token or an API key/],
      ["\u0000\u001b[2J\n", /does not begin with sve_/],
    ] as const) {
      const { code, stderr, stdout } = await me.enter(stdin);
      expect([stdin.slice(0, 99), code, stdout]).toEqual([stdin.slice(0, 99), 1, ""]);
      expect(stderr).toMatch(says);
      expect(stderr).not.toContain(text.slice(17, -1));
    }
    expect(existsSync(me.home)).toBe(false);
    expect(ledger.enrollKeys.list()[0]?.uses).toBe(0);
  });

  test("takes the key from stdin alone, of an organisation alone, and beside no other secret", async () => {
    const { url, newKey, ledger } = await organisation();
    const { text } = newKey();
    using me = await machine(url);
    const flag = await me.enter("", ["login", "--no-install", "--enroll-key", text]);
    expect(flag.code).toBe(2);
    expect(flag.stderr).toMatch(/--enroll-key takes only -, and the key from stdin/);
    expect(flag.stderr).not.toContain(text.slice(17));
    const both = await me.enter(text, [...LOGIN, "--token", "-"]);
    expect([both.code, both.stderr]).toEqual([2, expect.stringMatching(/--enroll-key and --token exclude each other/)]);
    const named = await me.enter(text, [...LOGIN, "--device-name", "a\u001b[2Jb"]);
    expect([named.code, named.stderr]).toEqual([
      2,
      expect.stringMatching(/device name .* holds a control or format character/),
    ]);
    const local = await svc(LOGIN, { preload, stdin: text, env: { SVC_HOME: me.home } });
    expect([local.code, local.stderr]).toEqual([
      1,
      expect.stringMatching(/--enroll-key is for an organisation's authority/),
    ]);
    const env = await me.enter(text, LOGIN, { SVC_TOKEN: "svt_x" });
    expect([env.code, env.stderr]).toEqual([1, expect.stringMatching(/SVC_TOKEN is set, and would override/)]);
    using screen = new Screen(svcCommand(LOGIN, preload), me.env);
    await screen.until(/--enroll-key - reads the key from stdin, which is a terminal here: pipe it/);
    expect(await screen.ended).toBe(2);
    expect(ledger.devices.count().all).toBe(0);
  });

  test("says that a key is another organisation's", async () => {
    const { url } = await organisation();
    using me = await machine(url);
    const { text, id } = newEnrollKey();
    const { code, stderr } = await me.enter(text);
    expect(code).toBe(1);
    expect(stderr).toBe(`svc: the enrolment key ${id} is not known to ${url}: is it another organisation's?\n`);
  });
});
