/** `svc login` at an organisation's authority, as processes, and an authority's own build. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths, platformTag } from "../../../src/paths.ts";
import { PrivateAuthority } from "../../e2e/certificate.ts";
import { testKey } from "../../keys.ts";
import { organisation } from "../../trust/account/front.ts";
import { fakeServer } from "../../trust/account/helpers.ts";
import { fileOf, fingerprint } from "../../trust/account/organisation-login.ts";
import { FAKE_BUILD, requests, svc, temporaryFolder } from "../support.ts";

const preload = [FAKE_BUILD];
const LOGIN = ["login", "--no-install", "--no-browser"];

describe("svc login --authority", () => {
  test("shows origin and key, pins them, and is reported, kept and taken back", async () => {
    using folder = temporaryFolder();
    const ca = new PrivateAuthority();
    const front = await organisation({ tls: ca.issue("localhost") });
    const home = join(folder.path, "home");
    const env = { SVC_HOME: home };
    const license_key = fingerprint(front.publicPem);
    const pinned = { url: front.url, license_key };
    const words = [...LOGIN, "--authority", front.url, "--license-pubkey", fileOf(folder.path, "k", front.publicPem)];

    // Nothing is made before the authority is believed.
    const unknown = await svc(words, { preload, env });
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toMatch(
      /^svc: cannot reach the accounts server at https:\S+: its certificate is not trusted \([A-Z_]+\); 'svc login --ca-file FILE' and NODE_EXTRA_CA_CERTS name .*\n$/,
    );
    expect(existsSync(home)).toBe(false);

    const first = await svc([...words, "--ca-file", fileOf(folder.path, "ca", ca.cert)], { preload, env });
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^logged in with a community licence/) });
    const shown = `the authority is ${front.url}, its licence key ${license_key}\nconfirm the login at https?://`;
    expect(first.stderr).toMatch(new RegExp(shown.replaceAll(".", "\\.")));
    expect(first.stderr).toContain(
      `'svc login' goes to ${front.url} from now on; 'svc logout --forget' takes that back`,
    );

    const again = await svc([...LOGIN, "--json"], { preload, env });
    expect(again.stderr).not.toContain("from now on");
    expect(JSON.parse(again.stdout)).toMatchObject({ logged_in: true, authority: pinned });

    const status = JSON.parse((await svc(["runtime", "status", "--json"], { preload, env })).stdout);
    expect(status).toMatchObject({ pinned, login: { tier: "community", problem: null } });
    const verify = await svc(["runtime", "verify", "--json"], { preload, env });
    const { checks, ...report } = JSON.parse(verify.stdout);
    expect(report).toMatchObject({ license_anchor: "pinned", pinned });
    expect(checks.filter(({ ok }: { ok: boolean }) => ok).map(({ name }: { name: string }) => name)).toEqual([
      "licence",
      "login",
    ]);
    expect((await svc(["runtime", "verify"], { preload, env })).stdout).toContain(
      `licences are checked with the key pinned for ${front.url} (${license_key})\n`,
    );

    const out = await svc(["logout"], { preload, env });
    expect(out.stderr).toContain(`'svc login' goes to ${front.url} again; 'svc logout --forget' forgets it\n`);
    const forgotten = await svc(["logout", "--forget", "--json"], { preload, env });
    expect(JSON.parse(forgotten.stdout)).toMatchObject({ removed: ["authority.json"], pinned: null });
    expect((await svc(["login", "--yes", "--no-install", "--json"], { preload, env })).stdout).toContain(
      '"authority":null',
    );
  });

  test("that is refused changes no file, and asks no person", async () => {
    using folder = temporaryFolder();
    const [one, two] = [await organisation(), await organisation({ key: "foreign" })];
    const env = { SVC_HOME: join(folder.path, "home") };
    const to = (url: string, pem: string) => [...LOGIN, "--authority", url, "--license-pubkey", fingerprint(pem)];
    expect((await svc(to(one.url, one.publicPem), { preload, env })).code).toBe(0);
    const files = () =>
      readdirSync(env.SVC_HOME).map((name) => [name, readFileSync(join(env.SVC_HOME, name), "latin1")]);
    const before = files();
    const later = new Date(Date.now() + 3600_000).toUTCString();
    const metadata = await two.metadata();
    two.instead["/.well-known/oauth-authorization-server"] = () =>
      Response.json(metadata, { headers: { date: later } });
    const cases: [string[], Record<string, string>, RegExp][] = [
      [to(two.url, one.publicPem), {}, /the clock of this machine is behind/],
      [[...LOGIN, "--authority", two.url], {}, /--authority needs --license-pubkey/],
      [to(one.url, two.publicPem), {}, /http:\S+ has another licence key than the one given/],
      [LOGIN, { SVC_ACCOUNTS_URL: two.url }, /there is no key to check licences of/],
    ];
    for (const [words, more, message] of cases) {
      const { code, stdout, stderr } = await svc(words, { preload, env: { ...env, ...more } });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(message);
      expect(files()).toEqual(before);
    }
    expect(two.paths.filter((path) => !path.startsWith("/.well-known"))).toEqual([]);
    // A login that is declined, as one that a person has to be asked for.
    delete two.instead["/.well-known/oauth-authorization-server"];
    two.instead["/oauth/device/token"] = () => Response.json({ error: "access_denied" }, { status: 400 });
    const declined = await svc(to(two.url, two.publicPem), { preload, env });
    expect(declined.stderr).toContain("the login was declined");
    expect(files()).toEqual(before);
  });
});

test("the API key of a pinned authority goes to it alone, also after a login elsewhere that was killed", async () => {
  using folder = temporaryFolder();
  const front = await organisation();
  const home = join(folder.path, "home");
  const env = { SVC_HOME: home };
  const words = [...LOGIN, "--authority", front.url, "--license-pubkey", fingerprint(front.publicPem)];
  expect((await svc(words, { preload, env })).code).toBe(0);
  const sent: unknown[] = [];
  const packages = (request: Request) => {
    sent.push(request.headers.get("authorization"));
    return new Response(null, { status: 500 });
  };
  front.instead[`/runtime/9.9.9/${platformTag()}.bundle`] = packages;
  const elsewhere = fakeServer(packages);
  const apiKey = readFileSync(accountPaths(home).apiKey, "utf8").trim();
  await svc(["runtime", "install"], { preload, env });
  await svc(["runtime", "install"], { preload, env: { ...env, SVC_PACKAGES_URL: elsewhere.url } });
  const another = { ...env, SVC_ACCOUNTS_URL: elsewhere.url, SVC_PACKAGES_URL: elsewhere.url };
  await svc(["runtime", "install"], { preload, env: another });
  // What a login at another authority leaves that was killed with its key stored.
  writeFileSync(accountPaths(home).apiKey, "another's\n");
  await svc(["runtime", "install"], { preload, env });
  expect(sent).toEqual([`Bearer ${apiKey}`, null, null, null]);
  // An earlier svc did not record where its login was made: the environment names it.
  writeFileSync(accountPaths(home).apiKey, `${apiKey}\n`);
  rmSync(accountPaths(home).loginOrigin);
  await svc(["runtime", "install"], { preload, env: another });
  expect(sent).toHaveLength(5);
  expect(sent[4]).toBe(`Bearer ${apiKey}`);
});

describe("an authority's own build", () => {
  const VARIABLES = ["SVC_LICENSE_PUBKEY", "SVC_LICENSE_PUBKEY_FILE", "SVC_RELEASE_PUBKEY", "SVC_RELEASE_PUBKEY_FILE"];

  test("refuses variables that would replace its keys, wherever they are read", async () => {
    using folder = temporaryFolder();
    const front = await organisation();
    const env = {
      SVC_HOME: join(folder.path, "home"),
      FAKE_AUTHORITY: front.url,
      FAKE_LICENSE_KEY: front.publicPem,
    };
    expect((await svc([...LOGIN], { preload, env })).code).toBe(0);
    const asked = front.paths.length;
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "svc_list_collections", arguments: {} },
    };
    const script = fileOf(
      folder.path,
      "sdk.ts",
      `
      import { Store } from ${JSON.stringify(join(import.meta.dir, "../../../src/sdk.ts"))};
      await Store.open().catch((error) => { console.error(String(error)); process.exit(1); });`,
    );
    const other = testKey("foreign").publicPem;
    const refused = async (name: string) => {
      const value = name.endsWith("_FILE") ? fileOf(folder.path, "other.pem", other) : other;
      const replaced = { ...env, [name]: value };
      const sentence = `this build's keys are fixed: unset ${name}`;
      const commands = [LOGIN, ["runtime", "install"]];
      // Of each pair one: both are read in one place.
      const isFirst = name === "SVC_LICENSE_PUBKEY" || name === "SVC_RELEASE_PUBKEY_FILE";
      if (isFirst) commands.push(["mem", "list"], ["serve", "--socket", join(folder.path, "s")]);
      for (const words of commands) {
        const { code, stdout, stderr } = await svc(words, { preload, env: replaced });
        expect({ words, code, stdout, stderr }).toEqual({ words, code: 1, stdout: "", stderr: `svc: ${sentence}\n` });
      }
      if (isFirst) {
        const tool = await requests([call], { preload, env: replaced });
        expect(JSON.parse(tool.stdout).result).toEqual({
          isError: true,
          content: [{ type: "text", text: `PermissionError: ${sentence}` }],
        });
        const child = { env: { ...replaced, PATH: process.env.PATH! }, stderr: "pipe" } as const;
        const sdk = Bun.spawn([process.execPath, "--preload", FAKE_BUILD, script], child);
        expect(await new Response(sdk.stderr).text()).toContain(sentence);
      }
      const verify = await svc(["runtime", "verify", "--json"], { preload, env: replaced });
      const report = JSON.parse(verify.stdout);
      expect({ code: verify.code, ok: report.ok }).toEqual({ code: 1, ok: false });
      const detail = `this build's keys are fixed: unset ${name}`;
      expect(report.checks[0]).toEqual({ name: "keys", ok: false, detail });
      expect(Object.keys(report)).toContain("license_anchor");
    };
    await Promise.all(VARIABLES.map(refused));
    expect(front.paths).toHaveLength(asked);
    expect((await svc(["runtime", "verify", "--json"], { preload, env })).stdout).toContain('{"name":"keys","ok":true');
  });

  test("says nothing of an authority that another executable has pinned in the same home", async () => {
    using folder = temporaryFolder();
    const [pinned, built] = [await organisation(), await organisation({ key: "foreign" })];
    const env = { SVC_HOME: join(folder.path, "home") };
    const words = [...LOGIN, "--authority", pinned.url, "--license-pubkey", fingerprint(pinned.publicPem)];
    expect((await svc(words, { preload, env })).code).toBe(0);
    const own = { ...env, FAKE_AUTHORITY: built.url, FAKE_LICENSE_KEY: built.publicPem };
    const status = await svc(["runtime", "status"], { preload, env: own });
    expect(status).toMatchObject({ code: 0, stdout: expect.not.stringContaining(pinned.url) });
    expect(await svc(["logout"], { preload, env: own })).toMatchObject({ code: 0, stderr: "" });
    expect((await svc(["logout"], { preload, env })).stderr).toContain(`'svc login' goes to ${pinned.url} again`);
  });
});
