/** Which directory a call is about, and what its answer says about that. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientRoots, NamedWorkspaces } from "../../src/memory/repos/workspaces.ts";
import type { CallContext } from "../../src/memory/requests.ts";
import { fromDirectory, scratchDir, TestMemory } from "../fixture.ts";
import { rootWith } from "../repo/helpers.ts";

/** A work tree of a file or more. */
function checkout(files: Record<string, string> = { "a.ts": "export const quetzalcoatl = 1;\n" }): string {
  const root = rootWith(files);
  spawnSync("git", ["init", "-q"], { cwd: root });
  return root;
}

const paths = (payload: { hits: { metadata: { path: string } }[] }) => payload.hits.map((hit) => hit.metadata.path);
/** A client with these roots. */
const withRoots = (...paths: string[]): CallContext => ({ roots: async (): Promise<ClientRoots> => ({ paths }) });

describe("the order of sources", () => {
  const NEITHER = "neither --workspace nor SVC_MCP_WORKSPACE is given";

  test("argument, flag, variable, CLAUDE_PROJECT_DIR, roots, working directory", async () => {
    const at = Object.fromEntries(
      ["argument", "flag", "environment", "projectDir", "root", "here"].map((name) => [name, checkout()]),
    ) as Record<string, string>;
    const { flag, environment, projectDir } = at;
    const roots = withRoots(at.root!);
    const asked: [NamedWorkspaces, CallContext, string, string, string][] = [
      [{ flag, environment, projectDir }, roots, "flag", flag!, "named by --workspace"],
      [
        { environment, projectDir },
        roots,
        "environment",
        environment!,
        "named by SVC_MCP_WORKSPACE; --workspace is not given",
      ],
      [
        { flag: "", environment, projectDir },
        roots,
        "environment",
        environment!,
        "named by SVC_MCP_WORKSPACE; --workspace is not given",
      ],
      [{ projectDir }, roots, "CLAUDE_PROJECT_DIR", projectDir!, `the client's project; ${NEITHER}`],
      [{}, roots, "roots", at.root!, `the client's root; ${NEITHER}; CLAUDE_PROJECT_DIR is not set`],
      [
        { projectDir: "" },
        {},
        "working directory",
        at.here!,
        `the git work tree around the working directory; ${NEITHER}; CLAUDE_PROJECT_DIR is not set`,
      ],
    ];
    for (const [named, context, source, workspace, reason] of asked) {
      await fromDirectory(at.here!, named, async (m) => {
        expect(await m.call("workspace_info", {}, context)).toMatchObject({ source, workspace, reason });
        expect((await m.call("index_repo", {}, context)).workspace).toBe(workspace);
        expect(await m.call("repo_search", { query: "quetzalcoatl" }, context)).toMatchObject({
          workspace,
          index_status: "hit",
        });
        const argument = { query: "quetzalcoatl", workspace: at.argument };
        expect(await m.call("repo_search", argument, context)).toMatchObject({
          workspace: at.argument,
          index_status: "built",
        });
        expect(await m.call("index_repo", { path: at.argument }, context)).toMatchObject({
          workspace: at.argument,
          status: "hit",
        });
      });
    }
  });

  test("what a person names is never passed over", async () => {
    const gone = join(checkout(), "gone");
    for (const named of [{ flag: gone }, { environment: gone }]) {
      await fromDirectory(checkout(), named, async (m) => {
        const said = `workspace '${gone}' does not exist`;
        await expect(m.call("workspace_info", {}, withRoots(checkout()))).rejects.toThrow(said);
        await expect(m.call("repo_search", { query: "x" })).rejects.toThrow(said);
        await expect(m.call("index_repo")).rejects.toThrow(said);
        await expect(m.call("index_repo", { path: "/" })).rejects.toThrow(
          "workspace '/' is the root of the file system",
        );
        expect(readdirSync(m.dir)).toEqual([]);
      });
    }
  });

  test("what a client names and cannot be indexed is passed over, and each answer says so", async () => {
    const [here, root] = [checkout(), checkout()];
    const [gone, file] = [join(here, "gone"), join(here, "a.ts")];
    await fromDirectory(here, { projectDir: gone }, async (m) => {
      const said = `CLAUDE_PROJECT_DIR '${gone}' does not exist or cannot be read`;
      const info = await m.call("workspace_info", {}, withRoots(root));
      expect(info).toMatchObject({
        source: "roots",
        workspace: root,
        reason: `the client's root; ${NEITHER}; ${said}`,
      });
      const notice = `${said}; searched '${root}' instead`;
      expect(await m.call("repo_search", { query: "quetzalcoatl" }, withRoots(root))).toMatchObject({
        workspace: root,
        notice,
      });
      expect(await m.call("index_repo", {}, withRoots(root))).toMatchObject({ workspace: root, notice });
    });
    await fromDirectory(here, {}, async (m) => {
      const roots = withRoots("/", file, root);
      const info = await m.call("workspace_info", {}, roots);
      expect(info).toMatchObject({ source: "roots", workspace: root });
      expect(info.reason).toContain("the first of the client's 3 roots that can be indexed; pass workspace for '/', ");
      expect(info.reason).toContain("the client's root '/' is the root of the file system");
      expect(info.reason).toContain(`the client's root '${file}' is not a directory`);
      const none = await m.call("workspace_info", {}, withRoots(file));
      expect(none).toMatchObject({ source: "working directory", workspace: here });
      // However many roots a client has: each answer would repeat them.
      const many = withRoots(...Array.from({ length: 60 }, (_, i) => `${gone}/${i}`), root);
      const { notice } = await m.call("repo_search", { query: "quetzalcoatl" }, many);
      expect(notice).toContain(
        `'${gone}/2' does not exist or cannot be read; and other roots of the client cannot be indexed`,
      );
      expect(notice).not.toContain(`'${gone}/3'`);
      const problem = { roots: async () => ({ paths: [], problem: "the client is asleep" }) };
      expect((await m.call("workspace_info", {}, problem)).reason).toEndWith("; the client is asleep");
    });
  });

  test("none at all: no workspace, with every reason", async () => {
    const here = rootWith({ "a.ts": "1" });
    await fromDirectory(here, {}, async (m) => {
      const reason = `${NEITHER}; CLAUDE_PROJECT_DIR is not set; the working directory '${here}' lies in no git work tree`;
      const none = { workspace: null, repo_id: null, source: null, files_tracked: 0, reason };
      expect(await m.call("workspace_info")).toMatchObject(none);
      await expect(m.call("index_repo")).rejects.toThrow(`no workspace: ${reason}: pass the path of the repository`);
    });
  });
});

