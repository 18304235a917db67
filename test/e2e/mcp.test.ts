/** What a user's MCP client sees of the executable. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { notes } from "../fixture.ts";
import { IS_REMOTE, SKIPPED } from "../mcp/remote.ts";
import { emptyHome, ROOT, Session, SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

describe("with an empty home", () => {
  test("initialize and tools/list answer, and nothing is made", async () => {
    const empty = emptyHome();
    const session = await Session.open(empty);
    const { tools } = await session.client.listTools();
    expect(tools.length).toBe(19);
    expect(session.client.getServerVersion()?.name).toBe("svc");
    expect(existsSync(empty.SVC_HOME!)).toBe(false);
    const answer = await session.raw("svc_list_collections");
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/^PermissionError: .*svc login/) });
  });

  test("tools/list answers in a home full of pipes, where opening any file would block", async () => {
    const poisoned = emptyHome();
    mkdirSync(poisoned.SVC_HOME!);
    const names = [
      "token",
      "api_key",
      "device_key.pem",
      "device_id",
      "login_license.jwt",
      "clock",
      "memory",
      "runtime",
    ];
    for (const name of names) expect(Bun.spawnSync(["mkfifo", join(poisoned.SVC_HOME!, name)]).success).toBe(true);
    const session = await Session.open(poisoned);
    expect((await session.client.listTools()).tools.length).toBe(19);
  });

  test.skipIf(!Bun.which("strace"))(
    "initialize, tools/list and server/discover open no file under SVC_HOME (needs strace)",
    async () => {
      const log = join(env.HOME!, "trace");
      const child = Bun.spawn(["strace", "-f", "-e", "trace=file", "-o", log, SVC, "mcp"], {
        env,
        stdin: "pipe",
        stdout: "pipe",
      });
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" })}\n`);
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      for (const [id, method] of ["server/discover", "tools/list"].entries())
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: id + 3, method, params: { _meta } })}\n`);
      await child.stdin.end();
      const out = await new Response(child.stdout).text();
      expect(await child.exited).toBe(0);
      expect(out.trim().split("\n").length).toBe(4);
      expect(JSON.parse(out.split("\n")[0]!).result.protocolVersion).toBe("2025-06-18");
      const touched = readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line.includes(env.SVC_HOME!) && !line.includes("execve("));
      expect(touched).toEqual([]);
    },
  );

  test.skipIf(IS_REMOTE)(
    `signed in but without a runtime, a call says which command to run ${SKIPPED.start}`,
    async () => {
      const bare = emptyHome();
      expect((await svc(bare, ["login", "--yes", "--no-install"])).code).toBe(0);
      const session = await Session.open(bare);
      const answer = await session.raw("svc_list_collections");
      expect(answer).toMatchObject({
        isError: true,
        text: expect.stringMatching(/^RuntimeError: .*svc runtime install/),
      });
      expect((await svc(bare, ["runtime", "install"])).code).toBe(0);
      expect(await session.call("svc_list_collections")).toEqual({ collections: [] });
    },
  );
});

describe("the 19 tools", () => {
  test("a client without clientInfo can initialize and call", async () => {
    const lines = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {} } },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "svc_list_collections", arguments: {} } },
    ];
    const { code, out } = await svc(env, ["mcp"], lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    expect(code).toBe(0);
    const answers = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id }) => id).toSorted()).toEqual([1, 2, 3]);
    const { result } = answers.find(({ id }) => id === 1);
    expect(result).toMatchObject({ protocolVersion: "2025-06-18", serverInfo: { name: "svc" } });
    expect(answers.find(({ id }) => id === 2).result.tools).toHaveLength(19);
    expect(answers.find(({ id }) => id === 3).result.isError).toBe(false);
  });

  test("add, search, read back, change, list, and upkeep through one session", async () => {
    const session = await Session.open(env, "--workspace", ROOT);
    const rows = notes();
    const c = { collection: "notes" };
    expect(await session.call("svc_create_collection", { name: "notes", lexical: true })).toMatchObject({
      created: "notes",
    });
    const batch = { ids: rows.map((r) => r.id), texts: rows.map((r) => r.text), metadata: rows.map((r) => r.metadata) };
    expect(await session.call("svc_add", { ...c, ...batch })).toEqual({ added: rows.length, ...c });
    const found = await session.call("svc_search", { ...c, query: "new version without downtime", top_k: 3 });
    expect(found.hits.map((hit: { id: string }) => hit.id)).toContain("deploy-blue-green");
    expect((await session.call("svc_get", { ...c, ids: ["tea"] })).rows[0].text).toBe(
      rows.find((r) => r.id === "tea")!.text,
    );
    expect(
      await session.call("svc_upsert", { ...c, texts: ["Oolong at ninety degrees."], ids: ["tea"] }),
    ).toMatchObject({ upserted: 1 });
    expect(await session.call("svc_update", { ...c, texts: ["Oolong."], ids: ["tea"] })).toMatchObject({ updated: 1 });
    expect(await session.call("svc_delete", { ...c, ids: ["tea"] })).toMatchObject({ deleted: 1 });
    expect((await session.call("svc_count", c)).count).toBe(rows.length - 1);
    expect((await session.call("svc_ids", { ...c, limit: 2 })).ids).toEqual([rows[0]!.id, rows[1]!.id]);
    expect((await session.call("svc_list_collections")).collections).toEqual(["notes"]);
    expect((await session.call("svc_build_lexical", c)).lexical_built).toBe("notes");
    expect((await session.call("svc_search_lexical", { ...c, query: "sourdough" })).hits[0].id).toBe("bread");
    expect(await session.call("svc_build_ivf", { ...c, min_rows: 10 })).toMatchObject({
      min_rows: 10,
      target_recall: 0.98,
    });
    expect(await session.call("svc_compact", c)).toEqual({ compacted: "notes" });
    expect((await session.call("svc_tune", { ...c, dry_run: true })).plan.collection).toBe("notes");
    expect((await session.call("svc_stats", c)).stats).toMatchObject({ name: "notes", key_name: "scope" });
    expect((await session.call("svc_index_repo", {})).status).toBe("built");
    const code = await session.call("svc_repo_search", { query: "where is the writer's lock taken" });
    expect(code).toMatchObject({ collection: "repo_symbols", index_status: "hit" });
    expect(code.hits.length).toBe(5);
    expect((await session.call("svc_workspace_info")).files_tracked).toBeGreaterThan(50);
    expect(await session.raw("svc_nothing")).toEqual({ isError: true, text: "ValueError: unknown tool 'svc_nothing'" });
  });

  test("a row that was acknowledged survives kill -9", async () => {
    const session = await Session.open(env);
    await session.call("svc_add", { collection: "killed", texts: ["still here"], ids: ["row"] });
    process.kill(session.transport.pid!, "SIGKILL");
    const again = await Session.open(env);
    expect((await again.call("svc_get", { collection: "killed", ids: ["row"] })).rows).toMatchObject([
      { id: "row", found: true, text: "still here" },
    ]);
    await again.close();
  });

  test("svc mem sees what the client stored", async () => {
    expect((await svc(env, ["mem", "add", "shared", "typed by hand", "--id", "hand"])).code).toBe(0);
    const session = await Session.open(env);
    expect((await session.call("svc_search", { collection: "shared", query: "typed" })).hits[0].id).toBe("hand");
    await session.call("svc_add", { collection: "shared", texts: ["said by an agent"], ids: ["agent"] });
    await session.close();
    const { code, out } = await svc(env, ["mem", "search", "shared", "agent", "--top-k", "1", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out).hits[0].id).toBe("agent");
  });
});

describe("the working directory that a client spawns the server in", () => {
  /** A folder with a source file two levels down; with a `.git`, a work tree. */
  const project = (isCheckout: boolean) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-e2e-project-")));
    mkdirSync(join(root, "src/deep"), { recursive: true });
    writeFileSync(join(root, "src/deep/a.ts"), "export const quetzalcoatl = 1;\n");
    if (isCheckout) expect(Bun.spawnSync(["git", "init", "-q"], { cwd: root }).success).toBe(true);
    return root;
  };

  test("the root of the file system: refused, where a walk of it would not end", async () => {
    const session = await Session.openIn("/", env);
    const said = "the working directory '/' lies in no git work tree: ";
    expect(await session.raw("svc_index_repo")).toEqual({
      isError: true,
      text: expect.stringMatching(new RegExp(`^ValueError: no workspace: .*${said}pass the path of the repository$`)),
    });
    expect((await session.raw("svc_repo_search", { query: "x" })).text).toContain(said);
    expect(await session.call("svc_workspace_info")).toMatchObject({ workspace: null, files_tracked: 0 });
    for (const words of [
      ["mem", "index"],
      ["mem", "repo-search", "x"],
    ]) {
      const { code, err } = await svc(env, words, "", { cwd: "/" });
      expect({ code, said: err.includes(said) }).toEqual({ code: 1, said: true });
    }
  });

  test("below a work tree: its top level, for the client and svc mem alike", async () => {
    const root = project(true);
    const deep = join(root, "src/deep");
    const session = await Session.openIn(deep, env);
    expect(await session.call("svc_index_repo")).toMatchObject({ status: "built", workspace: root, files_tracked: 1 });
    expect(await session.call("svc_workspace_info")).toMatchObject({ workspace: root, files_tracked: 1 });
    const { hits } = await session.call("svc_repo_search", { query: "quetzalcoatl" });
    expect(hits[0].metadata.path).toBe("src/deep/a.ts");
    await session.close();
    expect(JSON.parse((await svc(env, ["mem", "index", "--json"], "", { cwd: deep })).out)).toMatchObject({
      workspace: root,
    });
    const found = await svc(env, ["mem", "repo-search", "quetzalcoatl", "--json"], "", { cwd: deep });
    expect(JSON.parse(found.out).hits[0].metadata.path).toBe("src/deep/a.ts");
  });

  test("a folder that is not a work tree: refused, and indexed where it is named", async () => {
    const root = project(false);
    const session = await Session.openIn(root, env);
    const answer = await session.raw("svc_index_repo");
    expect(answer.text).toContain(`the working directory '${root}' lies in no git work tree`);
    const named = await session.call("svc_index_repo", { path: "." });
    expect(named).toMatchObject({ status: "built", workspace: root, files_tracked: 1 });
    await session.close();
    const { code, out } = await svc(env, ["mem", "index", ".", "--json"], "", { cwd: root });
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, workspace: root, files_tracked: 1 });
  });

  test("what is never indexed, named or not", async () => {
    const home = realpathSync(env.HOME!);
    const link = join(project(false), "link");
    symlinkSync(home, link);
    const session = await Session.open(env);
    const refused = ["/", home, link, ...(process.platform === "linux" ? ["/proc/self", "/sys", "/dev"] : [])];
    for (const path of refused) {
      const { isError, text } = await session.raw("svc_index_repo", { path });
      expect({ isError, said: text.startsWith(`ValueError: workspace '${path}' `) }).toEqual({
        isError: true,
        said: true,
      });
    }
    // Files of the home directory under git do not make it a project.
    expect(Bun.spawnSync(["git", "init", "-q"], { cwd: home }).success).toBe(true);
    expect((await session.raw("svc_index_repo")).text).toContain("is the home directory");
    expect(await session.call("svc_workspace_info")).toMatchObject({ workspace: null });
    rmSync(join(home, ".git"), { recursive: true });
    await session.close();
    const named = await Session.open(env, "--workspace", "/");
    for (const tool of ["svc_index_repo", "svc_workspace_info"])
      expect((await named.raw(tool)).text).toStartWith("ValueError: workspace '/' is the root of the file system");
    await named.close();
  });
});

