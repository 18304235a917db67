/** An edit puts the windows that differ, and no others. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CancelledError } from "../../../src/errors.ts";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { WorkLock } from "../../../src/repo/indexing/work-lock.ts";
import { forgetLogs, put, temporary } from "../helpers.ts";
import { bench } from "../indexing/runs.ts";

const lines = (count: number, word = "line") => Array.from({ length: count }, (_, at) => `${word} ${at}`);

test("one line of a long file: the windows that have it; by another process too", async () => {
  const text = lines(14_000);
  const { root, run, expectExact } = bench({ "a.ts": text.join("\n"), "b.ts": "1\n" });
  expect(await run()).toMatchObject({ chunks_added: 351 });
  text[7_020] = "changed";
  put(root, "a.ts", text.join("\n"));
  expect(await run()).toMatchObject({ files_changed: 1, chunks_added: 1, chunks_deleted: 0 });
  await expectExact();
  // In the lines that two windows share.
  text[7_003] = "changed";
  put(root, "a.ts", text.join("\n"));
  forgetLogs();
  expect(await run()).toMatchObject({ files_changed: 1, chunks_added: 2, chunks_deleted: 0 });
  await expectExact();
});

test("lines that move by whole windows keep their vectors, and what is cut off goes", async () => {
  const text = lines(400);
  const { root, run, sink, expectExact } = bench({ "a.ts": text.join("\n") });
  await run();
  put(root, "a.ts", [...lines(40, "new"), ...text].join("\n"));
  await run();
  const likes = [...sink.rows.values()].map(({ id, like }) => [id, like]);
  const id = (chunk: number) => `${repoIdOf(root)}:a.ts:${chunk}`;
  expect(likes).toContainEqual([id(5), id(4)]);
  expect(likes.filter(([, like]) => like !== undefined).length).toBeGreaterThan(8);
  await expectExact();
  put(root, "a.ts", text.slice(40).join("\n"));
  expect(await run()).toMatchObject({ files_changed: 1, chunks_deleted: 2 });
  await expectExact();
});

test("text that another path or other names belong to is not taken for the same", async () => {
  const { root, run, expectExact } = bench({ "a.ts": lines(100).join("\n") });
  await run();
  put(root, "b.ts", lines(100).join("\n"));
  expect(await run()).toMatchObject({ chunks_added: 3 });
  put(root, "a.ts", ["export function line() {}", ...lines(100).slice(1)].join("\n"));
  expect(await run()).toMatchObject({ chunks_added: 1 });
  await expectExact();
});

test("the lock of a run over many files: waited for, taken over, given up on, and removed", async () => {
  const folder = join(temporary(), "c");
  const wait = (msLeft: number, signal?: AbortSignal) =>
    WorkLock.take(folder, "0123456789abcdef", { msLeft: () => msLeft, progress: () => "", signal });
  const first = await wait(0);
  if (first === "late") throw new Error("late");
  expect(first.isLate).toBe(false);
  expect(await wait(0)).toBe("late");
  const stop = new AbortController();
  const cancelled = wait(Number.POSITIVE_INFINITY, stop.signal);
  stop.abort();
  await expect(cancelled).rejects.toBeInstanceOf(CancelledError);
  const waiting = Array.from({ length: 4 }, () => wait(Number.POSITIVE_INFINITY));
  first.lock!.release();
  // One after the other, each by a file of its own.
  await Promise.all(
    waiting.map(async (taken) => {
      const held = await taken;
      if (held === "late") throw new Error("late");
      expect([held.isLate, readdirSync(folder)]).toEqual([true, ["repo-0123456789abcdef.lock"]]);
      held.lock!.release();
    }),
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("two first indexes at once: the second does nothing again", async () => {
  const files = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`f${at}.ts`, `${at}\n`]));
  const { sink, folder, run, expectExact } = bench(files);
  // As another process: another name of the folder is another turn.
  const other = `${folder}/.`;
  const results = await Promise.all([run(), run({ folder: other })]);
  expect(results.map(({ files_changed }) => files_changed).sort()).toEqual([0, 100]);
  expect(sink.replaces).toBe(1);
  expect(existsSync(join(folder, `repo-${[...sink.saved.keys()][0]}.lock`))).toBe(false);
  await expectExact();
});
