/** Named tokens of the executable: `svc serve token`, a server on TCP, and clients with rights. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, Raw, until } from "../remote/server/raw.ts";
import { emptyHome, type Home, Session, SVC, signedIn, svc } from "./home.ts";

let home: Home;
let memory: string;
let address: string;
let server: Bun.Subprocess<"ignore", "pipe", "pipe">;
let log = "";
const audit = () => join(home.HOME!, "audit.jsonl");

async function start(...flags: string[]): Promise<void> {
  const words = ["serve", "--json", "--path", memory, "--host", "127.0.0.1", "--port", "0", "--audit-log", audit()];
  server = Bun.spawn([SVC, ...words, ...flags], { env: home, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  void (async () => {
    for await (const chunk of server.stderr) log += new TextDecoder().decode(chunk);
  })();
  const { value } = await server.stdout.getReader().read();
  ({ address } = JSON.parse(new TextDecoder().decode(value)));
}

async function token(name: string, ...flags: string[]): Promise<string> {
  const { code, out, err } = await svc(home, ["serve", "token", "add", name, "--path", memory, ...flags]);
  if (code !== 0) throw new Error(err);
  return out.trim();
}

/** A home without a login whose token is in a file. */
function client(text: string): { env: Home; flags: string[] } {
  const env = emptyHome();
  const file = join(env.HOME!, "token");
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return { env, flags: ["--remote", address, "--token-file", file] };
}

beforeAll(async () => {
  home = await signedIn();
  memory = join(home.HOME!, "memory");
});
afterAll(async () => {
  server.kill();
  await server.exited;
});

test("from nothing: a server on TCP with named tokens, an MCP client, rights, authors, revocation", async () => {
  const refused = await svc(home, ["serve", "--path", memory, "--host", "127.0.0.1", "--port", "0"]);
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain("svc serve token add NAME");
  const [ada, reader] = [await token("ada", "--collections", "team*"), await token("reader", "--read-only")];
  await start("--require-license", "--save-interval", "1");

  const { env, flags } = client(ada);
  const session = await Session.open(env, ...flags);
  expect(
    await session.call("svc_add", { collection: "team", texts: ["The kettle is broken."], ids: ["k"] }),
  ).toMatchObject({
    added: 1,
  });
  expect((await session.raw("svc_add", { collection: "private", texts: ["x"] })).text).toContain(
    "PermissionError: you have no right to a collection named 'private'",
  );
  await session.close();

  const looking = client(reader);
  const found = await svc(looking.env, ["mem", "search", "team", "kettle", "--json", ...looking.flags]);
  expect(found).toMatchObject({ code: 0, err: "" });
  expect(found.out).toContain('"k"');
  const change = await svc(looking.env, ["mem", "delete", "team", "k", ...looking.flags]);
  expect(change).toMatchObject({ code: 1, out: "" });
  expect(change.err).toContain("this token may only read");

  const history = await svc(home, ["mem", "history", "team", "--path", memory]);
  expect(history.out).toMatch(/ada \(/);
  const list = await svc(home, ["serve", "token", "list", "--path", memory, "--json"]);
  expect(JSON.parse(list.out).tokens.map(({ name }: { name: string }) => name)).toEqual(["ada", "reader"]);

  // An open connection ends with its token, and the client gets the reason.
  const raw = await Raw.open(address);
  await raw.ok("auth", undefined, { token: ada });
  expect((await svc(home, ["serve", "token", "revoke", "ada", "--path", memory])).out).toBe("revoked ada\n");
  raw.send(ask("ping"));
  expect(await raw.next()).toEqual({ ok: false, error: "unauthorized" });
  await raw.end();
  const gone = await svc(env, ["mem", "search", "team", "kettle", ...flags]);
  expect(gone.code).toBe(1);
  expect(gone.err).toContain("the server did not accept the token");
  const typo = client(`${reader.slice(0, -1)}${reader.endsWith("A") ? "B" : "A"}`);
  const mistyped = await svc(typo.env, ["mem", "count", "team", ...typo.flags]);
  expect(mistyped.err).toContain("the token is mistyped or cut off");

  const lines = readFileSync(audit(), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ name, tool, collection }) => [name, tool, collection])).toEqual([["ada", "svc_add", "team"]]);
  for (const text of [ada, reader]) {
    expect(log + list.out + readFileSync(join(memory, ".serve-tokens.json"), "utf8")).not.toContain(text.slice(5, 25));
  }
}, 60_000);

