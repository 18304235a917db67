/** `svc mcp install --remote`: an entry for a memory that `svc serve` has. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { attempt } from "../../src/errors.ts";
import { emptyHome, type Home, SVC, signedIn, svc } from "./home.ts";

const TOKEN = "correct-horse-battery-staple";

let server: Bun.Subprocess<"ignore", "pipe", "ignore">;
let address: string;
beforeAll(async () => {
  const env = { ...(await signedIn()), SVC_ACCESS_TOKEN: TOKEN };
  server = Bun.spawn([SVC, "serve", "--json", "--host", "127.0.0.1", "--port", "0"], {
    env,
    stdout: "pipe",
    stderr: "ignore",
  });
  const { value } = await server.stdout.getReader().read();
  ({ address } = JSON.parse(new TextDecoder().decode(value)));
});
afterAll(async () => {
  server.kill();
  await server.exited;
});

/** A home with Cursor and no login. */
function homeWithCursor(): Home {
  const env = emptyHome();
  mkdirSync(join(env.HOME!, ".cursor"));
  return env;
}

const file = (env: Home) => join(env.HOME!, ".cursor/mcp.json");
const entryIn = (env: Home) => JSON.parse(readFileSync(file(env), "utf8")).mcpServers.svc;
const tokenFiles = (env: Home) => attempt(() => readdirSync(join(env.SVC_HOME!, "tokens"))) ?? [];
const install = (env: Home, ...flags: string[]) => svc(env, ["mcp", "install", "--client", "cursor", ...flags]);

