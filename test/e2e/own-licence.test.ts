/** A licence of this machine's local authority that ages, and a clock that jumps ahead, as a user of svc meets them. */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths, authorityPaths } from "../../src/paths.ts";
import { goodClaims, signed } from "../trust/account/helpers.ts";
import { claimsIn, copyOf, licenseOf, read, until } from "./aged.ts";
import { asPlainUser, copyOfHome, type Home, Session, SVC, signedIn, svc } from "./home.ts";

const DAY = 86_400;
const NOW = Math.floor(Date.now() / 1000);
const expiryOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split(".")[1]!, "base64url").toString()).exp as number;

let original: Home;
beforeAll(async () => {
  original = await signedIn();
  expect((await svc(original, ["mem", "add", "notes", "We deploy blue-green.", "--id", "deploy"])).code).toBe(0);
});

/** A home whose licence, by its local authority, began so many days ago and lasts so many. */
async function aged(began: number, life: number): Promise<Home & { before: string }> {
  const env = copyOfHome(original);
  const claims = claimsIn(env.SVC_HOME!);
  const issued = NOW - began * DAY;
  const pem = read(authorityPaths(env.SVC_HOME!).licenseKey);
  const before = await signed(
    { ...goodClaims(claims.cnf.jkt, issued), exp: issued + life * DAY },
    { alg: "RS256" },
    pem,
  );
  for (const path of [licenseOf(env), copyOf(env)]) writeFileSync(path, `${before}\n`, { mode: 0o600 });
  return { ...env, before };
}

function expectRenewed({ before, ...env }: Home & { before: string }): void {
  expect(expiryOf(read(licenseOf(env)))).toBeGreaterThan(expiryOf(before));
  expect(read(copyOf(env))).toBe(read(licenseOf(env)));
  expect(readdirSync(env.SVC_HOME!).filter((name) => name.endsWith(".tmp"))).toEqual([]);
}

/** A server on a socket of its home; its address and how to end it. */
async function serving(env: Home, ...args: string[]) {
  const socket = join(env.HOME!, "s.sock");
  const child = Bun.spawn([SVC, "serve", "--socket", socket, "--json", ...args], {
    env,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [line] = await Promise.race([
    (async () => [new TextDecoder().decode((await child.stdout.getReader().read()).value)])(),
    child.exited.then(async () => [await new Response(child.stderr).text()]),
  ]);
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
  };
  return { line, stop, [Symbol.asyncDispose]: stop };
}

describe("in the last third of its life", () => {
  test("it is renewed by any command about the memory, which says nothing of it", async () => {
    const env = await aged(61, 90);
    expect(await svc(env, ["mem", "get", "notes", "deploy"])).toMatchObject({ code: 0, err: "" });
    expectRenewed(env);
    const { before, ...young } = await aged(59, 90);
    const renewable = new Date((NOW + DAY) * 1000).toISOString().slice(0, 10);
    const status = await svc(young, ["runtime", "status"]);
    expect(status.out).toContain(`\nrenewal   by itself, on this machine, from ${renewable}\n`);
    expect(await svc(young, ["mem", "list"])).toMatchObject({ code: 0, err: "" });
    expect(read(licenseOf(young))).toBe(before);
  });

  test("it is renewed by svc mcp after the first answer, and by svc serve", async () => {
    const [one, two] = [await aged(61, 90), await aged(61, 90)];
    const session = await Session.open(one);
    await session.call("svc_list_collections");
    await until(() => read(copyOf(one)) !== one.before);
    expectRenewed(one);
    await session.close();
    await using server = await serving(two);
    expect(server.line).toContain("address");
    await until(() => read(copyOf(two)) !== two.before);
    expectRenewed(two);
  });

  test.skipIf(asPlainUser === undefined)(
    "a disk that cannot be written is a warning, and the call goes on (as root it needs setpriv)",
    async () => {
      const env = await aged(61, 90);
      chmodSync(env.SVC_HOME!, 0o500);
      try {
        const answer = await svc(env, ["mem", "get", "notes", "deploy"], "", { prefix: asPlainUser });
        expect(answer).toMatchObject({ code: 0, out: expect.stringContaining("blue-green") });
        expect(answer.err).toMatch(
          /^svc: note: the licence works until \S+ and could not be renewed: cannot write 'login_license\.jwt': EACCES/,
        );
      } finally {
        chmodSync(env.SVC_HOME!, 0o700);
      }
    },
  );
});

describe("expired", () => {
  const COMMANDS: [string, string[]][] = [
    ["svc mem", ["mem", "search", "notes", "deploy"]],
    ["svc mem check", ["mem", "check"]],
  ];
  for (const [days, state] of [
    [100, "in its days of grace"],
    [5000, "beyond them"],
  ] as const) {
    test.each(COMMANDS)(`${state}, it is renewed before %s`, async (_, words) => {
      const env = await aged(days, 90);
      expect(await svc(env, words)).toMatchObject({ code: 0, err: "" });
      expectRenewed(env);
    });
  }

  test("it is renewed before the first answers of svc mcp and svc serve", async () => {
    const [one, two] = [await aged(5000, 90), await aged(5000, 90)];
    const session = await Session.open(one);
    expect((await session.call("svc_get", { collection: "notes", ids: ["deploy"] })).rows[0].text).toContain(
      "blue-green",
    );
    expectRenewed(one);
    await session.close();
    await using server = await serving(two, "--require-license");
    expect(server.line).toContain("address");
    expectRenewed(two);
  });

  test("it is refused where the key that signs is not here, as an organisation's is", async () => {
    const env = await aged(5000, 90);
    rmSync(authorityPaths(env.SVC_HOME!).licenseKey);
    for (const words of [
      ["mem", "list"],
      ["serve", "--socket", join(env.HOME!, "s.sock")],
    ]) {
      expect(await svc(env, words)).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringMatching(/^svc: the licence expired on .*: run 'svc login' to renew it\n$/),
      });
    }
    expect(read(licenseOf(env))).toBe(env.before);
  });
});