test("svc mem accepts more lines than one call may hold", async () => {
  const lines = Array.from({ length: 10_001 }, (_, i) => `line number ${i}`).join("\n");
  const added = await svc(env, ["mem", "add", "lines", "--lines", "--json"], lines);
  expect(added).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(added.out).added).toBe(10_001);
  const ids = JSON.parse(added.out).ids.join("\n");
  expect(JSON.parse((await svc(env, ["mem", "delete", "lines", "-", "--json"], ids)).out).deleted).toBe(10_001);
}, 120_000);

test("an answer larger than a message may be is a ValueError, and the server goes on", async () => {
  const session = await Session.open(env);
  const text = "x".repeat(8 * 1024 * 1024);
  await session.call("svc_add", { collection: "huge", texts: [text], ids: ["a"] });
  const answer = await session.raw("svc_get", { collection: "huge", ids: Array(20).fill("a"), max_bytes: 0 });
  expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/^ValueError: the answer has more than/) });
  expect((await session.call("svc_count", { collection: "huge" })).count).toBe(1);
}, 60_000);

describe("endings", () => {
  /** JSON-RPC by hand, so that a pipe can be closed where the SDK would not. */
  function spawn() {
    const child = Bun.spawn([SVC, "mcp"], { env, cwd: env.HOME, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    const send = (message: object) => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      child.stdin.flush();
    };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    send({ id: 0, method: "initialize", params });
    send({ method: "notifications/initialized" });
    return { child, send };
  }

  const add = (id: string) => ({
    id: 1,
    method: "tools/call",
    params: { name: "svc_add", arguments: { collection: "endings", texts: [`text ${id}`], ids: [id] } },
  });

  test("stdin closes in the middle of a call: the answer is delivered, the row saved, the exit clean", async () => {
    const { child, send } = spawn();
    // The first call loads the libraries, which on a busy machine takes longer than calls have after the end of stdin.
    send({ id: 2, method: "tools/call", params: { name: "svc_list_collections", arguments: {} } });
    const answers = child.stdout.getReader();
    let out = "";
    const read = async (isEnough: () => boolean) => {
      for (let is = await answers.read(); !is.done; is = await answers.read()) {
        out += new TextDecoder().decode(is.value);
        if (isEnough()) return;
      }
    };
    await read(() => out.includes('"id":2}'));
    send(add("closing"));
    await child.stdin.end();
    await read(() => false);
    expect(await child.exited).toBe(0);
    expect(out.trim().split("\n").length).toBe(3);
    expect(out).toContain('\\"added\\":1');
    const { rows } = JSON.parse((await svc(env, ["mem", "get", "endings", "closing", "--json"])).out);
    expect(rows).toMatchObject([{ id: "closing", found: true, text: "text closing" }]);
  });

  test("stdin closes during an index build: it stops within about a second, the last saved state stands", async () => {
    const { child, send } = spawn();
    const texts = Array.from({ length: 10_000 }, (_, i) => `note ${i} of topic ${i % 97} with word${i * 7919}`);
    const tool = (id: number, name: string, args: object) => ({
      id,
      method: "tools/call",
      params: { name, arguments: args },
    });
    send(tool(1, "svc_add", { collection: "long", texts }));
    send(tool(2, "svc_upsert", { collection: "long", texts, ids: texts.map((_, i) => `u${i}`) }));
    send(tool(3, "svc_build_ivf", { collection: "long", min_rows: 100 }));
    const answers = child.stdout.getReader();
    let seen = "";
    while (!seen.includes('\\"upserted\\"')) seen += new TextDecoder().decode((await answers.read()).value);
    await child.stdin.end();
    expect(await child.exited).toBe(0);
    // Without the end of stdin the build would have finished.
    const { stats } = JSON.parse((await svc(env, ["mem", "stats", "long", "--json"])).out);
    expect(stats).toMatchObject({ external_ids: 20_000, ivf_partitions: 0 });
  }, 120_000);

  test("a client that is killed in the middle of a call leaves no process running", async () => {
    const { child, send } = spawn();
    send(add("dying"));
    await child.stdout.cancel();
    await child.stdin.end();
    const ended = await Promise.race([child.exited.then(() => true), Bun.sleep(30_000).then(() => false)]);
    if (!ended) child.kill("SIGKILL");
    expect(ended).toBe(true);
    // The row is whole or missing, and the lock is free for the next writer.
    const session = await Session.open(env);
    await session.call("svc_upsert", { collection: "endings", texts: ["after"], ids: ["next"] });
    const [dying, next] = (await session.call("svc_get", { collection: "endings", ids: ["dying", "next"] })).rows;
    expect(dying.found ? dying.text : "text dying").toBe("text dying");
    expect(next.text).toBe("after");
  });
});

describe("trust", () => {
  test.skipIf(IS_REMOTE)(`a library that was changed is not mapped; verify says which ${SKIPPED.start}`, async () => {
    const tampered = await signedIn();
    const dir = join(tampered.SVC_HOME!, "runtime");
    const folder = join(dir, readdirSync(dir).find((name) => !name.startsWith("."))!);
    const library = join(folder, readdirSync(folder).find((name) => name.startsWith("libame_kernel"))!);
    const bytes = readFileSync(library);
    bytes[bytes.length >> 1]! ^= 1;
    rmSync(library);
    writeFileSync(library, bytes, { mode: 0o600 });
    const session = await Session.open(tampered);
    const answer = await session.raw("svc_list_collections");
    expect(answer.isError).toBe(true);
    expect(answer.text).toMatch(/^RuntimeError: .*libame_kernel.*svc runtime install/);
    expect(answer.text).not.toContain(tampered.HOME!);
    const verify = await svc(tampered, ["runtime", "verify"]);
    expect(verify.code).toBe(1);
    expect(verify.out + verify.err).toContain("libame_kernel");
    expect((await svc(tampered, ["runtime", "install"])).code).toBe(0);
    expect(await session.call("svc_list_collections")).toEqual({ collections: [] });
  });

  test("after a logout the memory stays and calls say to sign in", async () => {
    const mine = await signedIn();
    await svc(mine, ["mem", "add", "kept", "text", "--id", "a"]);
    expect((await svc(mine, ["logout"])).code).toBe(0);
    const refused = await svc(mine, ["mem", "count", "kept"]);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/svc login/);
    expect((await svc(mine, ["login", "--yes"])).code).toBe(0);
    expect(JSON.parse((await svc(mine, ["mem", "count", "kept", "--json"])).out)).toEqual({
      collection: "kept",
      count: 1,
    });
  });
});