describe("an entry for a served memory", () => {
  test("has the token in a private file, works in the client's environment, and is removed to the byte", async () => {
    const env = homeWithCursor();
    writeFileSync(file(env), "{ }");
    const { code, out, err } = await install(
      { ...env, SVC_ACCESS_TOKEN: TOKEN },
      "--remote",
      address,
      "--tools",
      "core",
    );
    expect([code, out]).toEqual([0, expect.stringMatching(/started as Cursor will: svc \S+ answered with 8 tools/)]);
    expect(err).toContain(`note: the memory is the one at ${address}; svc_repo_search reads the files of this machine`);
    const { command, args } = entryIn(env);
    const kept = args[4];
    expect(args).toEqual([
      "mcp",
      "--remote",
      address,
      "--token-file",
      kept,
      "--tools",
      "core",
      "--with-text",
      "--login",
    ]);
    expect(readFileSync(file(env), "utf8")).not.toContain(TOKEN);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readFileSync(kept, "utf8")).toBe(`${TOKEN}\n`);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, env: { HOME: env.HOME!, PATH: env.PATH! } }));
    const { content } = await client.callTool({ name: "svc_list_collections", arguments: {} });
    expect((content as { text: string }[])[0]!.text).toBe('{"collections":[]}');
    await client.close();
    expect((await svc(env, ["mcp", "status"])).out).toMatch(/Cursor +this svc +.*8 tools/);
    expect((await svc(env, ["mcp", "uninstall", "--client", "cursor"])).code).toBe(0);
    expect(readFileSync(file(env), "utf8")).toBe("{ }");
  });

  test("keeps its token where another client gets another one; each goes with its last entry", async () => {
    const env = homeWithCursor();
    const into = (client: string, token: string) =>
      svc({ ...env, SVC_ACCESS_TOKEN: token }, ["mcp", "install", "--client", client, "--remote", address]);
    await into("cursor", TOKEN);
    const [first] = tokenFiles(env);
    expect((await into("claude-code", "another")).code).toBe(1);
    expect(readFileSync(entryIn(env).args[4], "utf8")).toBe(`${TOKEN}\n`);
    expect(tokenFiles(env)).toHaveLength(2);
    await into("claude-code", TOKEN);
    expect(tokenFiles(env)).toEqual([first!]);
    await svc(env, ["mcp", "uninstall", "--client", "cursor"]);
    expect(tokenFiles(env)).toEqual([first!]);
    await svc(env, ["mcp", "uninstall", "--client", "claude-code"]);
    expect(tokenFiles(env)).toEqual([]);
  });

  test("leaves no token where the client's file cannot be changed", async () => {
    const env = homeWithCursor();
    writeFileSync(file(env), "{");
    expect((await install({ ...env, SVC_ACCESS_TOKEN: TOKEN }, "--remote", address)).code).toBe(1);
    expect(tokenFiles(env)).toEqual([]);
  });

  test("stays where an install does not name it, and goes where one names a memory here", async () => {
    const env = homeWithCursor();
    const own = join(env.HOME!, "token");
    writeFileSync(own, TOKEN, { mode: 0o600 });
    await install(env, "--remote", address, "--token-file", own);
    expect((await install(env, "--secrets", "mask")).code).toBe(0);
    expect(entryIn(env).args.slice(0, 5)).toEqual(["mcp", "--remote", address, "--token-file", own]);
    await install(env, "--path", join(env.HOME!, "memory"));
    expect(entryIn(env).args).not.toContain("--remote");
  });

  test("SVC_REMOTE names it, as it does for svc mcp", async () => {
    const env = homeWithCursor();
    expect((await install({ ...env, SVC_REMOTE: address, SVC_ACCESS_TOKEN: TOKEN })).code).toBe(0);
    expect(entryIn(env).args.slice(0, 3)).toEqual(["mcp", "--remote", address]);
  });

  test("a dry run writes neither the entry nor the token", async () => {
    const env = homeWithCursor();
    const { code, out } = await install({ ...env, SVC_ACCESS_TOKEN: TOKEN }, "--remote", address, "--dry-run");
    expect([code, out]).toEqual([0, expect.stringContaining("--token-file")]);
    expect(existsSync(file(env))).toBe(false);
    expect(readdirSync(env.HOME!)).toEqual([".cursor"]);
  });

  test("stores no token where no client is chosen", async () => {
    const env = homeWithCursor();
    for (const flags of [["--client", "emacs-22"], []])
      expect(
        await svc({ ...env, SVC_ACCESS_TOKEN: TOKEN }, ["mcp", "install", "--remote", address, ...flags]),
      ).toMatchObject({ code: 2, out: "" });
    expect(readdirSync(env.HOME!)).toEqual([".cursor"]);
  });

  test.each([
    ["nothing listens", () => ["--remote", "127.0.0.1:1"], /does not reach its memory: cannot connect to/],
    ["no token", () => ["--remote", address], /does not reach its memory: tcp:.* requires a token/],
  ])("where %s, it says so", async (_, flags, message) => {
    const { code, err } = await install(homeWithCursor(), ...flags());
    expect([code, err]).toEqual([1, expect.stringMatching(message)]);
  });

  test("SVC_REMOTE and its token do not count with --ssh, whose memory is the host's", async () => {
    const env = { ...homeWithCursor(), SVC_REMOTE: "./here.sock", SVC_ACCESS_TOKEN: TOKEN };
    const { err } = await install(env, "--ssh", "nobody@127.0.0.1", "--path", "/there");
    expect(err).not.toContain("give one of them");
    await install(env, "--ssh", "nobody@127.0.0.1");
    expect(JSON.stringify(entryIn(env).args)).not.toMatch(/remote|token|here\.sock/);
    expect(tokenFiles(env)).toEqual([]);
  });

  test("--token-file and --tls-ca belong to a server, not to --ssh", async () => {
    for (const flag of ["--token-file", "--tls-ca"])
      expect((await install(homeWithCursor(), "--ssh", "h", flag, "f")).err).toContain(`${flag} is`);
  });

  test.each([
    [["--remote", "nowhere"], "nowhere"],
    [["--remote", "./s.sock", "--ssh", "host"], "leave one out"],
    [["--remote", "./s.sock", "--hooks"], "leave one out"],
    [["--remote", "./s.sock", "--path", "m"], "give one of them"],
    [["--token-file", "t"], "give --remote too"],
    [["--remote", "./s.sock", "--token-file", "gone"], "there is no token in 'gone'"],
  ])("%p is refused, and nothing is written", async (flags, message) => {
    const env = homeWithCursor();
    const { code, err } = await install(env, ...flags);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(message)]);
    expect(existsSync(file(env))).toBe(false);
  });

  test("a token file that others can read is refused with what to do", async () => {
    const env = homeWithCursor();
    const own = join(env.HOME!, "token");
    writeFileSync(own, TOKEN);
    chmodSync(own, 0o644);
    expect((await install(env, "--remote", address, "--token-file", own)).err).toContain("chmod");
  });

  test("one that came with a project is not connected to", async () => {
    const env = homeWithCursor();
    const project = join(env.HOME!, "project");
    mkdirSync(join(project, ".cursor"), { recursive: true });
    const entry = { command: SVC, args: ["mcp", "--remote", "203.0.113.1:1", "--with-text"] };
    writeFileSync(join(project, ".cursor/mcp.json"), JSON.stringify({ mcpServers: { svc: entry } }));
    const { err, out } = await svc(env, ["mcp", "status", "--scope", "project"], "", { cwd: project });
    expect(out + err).toContain("this file may have come with the project");
  });
});
