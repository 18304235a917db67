/** `svc join`: invitations that are used, and those that are refused. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readInvitation } from "../../src/remote/client/invitation.ts";
import { Screen } from "../cli/terminal.ts";
import { freePort } from "../free-port.ts";
import { emptyHome, type Home, SVC, signedIn, svc } from "./home.ts";

let home: Home;
let port: number;
let server: Bun.Subprocess<"ignore", "pipe", "ignore"> | undefined;

async function invite(name: string, ...flags: string[]): Promise<string> {
  const { code, out, err } = await svc(home, ["serve", "invite", name, "--json", ...flags]);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out).invitation;
}
const invited = (name: string, ...flags: string[]) => invite(name, "--address", `127.0.0.1:${port}`, ...flags);

beforeAll(async () => {
  home = await signedIn();
  port = freePort();
  await invited("first");
  const words = ["serve", "--json", "--host", "127.0.0.1", "--port", String(port), "--tls", "self"];
  server = Bun.spawn([SVC, ...words], { env: home, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  await server.stdout.getReader().read();
});
afterAll(async () => {
  server?.kill();
  await server?.exited;
});

/** A home with Cursor and no login. */
function laptop(): Home {
  const env = emptyHome();
  mkdirSync(join(env.HOME!, ".cursor"));
  return env;
}

const file = (env: Home) => join(env.HOME!, ".cursor/mcp.json");
const entryIn = (env: Home) => JSON.parse(readFileSync(file(env), "utf8")).mcpServers;
const joined = (env: Home, invitation: string, ...flags: string[]) =>
  svc(env, ["join", invitation, "--client", "cursor", ...flags]);

describe("an invitation", () => {
  test("gives the client an entry that works, and the token to a private file only", async () => {
    const env = laptop();
    const invitation = await invited("ada");
    const { address, token } = readInvitation(invitation);
    const { code, out, err } = await joined(env, invitation);
    expect([code, out]).toEqual([0, expect.stringMatching(/started as Cursor will: svc \S+ answered with 19 tools/)]);
    const { args } = entryIn(env).svc;
    expect(args.slice(0, 4)).toEqual(["mcp", "--remote", address, "--token-file"]);
    expect(readFileSync(args[4], "utf8")).toBe(`${token}\n`);
    expect(statSync(args[4]).mode & 0o777).toBe(0o600);
    expect(out + err + readFileSync(file(env), "utf8")).not.toContain(token.slice(5));
    // The command that it names for a terminal is one.
    const line = /^ {2}svc (mem list .*)$/m.exec(err)![1]!;
    const listed = Bun.spawnSync(["sh", "-c", `'${SVC}' ${line}`], { env });
    expect(listed.exitCode).toBe(0);
  });

  test("comes on stdin too, with the command around it and line breaks of a mail", async () => {
    const env = laptop();
    const text = (await invited("mail")).replace(/.{60}/g, "$&\r\n");
    const { code, err } = await svc(env, ["join", "-", "--all", "--json"], `svc join '${text}'\n`);
    expect([code, err]).toEqual([0, ""]);
    expect(Object.keys(entryIn(env))).toEqual(["svc"]);
  });

  test("is pasted when a terminal asks for it, and the person chooses the client or none", async () => {
    for (const [answer, code] of [
      ["n", 1],
      ["y", 0],
    ] as const) {
      const env: Home = { ...laptop(), CI: "" };
      const invitation = await invited(`typed-${answer}`);
      using screen = new Screen([SVC, "join", "-"], env);
      await screen.until(/paste the invitation, on one line, and press Enter:/);
      screen.type(`${invitation}\n`);
      await screen.until(/found Cursor[\s\S]*add svc to it\? \[y\/N\] /);
      screen.type(`${answer}\n`);
      if (code === 0) {
        for (const question of [/in what is stored\? \[y\/N\] /, /find its notes first\? \[y\/N\] /]) {
          await screen.until(question);
          screen.type("n\n");
        }
        await screen.until(/answered with 19 tools/);
      }
      expect(await screen.ended).toBe(code);
      expect([existsSync(file(env)), existsSync(join(env.SVC_HOME!, "tokens"))]).toEqual([code === 0, code === 0]);
    }
  });

  test("adds a second entry beside one for a memory here, with --name", async () => {
    const env = laptop();
    await svc(env, ["mcp", "install", "--client", "cursor"]);
    const before = entryIn(env).svc;
    expect((await joined(env, await invited("second"), "--name", "team")).code).toBe(0);
    expect(entryIn(env)).toEqual({ svc: before, team: expect.anything() });
  });

  test("can be used again, and a later one of the same server takes its place", async () => {
    const env = laptop();
    const [one, two] = [await invited("one"), await invited("two")];
    for (const invitation of [one, one, two]) expect((await joined(env, invitation)).code).toBe(0);
    const kept = entryIn(env).svc.args[4];
    expect(readFileSync(kept, "utf8")).toBe(`${readInvitation(two).token}\n`);
    expect(readdirSync(join(env.SVC_HOME!, "tokens"))).toHaveLength(1);
  });

  test("writes nothing in a dry run, and without a person who names a client", async () => {
    const env = laptop();
    const invitation = await invited("dry");
    const dry = await joined(env, invitation, "--dry-run");
    expect([dry.code, dry.out]).toEqual([0, expect.stringContaining("--token-file")]);
    expect(existsSync(file(env))).toBe(false);
    expect(existsSync(join(env.SVC_HOME!, "tokens"))).toBe(false);
    const unasked = await svc(env, ["join", invitation]);
    expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining("--client cursor")]);
    const unknown = await svc(env, ["join", invitation, "--client", "emacs-22"]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("emacs-22")]);
    expect(existsSync(file(env))).toBe(false);
    expect(existsSync(join(env.SVC_HOME!, "tokens"))).toBe(false);
  });
});