describe("a folder of a repository", () => {
  const files = {
    "README.md": "The quokka lives here.\n",
    "packages/app/src/net.ts": "export const quokka = 'app';\n",
    "packages/app/test/net.ts": "quokka();\n",
    "packages/lib/src/net.ts": "export const quokka = 'lib';\n",
    "src/other.ts": "quokka\n",
  };

  test("is searched alone, in the rows of its repository", async () => {
    const root = checkout(files);
    const app = join(root, "packages/app");
    const m = await TestMemory.open(undefined, app);
    const first = await m.call("repo_search", { query: "quokka", top_k: 10 });
    expect(first).toMatchObject({ workspace: root, folder: "packages/app", index_status: "built" });
    expect(paths(first).sort()).toEqual(["packages/app/src/net.ts", "packages/app/test/net.ts"]);
    const info = await m.call("workspace_info");
    expect(info).toMatchObject({ workspace: root, folder: "packages/app", files_tracked: 2 });
    // The whole of it has the rows already, and adds what is missing.
    const whole = await m.call("index_repo", { path: root });
    expect(whole).toMatchObject({ repo_id: info.repo_id, files_changed: 3, files_tracked: 5 });
    expect(whole.folder).toBeUndefined();
    const again = await m.call("repo_search", { query: "quokka", top_k: 10 });
    expect(again.index_status).toBe("hit");
    expect(paths(again).sort()).toEqual(paths(first).sort());
    expect((await m.call("workspace_info")).files_tracked).toBe(2);
  });

  test("takes path hints of its own first, then those of answers", async () => {
    const root = checkout(files);
    const m = await TestMemory.open(undefined, join(root, "packages/app"));
    const asked = (path_hint: string) => m.call("repo_search", { query: "quokka", top_k: 10, path_hint }).then(paths);
    for (const hint of [
      "src",
      "./src/",
      "src/net.ts",
      "packages/app/src",
      "packages/app/src/net.ts",
      join(root, "packages/app/src"),
    ])
      expect({ hint, found: await asked(hint) }).toEqual({ hint, found: ["packages/app/src/net.ts"] });
    for (const hint of [".", "packages/app", join(root, "packages/app")]) expect((await asked(hint)).length).toBe(2);
    // Nothing there in either: a path of the workspace. `packages/lib` is not a path in it.
    for (const hint of ["none", "packages/lib"]) expect(await asked(hint)).toEqual([]);
    for (const hint of ["..", "../lib", root, join(root, "packages/lib")])
      await expect(asked(hint)).rejects.toThrow(`path_hint '${hint}' lies outside the workspace`);
  });
});

