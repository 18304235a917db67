/** Which repository the executable takes for the workspace: by its flags, its environment, its client and its folder. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Session, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

/** A work tree of one file, in a folder of that name. */
function project(name = "project", path = "a.ts"): string {
  const root = join(realpathSync(mkdtempSync(join(tmpdir(), "svc-e2e-"))), name);
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), "export const quetzalcoatl = 1;\n");
  expect(Bun.spawnSync(["git", "init", "-q"], { cwd: root }).success).toBe(true);
  return root;
}

const uriOf = (path: string) => pathToFileURL(path).href;

/** A session in `/` of a client that has roots, or answers nothing when it is asked for them. */
async function withRoots(uris: () => string[] | "silence", extra: Record<string, string> = {}, ...args: string[]) {
  const client = new Client({ name: "e2e", version: "1" }, { capabilities: { roots: { listChanged: true } } });
  let asked = 0;
  client.setRequestHandler(ListRootsRequestSchema, () => {
    asked++;
    const given = uris();
    if (given === "silence") return new Promise(() => {});
    return { roots: given.map((uri) => ({ uri })) };
  });
  const session = await Session.of(client, "/", { ...env, ...extra }, ...args);
  return { session, client, asked: () => asked };
}

describe("a client's roots", () => {
  test("name the workspace, with percent signs decoded, and are asked for once", async () => {
    const root = project("a b é#%25");
    const { session, asked } = await withRoots(() => [uriOf(root)]);
    expect(asked()).toBe(0);
    expect(await session.call("svc_workspace_info")).toMatchObject({ source: "roots", workspace: root });
    expect(await session.call("svc_index_repo")).toMatchObject({ status: "built", workspace: root, files_tracked: 1 });
    const found = await session.call("svc_repo_search", { query: "quetzalcoatl" });
    expect(found).toMatchObject({ workspace: root, hits: [{ metadata: { path: "a.ts" } }] });
    expect(asked()).toBe(1);
  });

  test("of a client that did not declare any are not asked for", async () => {
    const client = new Client({ name: "e2e", version: "1" });
    const session = await Session.of(client, "/", env);
    const info = await session.call("svc_workspace_info");
    expect(info).toMatchObject({ workspace: null, source: null });
    expect(info.reason).toContain("the client has no roots");
  });

  test("that never come do not hold up a call, and other calls are answered meanwhile", async () => {
    const here = project();
    const client = new Client({ name: "e2e", version: "1" }, { capabilities: { roots: {} } });
    const reached = Promise.withResolvers<void>();
    client.setRequestHandler(ListRootsRequestSchema, () => {
      reached.resolve();
      return new Promise(() => {});
    });
    const session = await Session.of(client, here, env);
    const waiting = session.call("svc_repo_search", { query: "quetzalcoatl" });
    await reached.promise;
    expect(await session.call("svc_list_collections")).toHaveProperty("collections");
    expect(await waiting).toMatchObject({ workspace: here, hits: [{ metadata: { path: "a.ts" } }] });
    const info = await session.call("svc_workspace_info");
    expect(info).toMatchObject({ source: "working directory", workspace: here });
    expect(info.reason).toContain("the client did not answer roots/list within 2 seconds");
  });

  test("are asked for again after they changed", async () => {
    const [first, second] = [project(), project()];
    let root = first;
    const { session, client, asked } = await withRoots(() => [uriOf(root)]);
    expect((await session.call("svc_workspace_info")).workspace).toBe(first);
    root = second;
    await client.sendRootsListChanged();
    expect((await session.call("svc_workspace_info")).workspace).toBe(second);
    expect(asked()).toBe(2);
  });

  test("several: the first that can be indexed, and the reason says so", async () => {
    const [first, second] = [project(), project()];
    const file = join(first, "a.ts");
    const { session } = await withRoots(() => [uriOf(file), uriOf("/"), uriOf(second), uriOf(first)]);
    const info = await session.call("svc_workspace_info");
    expect(info).toMatchObject({ source: "roots", workspace: second });
    expect(info.reason).toContain("the first of the client's 4 roots that can be indexed");
    expect(info.reason).toContain(`'${file}' is not a directory`);
    const found = await session.call("svc_repo_search", { query: "quetzalcoatl", workspace: first });
    expect(found).toMatchObject({ workspace: first });
    expect((await session.call("svc_repo_search", { query: "quetzalcoatl" })).notice).toContain("instead");
  });

  test("come after everything that is configured", async () => {
    const [flag, variable, claude, root] = [project(), project(), project(), project()];
    const both = { SVC_MCP_WORKSPACE: variable, CLAUDE_PROJECT_DIR: claude };
    for (const [extra, args, source, workspace] of [
      [both, ["--workspace", flag], "flag", flag],
      [both, [], "environment", variable],
      [{ CLAUDE_PROJECT_DIR: claude }, [], "CLAUDE_PROJECT_DIR", claude],
      [{ CLAUDE_PROJECT_DIR: join(claude, "gone") }, [], "roots", root],
    ] as const) {
      const { session, asked } = await withRoots(() => [uriOf(root)], extra, ...args);
      expect(await session.call("svc_workspace_info")).toMatchObject({ source, workspace });
      expect(asked()).toBe(source === "roots" ? 1 : 0);
    }
  });
});