test("where no client is found, the answer has an entry to copy that works", async () => {
  const env = emptyHome();
  env.PATH = "/usr/bin:/bin";
  const { code, out } = await svc(env, ["join", await invited("by-hand"), "--json"]);
  const { command, args } = JSON.parse(out).block.mcpServers.svc;
  expect([code, command]).toEqual([1, SVC]);
  const { out: listed } = await svc(env, ["mem", "list", ...args.slice(1, 5), "--json"]);
  expect(JSON.parse(listed)).toHaveProperty("collections");
});

const REFUSED =
  "unauthorized: the server did not accept the token: it may be mistyped, revoked or expired; ask the operator";

describe("as an install does, the entry is written and the answer says what is wrong", () => {
  test("where the server is away", async () => {
    const env = laptop();
    const { code, err } = await joined(env, await invite("away", "--address", `127.0.0.1:${freePort()}`));
    expect([code, err]).toEqual([1, expect.stringContaining("does not reach its memory: cannot connect to")]);
    expect(Object.keys(entryIn(env))).toEqual(["svc"]);
  });

  test("where the token was revoked", async () => {
    const env = laptop();
    const invitation = await invited("gone");
    await svc(home, ["serve", "token", "revoke", "gone"]);
    const { code, err } = await joined(env, invitation);
    expect([code, err]).toEqual([1, expect.stringContaining(`does not reach its memory: ${REFUSED}`)]);
  });

  test("where the token has expired", async () => {
    const env = laptop();
    const invitation = await invited("late", "--expires", "30m");
    const tokens = join(home.SVC_HOME!, "memory/.serve-tokens.json");
    const all = JSON.parse(readFileSync(tokens, "utf8"));
    all.tokens.find(({ name }: { name: string }) => name === "late").expires = "2020-01-01T00:00:00.000Z";
    writeFileSync(tokens, JSON.stringify(all), { mode: 0o600 });
    const { code, err } = await joined(env, invitation);
    expect([code, err]).toEqual([1, expect.stringContaining(`does not reach its memory: ${REFUSED}`)]);
  });

  test("where another machine has the address: the token is not sent", async () => {
    const env = laptop();
    const pin = `SHA256:${"a".repeat(43)}`;
    const invitation = await invite("pinned", "--address", `tls://127.0.0.1:${port}#${pin}`);
    const { code, err } = await joined(env, invitation);
    expect([code, err]).toEqual([1, expect.stringMatching(/does not reach its memory: .*certificate/)]);
    const list = await svc(home, ["serve", "token", "list", "--json"]);
    const found = JSON.parse(list.out).tokens.find(({ name }: { name: string }) => name === "pinned");
    expect(found).toMatchObject({ used_at: null });
  });
});

test.each<[string, (text: string) => string, RegExp]>([
  ["cut", (text) => text.slice(0, -9), /damaged.*copy all of it again/],
  ["of a newer svc", (text) => text.replace("svc1:", "svc2:"), /update svc here/],
  ["a token", (text) => readInvitation(text).token, /not an invitation/],
  ["empty", () => "", /not an invitation|stdin is empty/],
])("one that is %s is refused, and nothing is written", async (_, change, message) => {
  const env = laptop();
  const text = change(await invite(`bad-${crypto.randomUUID()}`, "--address", "127.0.0.1:1"));
  for (const [given, input] of [[text], ["-", `${text}\n`]] as const) {
    const { code, out, err } = await svc(env, ["join", given!, "--client", "cursor"], input);
    expect([code > 0, out, err]).toEqual([true, "", expect.stringMatching(message)]);
    if (text.length > 50) expect(err).not.toContain(text.slice(10, 40));
  }
  expect(readdirSync(env.HOME!)).toEqual([".cursor"]);
  expect(readdirSync(join(env.HOME!, ".cursor"))).toEqual([]);
});