describe("a clock that jumped ahead, beyond the licence's end", () => {
  const SEEN = new Date((NOW - 3 * 365 * DAY) * 1000).toISOString().slice(0, 10);
  const REMEDY = "set it, or run 'svc login' if it is right";
  /** The latest time seen is three years ago, when the licence was good. */
  async function jumped(): Promise<Home> {
    const env = await aged(3 * 365 + 10, 90);
    writeFileSync(accountPaths(env.SVC_HOME!).clock, `${NOW - 3 * 365 * DAY}\n`);
    return env;
  }

  test("leaves reading and exporting, says both times, and renews nothing", async () => {
    const env = await jumped();
    const today = new Date().toISOString().slice(0, 10);
    for (const words of [
      ["mem", "get", "notes", "deploy"],
      ["mem", "search", "notes", "deploy", "--with-text"],
      ["mem", "export", "notes"],
      ["mem", "backup", join(env.HOME!, "copy")],
      ["mem", "check"],
    ]) {
      const { code, err } = await svc(env, words);
      expect({ words, code }).toEqual({ words, code: 0 });
      expect(err).toContain("svc: note: by this clock the licence ended on ");
      expect(err).toMatch(new RegExp(`the clock says ${today} .* more than a year after .*, ${SEEN} \\S+: ${REMEDY}`));
    }
    expect(read(licenseOf(env))).toBe(env.before!);
  });

  test("refuses changes over every way, until a login confirms the clock", async () => {
    const env = await jumped();
    const refused = new RegExp(`changes are refused, as by this clock .*${SEEN} \\S+: ${REMEDY}`);
    for (const words of [
      ["mem", "add", "notes", "more"],
      ["mem", "delete", "notes", "deploy"],
      ["mem", "compact", "notes"],
    ]) {
      expect(await svc(env, words)).toMatchObject({ code: 1, out: "", err: expect.stringMatching(refused) });
    }
    const session = await Session.open(env);
    expect(await session.raw("svc_add", { collection: "notes", texts: ["more"] })).toEqual({
      text: expect.stringMatching(refused),
      isError: true,
    });
    expect((await session.call("svc_count", { collection: "notes" })).count).toBe(1);
    {
      await using _server = await serving(env);
      const { connect } = await import("../../src/sdk.ts");
      const client = await connect(`unix://${join(env.HOME!, "s.sock")}`);
      const notes = await client.openCollection("notes");
      expect(await notes.ids()).toEqual(["deploy"]);
      await expect(notes.addTexts(["more"])).rejects.toThrow(/changes are refused, as by this clock/);
      await client.close();
    }
    expect((await svc(env, ["login", "--yes", "--no-install"])).code).toBe(0);
    // The server that is running need not be started again.
    expect((await session.call("svc_add", { collection: "notes", texts: ["more"] })).added).toBe(1);
    await session.close();
    expect(await svc(env, ["mem", "add", "notes", "and more"])).toMatchObject({ code: 0, err: "" });
  });

  test("does not bring back a licence that had ended before", async () => {
    const env = await jumped();
    rmSync(authorityPaths(env.SVC_HOME!).licenseKey);
    writeFileSync(accountPaths(env.SVC_HOME!).clock, `${NOW - 2 * 365 * DAY}\n`);
    expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 1, err: expect.stringContaining("expired on") });
  });
});
