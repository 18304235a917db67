/** `svc mem repos`: what it asks for, and what a person reads. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { FAKE_GATE, type RunOptions, svc, temporaryFolder } from "../support.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", "repos", ...words], { ...options, preload: [FAKE_GATE] });

test("--forget takes a folder, from where it was typed, or an id", async () => {
  const called = async (...words: string[]) => {
    const { verb, args } = JSON.parse((await fake([...words, "--json"])).stdout);
    return [verb, args];
  };
  const id = "0123456789abcdef";
  expect(await called()).toEqual(["repos", {}]);
  expect(await called("--collection", "app")).toEqual(["repos", { collection: "app" }]);
  expect(await called("--forget", id)).toEqual(["forget_repo", { repository: id }]);
  expect(await called("--forget", "a/../b/", "--collection", "app")).toEqual([
    "forget_repo",
    { repository: join(process.cwd(), "b"), collection: "app" },
  ]);
  expect(await called("--forget", `./${id}`)).toEqual(["forget_repo", { repository: join(process.cwd(), id) }]);
  using folder = temporaryFolder();
  expect((await fake(["--path", folder.path, "--json"])).stdout).toContain(`"path":"${folder.path}"`);
});

test("wrong usage is said before the memory is opened", async () => {
  const env = { FAKE_CLOSED: "1" };
  for (const words of [["--forget", ""], ["extra"], ["--forget"]]) {
    const { code, stdout } = await fake(words, { env });
    expect([code, stdout]).toEqual([2, ""]);
  }
});

test("a repository is two lines, and what is wrong with it is said", async () => {
  const entry = { repo_id: "0123456789abcdef", collection: "repo_symbols", exists: true };
  const used = { files: 1, rows: 2, bytes: 4_200, last_used: Date.UTC(2026, 10, 22, 18, 40) };
  const repositories = [
    { ...entry, ...used, root: "/srv/u/app" },
    { ...entry, ...used, root: "/srv/u/li\nnked", linked_to: "/srv/u/app/.git", exists: false, bytes: 12_345_678 },
    { ...entry, root: null, rows: 3, bytes: 1, exists: false },
  ];
  const env = { FAKE_REPOS: JSON.stringify({ repositories, removed: ["/srv/u/gone"] }) };
  const { stdout, stderr } = await fake([], { env });
  expect([stdout.split("\n"), stderr]).toEqual([
    [
      "/srv/u/app  0123456789abcdef  repo_symbols",
      "  1 file, 2 rows, about 5 KB, used 2026-11-22 18:40Z",
      "/srv/u/li nked  0123456789abcdef  repo_symbols",
      "  1 file, 2 rows, about 12.3 MB, used 2026-11-22 18:40Z, linked work tree of /srv/u/app/.git, the folder is missing",
      "0123456789abcdef  repo_symbols",
      "  3 rows, about 1 KB, its fingerprints are missing",
      "removed /srv/u/gone: git no longer has this work tree",
      "",
    ],
    "",
  ]);
});

test("none: nothing on stdout, an empty list with --json", async () => {
  const env = { FAKE_REPOS: '{"repositories":[]}' };
  expect(await fake([], { env })).toEqual({ code: 0, stdout: "", stderr: "no repository is indexed\n" });
  expect((await fake(["--json"], { env })).stdout).toBe('{"repositories":[]}\n');
});

test("what was forgotten", async () => {
  const answer = { forgotten: "/srv/u/app", repo_id: "0123456789abcdef", deleted: 1, collections: ["a", "b"] };
  const env = { FAKE_FORGET_REPO: JSON.stringify(answer) };
  expect((await fake(["--forget", "/srv/u/app"], { env })).stdout).toBe("forgot /srv/u/app: 1 row deleted from a, b\n");
  const refused = await fake(["--forget", "x"], { env: { FAKE_FORGET_REPO: "refuse" } });
  expect(refused).toMatchObject({ code: 1, stderr: "svc: refused by the store\n" });
});
