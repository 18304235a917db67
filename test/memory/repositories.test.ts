/** A repository as a memory: indexed, searched, read back from its source, and never stale. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { fromDirectory, native, openStore, scratchDir, TestMemory } from "../fixture.ts";

function repository(): string {
  const root = scratchDir();
  mkdirSync(join(root, "src/net"), { recursive: true });
  writeFileSync(
    join(root, "src/net/retry.ts"),
    "// Backs off exponentially with jitter.\nexport function retry() {}\n",
  );
  writeFileSync(
    join(root, "src/parse.ts"),
    "export function parseHeader(line: string) {\n  return line.split(':');\n}\n",
  );
  writeFileSync(join(root, "README.md"), "# A project\nIt parses headers and retries requests.\n");
  writeFileSync(join(root, ".env"), "TOKEN=secret\n");
  return root;
}

const paths = (payload: { hits: { metadata: { path: string } }[] }) => payload.hits.map((hit) => hit.metadata.path);

test("the whole life of a repository", async () => {
  const root = repository();
  const m = await TestMemory.open(undefined, root);
  expect(await m.call("workspace_info")).toMatchObject({ collection: "repo_symbols", files_tracked: 0 });

  const built = await m.call("index_repo");
  expect(built).toMatchObject({ status: "built", files_tracked: 3, files_changed: 3, files_skipped: { secret: 1 } });
  const found = await m.call("repo_search", { query: "exponential backoff with jitter", with_text: true });
  expect(found.index_status).toBe("hit");
  expect(found.hits[0].metadata).toMatchObject({ path: "src/net/retry.ts", language: "typescript", start_line: 1 });
  expect(found.hits[0].text).toContain("Backs off");

  // The text is not stored: svc_get reads the source as it is now.
  const id = found.hits[0].id;
  writeFileSync(join(root, "src/net/retry.ts"), "// Retries twice, at once.\nexport function retry() {}\n");
  expect((await m.call("get", { collection: "repo_symbols", ids: [id] })).rows[0].text).toContain("Retries twice");

  // And the next search finds the new words.
  const fresh = await m.call("repo_search", { query: "retries twice at once", top_k: 1 });
  expect(fresh.index_status).toBe("refreshed");
  expect(paths(fresh)).toEqual(["src/net/retry.ts"]);

  expect(
    paths(await m.call("repo_search", { query: "retry", path_hint: "src" })).every((p) => p.startsWith("src/")),
  ).toBe(true);
  expect(paths(await m.call("repo_search", { query: "retry", path_hint: "README.md" }))).toEqual(["README.md"]);

  rmSync(join(root, "src/parse.ts"));
  const after = await m.call("repo_search", { query: "parseHeader split line", top_k: 10 });
  expect(paths(after)).not.toContain("src/parse.ts");
  expect(await m.call("workspace_info")).toMatchObject({ files_tracked: 2, persistent_index: true });
});

test("a search of a collection chunks files as they were indexed", async () => {
  const root = repository();
  writeFileSync(join(root, "src/long.ts"), "const needle = 1;\n".repeat(200));
  const m = await TestMemory.open(undefined, root);
  await m.call("index_repo", { collection: "whole", mode: "file" });
  const question = { query: "needle", collection: "whole", form: "windows", top_k: 1 };
  const lines = { path: "src/long.ts", start_line: 1, end_line: 200 };
  const found = await m.call("repo_search", question);
  expect(found).toMatchObject({ collection: "whole", index_status: "hit", hits: [{ metadata: lines }] });
  writeFileSync(join(root, "src/long.ts"), "const needle = 2;\n".repeat(150));
  const edited = await m.call("repo_search", question);
  expect(edited).toMatchObject({ index_status: "refreshed", hits: [{ metadata: { ...lines, end_line: 150 } }] });
  // Indexing keeps what it is not given, too.
  const settings = { mode: "file" };
  expect(await m.call("index_repo", { collection: "whole" })).toMatchObject({ status: "hit", settings });
});

test.each([
  [{ windowLines: 8 }, "windowLines"],
  [{ window_lines: 0 }, "window_lines"],
  [{ window_lines: 1.5 }, "window_lines"],
  [{ window_overlap_lines: -1 }, "window_overlap_lines"],
  [{ window_lines: 8, window_overlap_lines: 8 }, "window_overlap_lines (8)"],
  [{ mode: "tree" }, "mode"],
  [{ max_files: -1 }, "max_files"],
  [{ max_file_bytes: -1 }, "max_file_bytes"],
] as const)("settings %j are refused", async (args, message) => {
  const m = await TestMemory.open(undefined, repository());
  await expect(m.call("index_repo", args)).rejects.toThrow(message);
  await m.close();
});

test("a dry run creates no collection and says what a run would do", async () => {
  const m = await TestMemory.open(undefined, repository());
  expect(await m.call("index_repo", { dry_run: true })).toMatchObject({
    ...{ status: "dry_run", collection: "repo_symbols", files_tracked: 0, files: 3 },
    languages: [
      { language: "typescript", files: 2 },
      { language: "markdown", files: 1 },
    ],
    changes: { new: { count: 3 } },
  });
  expect(await m.call("list_collections")).toEqual({ collections: [] });
  await m.call("index_repo");
  expect(await m.call("index_repo", { dry_run: true })).toMatchObject({ files_tracked: 3, changes: {} });
});

test("a question without words has no hits; a sign that is a definition's name is one", async () => {
  const root = repository();
  writeFileSync(join(root, "pipe.ts"), "export function $$(x: number) {\n  return x;\n}\n");
  const m = await TestMemory.open(undefined, root);
  for (const query of ["", "  ", "..."]) {
    const answer = await m.call("repo_search", { query });
    expect(answer).toMatchObject({ query, hits: [], index_status: expect.any(String) });
    expect(answer.notice).toBe("the query has no words: name a function, a file, or words of the code");
    expect(answer.more ?? 0).toBe(0);
  }
  expect(paths(await m.call("repo_search", { query: "$$", top_k: 1 }))).toEqual(["pipe.ts"]);
});

test("two repositories in one collection do not see each other", async () => {
  const [a, b] = [repository(), repository()];
  writeFileSync(join(b, "only-here.txt"), "quetzalcoatl\n");
  const dir = scratchDir();
  const first = await TestMemory.open(dir, a);
  const second = await TestMemory.open(dir, b);
  await first.call("repo_search", { query: "anything" });
  expect(paths(await second.call("repo_search", { query: "quetzalcoatl", top_k: 1 }))).toEqual(["only-here.txt"]);
  const answer = await first.call("repo_search", { query: "quetzalcoatl", top_k: 10 });
  expect(paths(answer)).not.toContain("only-here.txt");
  expect(answer.notice).toBe("none of the query's words is in this repository: the answer is by similarity alone");
});

test("an index for this process only leaves nothing in the memory, and every tool finds it", async () => {
  const m = await TestMemory.open(undefined, repository(), false);
  const found = await m.call("repo_search", { query: "exponential backoff", top_k: 1 });
  expect(paths(found)).toEqual(["src/net/retry.ts"]);
  expect(await m.call("workspace_info")).toMatchObject({ files_tracked: 3, persistent_index: false });
  expect((await m.call("count", { collection: "repo_symbols" })).count).toBe(3);
  expect((await m.call("list_collections")).collections).toEqual([]);
});

test("this program's secrets are never indexed, and a hint outside the root is refused", async () => {
  const root = repository();
  const dir = join(root, "state");
  mkdirSync(dir);
  writeFileSync(join(dir, "token"), "svt_very_secret_value\n");
  const m = await TestMemory.open(dir, root);
  const found = await m.call("repo_search", { query: "very secret value", top_k: 10 });
  expect(paths(found).filter((path) => path.startsWith("state/"))).toEqual([]);
  expect(paths(await m.call("repo_search", { query: "retry", path_hint: join(root, "src") })).length).toBe(2);
  await expect(m.call("repo_search", { query: "retry", path_hint: "../.." })).rejects.toThrow(/outside the workspace/);
});

test("an index of an earlier version of the embedder is rebuilt, other collections of it are kept", async () => {
  const dir = scratchDir();
  const [old, root] = [await openStore(dir), repository()];
  const profile = new MultigramEmbedder((await native()).kernel).profile;
  const earlier = { ...profile, model_version: "1", dimension: 8 };
  for (const name of ["repo_symbols", "other"]) {
    const schema = { dim: 8, partitionBy: "repo_id", filterColumns: ["repo_id", "path", "language"], lexical: true };
    const collection = old.create(name, { ...schema, embedderProfile: earlier });
    const row = {
      ids: ["x"],
      vectors: new Float32Array(8).fill(1),
      metadata: [{ repo_id: "r", path: "p", language: "l" }],
    };
    await collection.add(row);
  }
  await old.close();

  const [m, other] = [await TestMemory.open(dir, root), await TestMemory.open(dir, root)];
  await other.call("stats", { collection: "repo_symbols" });
  expect(paths(await m.call("repo_search", { query: "exponential backoff", top_k: 1 }))).toEqual(["src/net/retry.ts"]);
  // A second process that still has the old one open finds the new one, and leaves it alone.
  expect((await other.call("repo_search", { query: "exponential backoff" })).index_status).toBe("hit");
  await other.close();
  expect(readdirSync(dir).sort()).toEqual(["other", "repo_symbols"]);
  expect((await m.call("stats", { collection: "repo_symbols" })).stats).toMatchObject({
    dtype: "int4",
    external_ids: 3,
  });
  expect(m.call("index_repo", { collection: "other" })).rejects.toThrow("multigram version 1");
  await m.close();
});

describe("with no workspace named", () => {
  test("it is the git work tree around the working directory, for all three verbs", async () => {
    const root = realpathSync(repository());
    spawnSync("git", ["init", "-q"], { cwd: root });
    await fromDirectory(join(root, "src/net"), {}, async (m) => {
      expect(await m.call("workspace_info")).toMatchObject({ workspace: root, files_tracked: 0 });
      expect(await m.call("index_repo")).toMatchObject({ status: "built", workspace: root, files_tracked: 3 });
      const found = await m.call("repo_search", { query: "parse headers", top_k: 3 });
      expect(paths(found)).toContain("src/parse.ts");
      expect(found).toMatchObject({ index_status: "hit" });
      expect(await m.call("workspace_info")).toMatchObject({ workspace: root, files_tracked: 3 });
    });
  });

  test("a folder that is not a work tree is indexed only where it is named", async () => {
    const root = realpathSync(repository());
    await fromDirectory(root, {}, async (m) => {
      const said = `the working directory '${root}' lies in no git work tree: `;
      await expect(m.call("index_repo")).rejects.toThrow(`${said}pass the path of the repository`);
      await expect(m.call("repo_search", { query: "x" })).rejects.toThrow(
        `${said}pass workspace, or name the repository with --workspace`,
      );
      expect(await m.call("workspace_info")).toMatchObject({ workspace: null, repo_id: null, files_tracked: 0 });
      expect(readdirSync(m.dir)).toEqual([]);
      expect(await m.call("index_repo", { path: root })).toMatchObject({ status: "built", files_tracked: 3 });
    });
  });
});

test("a root that is never indexed is refused before a collection is made for it", async () => {
  const m = await TestMemory.open(undefined, "/");
  const said = "workspace '/' is the root of the file system";
  for (const call of [
    () => m.call("index_repo"),
    () => m.call("index_repo", { path: "/" }),
    () => m.call("repo_search", { query: "x" }),
    () => m.call("workspace_info"),
  ])
    await expect(call()).rejects.toThrow(said);
  expect(await m.call("index_repo", { path: repository() })).toMatchObject({ files_tracked: 3 });
});

test("a search whose time is over answers from what is indexed and says so", async () => {
  const root = repository();
  const m = await TestMemory.open(undefined, root);
  const query = { query: "exponential backoff with jitter" };
  // In order README.md, src/net/retry.ts, src/parse.ts; one of them at least in each call.
  const first = await m.call("repo_search", { ...query, max_seconds: 1e-9 });
  expect(first).toMatchObject({ index_status: "built", partial: true });
  expect(paths(first)).toEqual(["README.md"]);
  const second = await m.call("repo_search", { ...query, max_seconds: 1e-9, top_k: 1 });
  expect(second).toMatchObject({ index_status: "refreshed", partial: true });
  expect(paths(second)).toEqual(["src/net/retry.ts"]);
  const whole = await m.call("repo_search", query);
  expect(whole.partial).toBe(false);
  expect(paths(whole).sort()).toEqual(["README.md", "src/net/retry.ts", "src/parse.ts"]);
});
