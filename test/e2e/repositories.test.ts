/** Several repositories in one memory: each is answered as if it were alone, and a call without a change writes nothing. */
import { beforeAll, expect, test } from "bun:test";
import { appendFileSync, cpSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { git, put, rootWith, temporary } from "../repo/helpers.ts";
import { copyOfHome, ROOT, Session, signedIn } from "./home.ts";

const QUESTIONS = [
  "which files are ignored",
  "where is chunkText defined?",
  "Walk",
  "fingerprints of files that changed",
  "languageOf",
  "parse the arguments of a call",
  "tests for ignore",
  "how many bytes may an answer have",
  "chunk.ts",
  "a file that cannot be read",
  "rows are removed when a file is gone",
  "continue where the last answer ended",
];
/** A file stamped less than two seconds before a run is read again by the next. */
const SETTLED_MS = 2100;

let home: Record<string, string>;
let first: string;
let linked: string;
let second: string;

/** A committed repository with copies of folders of this checkout. */
function repositoryOf(...folders: string[]): string {
  const root = temporary();
  for (const folder of folders) {
    mkdirSync(dirname(join(root, folder)), { recursive: true });
    cpSync(join(ROOT, folder), join(root, folder), { recursive: true });
  }
  git(root, "init", "-q");
  git(root, "add", "-A");
  git(root, "commit", "-qm", "all");
  return root;
}

/** Whole hits of every question, in a new session. */
async function answersOf(env: Record<string, string>, workspace: string): Promise<unknown[]> {
  const session = await Session.open(env, "--workspace", workspace);
  try {
    const answers: unknown[] = [];
    for (const query of QUESTIONS) {
      const { hits } = await session.call("svc_repo_search", { query, top_k: 10, with_text: true, max_bytes: 0 });
      answers.push([query, hits]);
    }
    return answers;
  } finally {
    await session.close();
  }
}

/** Sizes and times of everything below a folder, folders included. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, ...statSync(path) }))
    .map(({ path, size, mtimeMs, ino }) => `${path} ${size} ${mtimeMs} ${ino}`)
    .sort();
}

const memoryOf = (env: Record<string, string>) => join(env.SVC_HOME!, "memory");

beforeAll(async () => {
  home = await signedIn();
  first = repositoryOf("src/repo", "test/repo", "docs");
  second = repositoryOf("src/memory", "test/memory", "src/checks");
  linked = join(temporary(), "linked");
  git(first, "worktree", "add", "-q", "-b", "other", linked);
  appendFileSync(join(linked, "src/repo/walk.ts"), "\n/** How fingerprints of ignored files continue. */\n");
});

test("two repositories and a linked work tree in one collection are answered as each alone, to the order", async () => {
  const roots = [first, linked, second];
  const alone = await Promise.all(roots.map((root) => answersOf(copyOfHome(home), root)));
  const together = copyOfHome(home);
  for (const root of roots) await answersOf(together, root);
  for (const [i, root] of roots.entries()) expect(await answersOf(together, root)).toEqual(alone[i]!);
  put(second, "src/added.ts", "export const fingerprintWalk = () => 'ignored chunk';\n".repeat(60));
  await answersOf(together, second);
  for (const i of [0, 1]) expect(await answersOf(together, roots[i]!)).toEqual(alone[i]!);
});

test("a call without a change writes nothing, whatever changed in other repositories", async () => {
  const env = copyOfHome(home);
  const sessions = await Promise.all([first, linked, second].map((root) => Session.open(env, "--workspace", root)));
  const ask = (session: Session) => session.call("svc_repo_search", { query: QUESTIONS[0]! });
  try {
    for (const session of sessions) await ask(session);
    await Bun.sleep(SETTLED_MS);
    for (const session of sessions) await ask(session);
    const before = stateOf(memoryOf(env));
    expect(before.length).toBeGreaterThan(3);
    for (const session of sessions) expect(await ask(session)).toMatchObject({ index_status: "hit" });
    expect(stateOf(memoryOf(env))).toEqual(before);
    put(second, "src/more.ts", "export const more = 1;\n");
    expect(await ask(sessions[2]!)).toMatchObject({ index_status: "refreshed" });
    const after = stateOf(memoryOf(env));
    expect(after).not.toEqual(before);
    for (const session of sessions.slice(0, 2)) expect(await ask(session)).toMatchObject({ index_status: "hit" });
    expect(stateOf(memoryOf(env))).toEqual(after);
  } finally {
    for (const session of sessions) await session.close();
  }
});

test("a hundred work trees of one repository keep their rows apart", async () => {
  const env = copyOfHome(home);
  const main = rootWith({ "src/walk.ts": "export function walk() {}\n", "README.md": "How to walk.\n" });
  git(main, "init", "-q");
  git(main, "add", "-A");
  git(main, "commit", "-qm", "all");
  const folder = temporary();
  const trees = Array.from({ length: 100 }, (_, i) => join(folder, `tree-${i}`));
  for (const tree of trees) {
    git(main, "worktree", "add", "-q", "--detach", tree);
    put(tree, "own.ts", `export const owner = "${basename(tree)}";\n`);
  }
  const session = await Session.open(env, "--workspace", trees[57]!);
  try {
    for (const path of [main, ...trees]) {
      const { files_tracked, chunks_added } = await session.call("svc_index_repo", { path });
      expect([path, files_tracked, chunks_added]).toEqual([path, path === main ? 2 : 3, path === main ? 2 : 3]);
    }
    const { hits } = await session.call("svc_repo_search", { query: "owner", with_text: true });
    expect(hits[0].text).toContain('"tree-57"');
    expect(hits).toHaveLength(3);
    const { stats } = await session.call("svc_stats", { collection: "repo_symbols" });
    expect(stats.external_ids).toBe(302);
  } finally {
    await session.close();
  }
});
