/** Files with credentials in them lose their rows, are read again only when they change, and are never given out. */
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { readChunk } from "../../src/repo/files/source.ts";
import { git, gitRoot, put, rewriteLog, rootWith } from "../repo/helpers.ts";
import { bench, env } from "../repo/indexing/runs.ts";

/** A token in the form of GitHub's, put together here so that this file holds none. */
const TOKEN = "gh" + "p_" + "Zk3vQ9mX7bL2tR8wN5cJ1hG6fD4sA0pYeUiO";
const PLAIN = "export const limit = 3;\n";

function benchOf(files: Record<string, string>, inGit: boolean) {
  if (!inGit) return bench(files);
  const root = gitRoot(files);
  git(root, "add", "-Af");
  return bench(root);
}

for (const inGit of [false, true]) {
  const where = inGit ? "in a checkout" : "in a plain folder";

  test(`a file with a token is skipped, counted and remembered, ${where}`, async () => {
    const { root, sink, run, folder, log, settle } = benchOf({ "a.ts": PLAIN, "b.ts": `login("${TOKEN}")\n` }, inGit);
    expect(await run()).toMatchObject({ files_tracked: 1, files_changed: 1, files_skipped: { secret: 1, binary: 0 } });
    expect(sink.ids).toEqual(["a.ts:0"]);
    expect(readFileSync(log(), "latin1")).not.toContain(TOKEN);

    // It is not read again: its record could not come from a run that reads it as it is.
    settle();
    rewriteLog(folder, repoIdOf(root), sink, (files) => {
      expect(files.get("b.ts")).toMatchObject({ kind: "secret", chunks: 0, hash: 0 });
      files.get("b.ts")!.kind = "binary";
    });
    const before = statSync(log()).ino;
    expect(await run()).toMatchObject({ status: "hit", files_skipped: { secret: 0, binary: 1 } });
    expect(statSync(log()).ino).toBe(before);
  });

  test(`a token that comes takes a file's rows away, and they come back when it goes, ${where}`, async () => {
    const { root, sink, run } = benchOf({ "a.ts": PLAIN, "b.ts": PLAIN }, inGit);
    await run();
    expect(sink.ids).toEqual(["a.ts:0", "b.ts:0"]);
    put(root, "b.ts", `${PLAIN}login("${TOKEN}")\n`);
    expect(await run()).toMatchObject({ files_removed: 1, chunks_deleted: 1, files_skipped: { secret: 1 } });
    expect(sink.ids).toEqual(["a.ts:0"]);
    put(root, "b.ts", `${PLAIN}login(process.env.TOKEN)\n`);
    expect(await run()).toMatchObject({ files_changed: 1, chunks_added: 1, files_skipped: { secret: 0 } });
    expect([...sink.rows.values()].some((row) => row.text.includes(TOKEN))).toBe(false);
    expect(sink.ids).toEqual(["a.ts:0", "b.ts:0"]);
  });
}

test("lines of a file that holds a token now are not given out, whichever lines", () => {
  const root = rootWith({ "a.ts": `${PLAIN}${PLAIN}` });
  expect(readChunk(env, root, "a.ts", 1, 1)).toBe(PLAIN);
  put(root, "a.ts", `${PLAIN}${PLAIN}login("${TOKEN}")\n`);
  expect(readChunk(env, root, "a.ts", 1, 1)).toBeUndefined();
});

test("with limits a file with a token is settled like any other", async () => {
  const files = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`${n}.ts`, n % 2 ? PLAIN : TOKEN]));
  const { sink, run } = bench(files);
  for (let calls = 0; calls < 10 && (await run({ maxFiles: 1 })).truncated; calls++);
  expect(sink.ids).toEqual(["1.ts:0", "3.ts:0", "5.ts:0"]);
  expect(await run()).toMatchObject({ status: "hit", files_tracked: 3, files_skipped: { secret: 3 } });
});
