/** `svc serve status`, from source, against servers in this process. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { frame, TestServer, TOKEN } from "../../remote/server/raw.ts";
import { Site } from "../../remote/server/site.ts";
import { svc, temporaryFolder } from "../support.ts";

test("over the socket: tables for people, one object for scripts", async () => {
  await using server = await TestServer.start();
  const raw = await server.open();
  await raw.ok("create_collection", "notes", { dim: 4 });
  await raw.ok("add", "notes", { vectors: [[1, 2, 3, 4]], ids: ["a"] });
  const socket = server.address.slice("unix://".length);
  const { code, stdout, stderr } = await svc(["serve", "status", "--socket", socket]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^server +unix:\/\/\//);
  expect(stdout).toMatch(/\nconnections +2 open, 0 unauthenticated, 2 accepted, 0 refused, 0 dropped\n/);
  expect(stdout).toMatch(/\nunsaved +1 collections; 0 saves have failed\n/);
  expect(stdout).toMatch(/\nOPERATION +COUNT +ERRORS +P50 MS +P99 MS\ncreate_collection +1 +0 +[\d.]+ +[\d.]+\n/);
  expect(stdout).not.toContain("TOKEN");
  const json = await svc(["serve", "status", "--remote", server.address, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    address: server.address,
    pid: process.pid,
    unsaved_collections: 1,
    save_interval_s: 0,
    tokens: [],
    ops: { add: { count: 1, errors: 0 } },
  });
});

test("tokens in use are shown to a caller with all rights only", async () => {
  await using site = await Site.start();
  using folder = temporaryFolder();
  const address = site.server.address;
  const status = async (token: string) => {
    const file = join(folder.path, "token");
    writeFileSync(file, token, { mode: 0o600 });
    const { code, stdout, stderr } = await svc(["serve", "status", "--remote", address, "--token-file", file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const ada = await site.token("ada");
  const reader = await site.token("reader", { readOnly: true });
  const limited = await site.token("limited", { collections: ["team"] });
  await site.with(ada);
  const all =
    /\nTOKEN +CONNECTIONS +LAST USED\nada +1 +\d{4}-\S+ \d\d:\d\d UTC\nreader +0 +never\nlimited +0 +never\n$/;
  expect(await status(TOKEN)).toMatch(all);
  expect(await status(ada)).toMatch(/\nada +2 /);
  const [whole, part] = [await status(reader), await status(limited)];
  for (const text of [whole, part]) expect(text).not.toContain("ada");
  expect(whole).toContain("OPERATION");
  expect(part).not.toMatch(/OPERATION|connections|memory/);
  expect(part).toMatch(/\nunsaved +0 collections/);
});

test("a server that is away, a wrong token and wrong flags", async () => {
  using folder = temporaryFolder();
  const away = await svc(["serve", "status", "--socket", join(folder.path, "none.sock")]);
  expect(away).toMatchObject({ code: 1, stdout: "" });
  expect(away.stderr).toContain("there is no such socket");
  await using site = await Site.start();
  const env = { SVC_ACCESS_TOKEN: "wrong" };
  const wrong = await svc(["serve", "status", "--remote", site.server.address], { env });
  expect(wrong).toMatchObject({ code: 1, stdout: "" });
  for (const [words, message] of [
    [[], /which server\? give --socket PATH, or --remote ADDRESS .* with --token-file/],
    [["--socket", "a.sock", "--remote", "h:1"], /give one of them/],
    [["--socket", "tcp://h:1"], /is an address, not a path/],
    [["--remote", "nowhere"], /is not an address/],
  ] as const) {
    const { code, stderr } = await svc(["serve", "status", ...words]);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  }
});

test("a database: what was done with it, and how far the copy is behind", async () => {
  const database = {
    ...{ commits: 1200, retries: 3, lost_races: 1, fetched_bytes: 12_345_678 },
    ...{ away_since: "2026-03-31T09:30:12.000Z", away_why: "PostgreSQL at db:5432: it cannot be reached" },
    collections: { notes: { generation: 41, behind: 2 }, docs: { generation: 7, behind: 0 } },
  };
  const reply = frame(JSON.stringify({ ok: true, result: { version: "1", uptime_s: 1, database } }));
  const data = (socket: Bun.Socket) => void socket.write(reply);
  using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data } });
  const { stdout } = await svc(["serve", "status", "--remote", `127.0.0.1:${server.port}`]);
  expect(stdout).toMatch(/\ndatabase +1,200 commits, 3 retries, 1 lost races, 12.3 MB fetched\n/);
  expect(stdout).toMatch(/\n +away since 2026-03-31 09:30 UTC: PostgreSQL at db:5432: it cannot be reached\n/);
  expect(stdout).toMatch(/\nCOLLECTION +GENERATION +BEHIND\nnotes +41 +2\ndocs +7 +0\n$/);
});

test("what another program sends as numbers and names cannot change a terminal", async () => {
  const evil = "\u001b[31m\u202e\nFORGED";
  const result = {
    version: evil,
    uptime_s: evil,
    pid: evil,
    ops: { [evil]: { p50_ms: evil } },
    tokens: [{ name: evil }, 7],
    database: { commits: evil, away_since: evil, away_why: evil, collections: { [evil]: { generation: evil } } },
  };
  const reply = frame(JSON.stringify({ ok: true, result }));
  const data = (socket: Bun.Socket) => void socket.write(reply);
  using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data } });
  const { code, stdout, stderr } = await svc(["serve", "status", "--remote", `127.0.0.1:${server.port}`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for them
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]|^FORGED/m);
});
