/** `svc mem brief` and `svc mem pin`: what they ask for, and what a person reads. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { FAKE_GATE, type RunOptions, svc, temporaryFolder } from "../support.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", ...words], { ...options, preload: [FAKE_GATE] });
const BRIEF = { text: 'Notes\n- notes a: "x\u001b[2J"', rows: 3, tokens: 9, parts: {}, left_out: 3 };

test("the flags of a brief", async () => {
  const asked = async (...words: string[]) => JSON.parse((await fake(["brief", ...words, "--json"])).stdout).args;
  expect(await asked()).toMatchObject({ max_tokens: 800 });
  const all = ["--project", "github.com/a/b", "--max-tokens", "20000", "--mark"];
  expect(await asked(...all)).toMatchObject({ project: "github.com/a/b", max_tokens: 20_000, mark: true });
  for (const wrong of ["0", "99", "20001", "100.5", "many"]) {
    const { code, stderr } = await fake(["brief", "--max-tokens", wrong]);
    expect([wrong, code]).toEqual([wrong, 2]);
    expect(stderr).toContain("--max-tokens");
  }
  expect((await fake(["brief", "--project", ""])).code).toBe(2);
});

test("auto is the project of the working directory, and none outside of a repository", async () => {
  using folder = temporaryFolder();
  const inside = join(folder.path, "shop", "src");
  mkdirSync(inside, { recursive: true });
  Bun.spawnSync(["git", "init", "-q", join(folder.path, "shop")]);
  const asked = async (cwd: string) =>
    JSON.parse((await fake(["brief", "--project", "auto", "--json"], { cwd })).stdout).args;
  expect((await asked(inside)).project).toBe("shop");
  expect(await asked(folder.path)).not.toHaveProperty("project");
});

test("a brief as text and as JSON, and one that could not be marked", async () => {
  const env = { FAKE_BRIEF: JSON.stringify({ ...BRIEF, unmarked: "No space left" }) };
  const { stdout, stderr, code } = await fake(["brief", "--mark"], { env });
  expect([code, stdout]).toEqual([0, 'Notes\n- notes a: "x\\x1b[2J"\n']);
  expect(stderr).toBe("this brief could not be marked: No space left\n");
  const json = JSON.parse((await fake(["brief", "--json"], { env })).stdout);
  expect(json).toEqual({ rows: 3, tokens: 9, parts: {}, left_out: 3 });
});

test("a project that is named and has no rows", async () => {
  const env = { FAKE_BRIEF: JSON.stringify({ ...BRIEF, is_unknown_project: true }) };
  const said = "no current row has scope 'sh\\nop': the brief shows rows with scope 'default' only\n";
  const { stdout, stderr, code } = await fake(["brief", "--project", "sh\nop"], { env });
  expect([code, stdout, stderr]).toEqual([0, 'Notes\n- notes a: "x\\x1b[2J"\n', said]);
  const json = await fake(["brief", "--project", "sh\nop", "--json"], { env });
  expect(JSON.parse(json.stdout)).toEqual({ rows: 3, tokens: 9, parts: {}, left_out: 3 });
  expect(json.stderr).toBe(said);
  // The scope of a checkout changes with its remote: its earlier rows are then left out.
  expect((await fake(["brief", "--project", "auto"], { env })).stderr).toMatch(/^no current row has scope '.+':/);
});

test("pins are listed, made and removed", async () => {
  const answered = (pinned: string[], ...words: string[]) =>
    fake(["pin", "notes", ...words], { env: { FAKE_PIN: JSON.stringify({ collection: "notes", pinned }) } });
  expect((await answered(["a", "li\nne"])).stdout).toBe("a\nli\\x0ane\n");
  expect((await answered([])).stderr).toBe("notes has no pinned rows: svc mem pin notes ID pins one\n");
  expect((await answered(["a"], "a")).stdout).toBe("pinned a row of notes\n");
  expect((await answered([], "a", "--remove")).stdout).toBe("unpinned a row of notes\n");
  expect(JSON.parse((await answered(["a"], "--json")).stdout)).toEqual({ collection: "notes", pinned: ["a"] });
  const { code, stderr } = await fake(["pin", "notes", "--remove"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--remove needs the id of a row")]);
});