test("svc mcp takes the token that its file has by then, where the one it began with was revoked", async () => {
  const { env, flags } = client(await token("carol"));
  const session = await Session.open(env, ...flags);
  const list = () => session.raw("svc_list_collections");
  expect((await list()).isError).not.toBe(true);
  const next = await token("dave");
  await svc(home, ["serve", "token", "revoke", "carol", "--path", memory]);
  await until("the server to end the token", async () => (await list()).isError === true);
  writeFileSync(flags[3]!, `${next}\n`);
  expect((await list()).isError).not.toBe(true);
  await session.close();
}, 120_000);

test("after many wrong tokens a client still learns that its token is wrong", async () => {
  const wrong = client("a-wrong-token");
  for (let i = 0; i < 25; i++) (await Raw.open(address)).send(ask("auth", undefined, { token: "guess" }));
  const session = await Session.open(wrong.env, ...wrong.flags);
  const { text } = await session.raw("svc_list_collections");
  expect(text).toContain("the server did not accept the token");
  await session.close();
}, 120_000);

test("SIGHUP reads the tokens and opens the audit log again, and the server stays", async () => {
  const raw = await Raw.open(address);
  await raw.ok("auth", undefined, { token: await token("bob") });
  const before = log.length;
  const { renameSync } = await import("node:fs");
  renameSync(audit(), `${audit()}.1`);
  server.kill("SIGHUP");
  await until("the log to say so", () => log.slice(before).includes("tokens"));
  await until("the new file", () => existsSync(audit()));
  await raw.ok("create_collection", "more", { dim: 2 });
  expect(readFileSync(audit(), "utf8")).toContain('"name":"bob","op":"create_collection","collection":"more"');
  raw.close();
});

test("a supervisor passes SIGHUP on", async () => {
  const socket = join(home.HOME!, "supervised.sock");
  const words = ["serve", "--json", "--path", join(home.HOME!, "supervised"), "--socket", socket, "--supervise"];
  const supervisor = Bun.spawn([SVC, ...words], { env: home, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  await supervisor.stdout.getReader().read();
  supervisor.kill("SIGHUP");
  const reader = supervisor.stderr.getReader();
  let said = "";
  while (!said.includes("read 0 tokens")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it ended: ${said}`);
    said += new TextDecoder().decode(value);
  }
  const raw = await Raw.open(`unix://${socket}`);
  expect(await raw.ok("ping")).toEqual({ pong: true });
  raw.close();
  supervisor.kill();
  expect(await supervisor.exited).toBe(0);
}, 120_000);

test("with --require-license the holder of the licence is the author of changes without a named token", async () => {
  server.kill();
  await server.exited;
  const socket = join(home.HOME!, "s.sock");
  const words = ["serve", "--json", "--path", memory, "--socket", socket, "--require-license"];
  server = Bun.spawn([SVC, ...words], { env: home, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  await server.stdout.getReader().read();
  const added = await svc(home, ["mem", "add", "own", "a note", "--remote", socket]);
  expect(added.code).toBe(0);
  const history = await svc(home, ["mem", "history", "own", "--path", memory, "--json"]);
  const { author } = JSON.parse(history.out).saves[0].origin;
  expect(author).toBeTruthy();
  expect(typeof author).toBe("string");
}, 120_000);

test("a server does not start beside a damaged file of tokens, and says what to do", async () => {
  const dir = join(home.HOME!, "other");
  await svc(home, ["serve", "token", "add", "ada", "--path", dir]);
  writeFileSync(join(dir, ".serve-tokens.json"), "{");
  for (const where of [
    ["--socket", "./t.sock"],
    ["--host", "127.0.0.1", "--port", "0"],
  ]) {
    const { code, err } = await svc(home, ["serve", "--path", dir, ...where]);
    expect(code).toBe(1);
    expect(err).toContain("remove it, and make the tokens again with 'svc serve token add'");
  }
});