describe("a workspace without anything to search", () => {
  test("an empty folder, with git and without", async () => {
    for (const root of [checkout({}), rootWith({})]) {
      const m = await TestMemory.open(undefined, root);
      const answer = await m.call("repo_search", { query: "anything" });
      const notice = `the workspace '${root}' has no text files to search (all files are ignored, or there are none); svc_workspace_info shows why it was chosen`;
      expect(answer).toMatchObject({ hits: [], workspace: root, notice });
      expect(await m.call("index_repo")).toMatchObject({ files_tracked: 0 });
      await m.close();
    }
  });

  test("only files that are skipped, and a folder whose files are gone", async () => {
    const root = checkout({ "a.bin": "\0\0", ".env": "T=1\n", "src/a.ts": "quokka\n" });
    rmSync(join(root, "src/a.ts"));
    const m = await TestMemory.open(undefined, root);
    const { notice, hits } = await m.call("repo_search", { query: "quokka" });
    expect(hits).toEqual([]);
    expect(notice).toContain("has no text files to search (only files that are skipped: 1 binary, 1 secret)");
    const folder = await m.call("repo_search", { query: "quokka", workspace: join(root, "src") });
    expect(folder.notice).toStartWith(`the workspace '${join(root, "src")}' has no text files`);
    writeFileSync(join(root, "src/a.ts"), "quokka\n");
    const found = await m.call("repo_search", { query: "quokka" });
    expect(paths(found)).toEqual(["src/a.ts"]);
    expect(found.notice).toBeUndefined();
  });
});

test("a folder of the memory itself, a bare repository and a .git folder are refused, and make no collection", async () => {
  const dir = scratchDir();
  const root = checkout();
  const bare = join(scratchDir(), "bare");
  spawnSync("git", ["init", "-q", "--bare", bare]);
  mkdirSync(join(dir, "inside"));
  const m = await TestMemory.open(dir, root);
  for (const [path, said] of [
    [dir, "lies in the folder of svc's own state"],
    [join(dir, "inside"), "lies in the folder of svc's own state"],
    [bare, "is a bare repository"],
    [join(root, ".git"), "is a .git folder"],
    [join(root, ".git/objects"), "lies in a .git folder"],
  ] as const) {
    await expect(m.call("index_repo", { path })).rejects.toThrow(`workspace '${path}' ${said}`);
    await expect(m.call("repo_search", { query: "x", workspace: path })).rejects.toThrow(said);
  }
  expect(readdirSync(dir)).toEqual(["inside"]);
});