test("svc mem goes by the same order, without roots", async () => {
  const [flag, variable, claude, here] = [project(), project(), project(), project()];
  const both = { SVC_MCP_WORKSPACE: variable, CLAUDE_PROJECT_DIR: claude };
  for (const [extra, args, workspace] of [
    [both, ["--workspace", flag], flag],
    [both, [], variable],
    [{ CLAUDE_PROJECT_DIR: claude }, [], claude],
    [{}, [], here],
  ] as const) {
    const words = ["mem", "repo-search", "quetzalcoatl", "--json", ...args];
    const { out, code } = await svc({ ...env, ...extra }, words, "", { cwd: here });
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, workspace });
  }
  const gone = await svc({ ...env, SVC_MCP_WORKSPACE: join(here, "gone") }, ["mem", "index"], "", { cwd: here });
  expect(gone).toMatchObject({ code: 1, err: expect.stringContaining("gone' does not exist") });
});

test("a folder of a work tree is searched alone, in the rows of its repository", async () => {
  const root = project("project", "packages/app/a.ts");
  writeFileSync(join(root, "b.ts"), "export const quetzalcoatl = 2;\n");
  const session = await Session.open(env, "--workspace", join(root, "packages"));
  const found = await session.call("svc_repo_search", { query: "quetzalcoatl" });
  expect(found).toMatchObject({ workspace: root, folder: "packages", hits: { length: 1 } });
  expect(found.hits[0].metadata.path).toBe("packages/app/a.ts");
  expect(await session.call("svc_index_repo", { path: root })).toMatchObject({ files_changed: 1, files_tracked: 2 });
  expect(await session.call("svc_workspace_info")).toMatchObject({
    folder: "packages",
    files_tracked: 1,
    source: "flag",
  });
});

test("the state of svc, a .git folder and a bare repository are refused, by any name", async () => {
  const root = project();
  const [bare, link] = [join(dirname(root), "bare"), join(dirname(root), "link")];
  expect(Bun.spawnSync(["git", "init", "-q", "--bare", bare]).success).toBe(true);
  symlinkSync(env.SVC_HOME!, link);
  const session = await Session.open(env);
  for (const path of [env.SVC_HOME!, join(env.SVC_HOME!, "memory"), link, join(root, ".git/refs"), bare]) {
    mkdirSync(join(env.SVC_HOME!, "memory"), { recursive: true });
    for (const answer of [
      await session.raw("svc_index_repo", { path }),
      await session.raw("svc_repo_search", { query: "x", workspace: path }),
    ])
      expect({ path, ...answer }).toMatchObject({
        isError: true,
        text: expect.stringMatching(/^ValueError: workspace '/),
      });
  }
  rmSync(join(root, "a.ts"));
  const nothing = await session.call("svc_repo_search", { query: "x", workspace: root });
  expect(nothing).toMatchObject({ hits: [], notice: expect.stringContaining("has no text files to search") });
});
