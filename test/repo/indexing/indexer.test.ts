import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { CancelledError, ValueError } from "../../../src/errors.ts";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { Deadline } from "../../../src/repo/files/deadline.ts";
import { readChunk } from "../../../src/repo/files/source.ts";
import { resolveWorkspace } from "../../../src/repo/files/workspace.ts";
import { loadLog } from "../../../src/repo/fingerprints/known-logs.ts";
import { readHead } from "../../../src/repo/fingerprints/log.ts";
import { random } from "../../random.ts";
import { forgetLogs, git, put, rewriteLog, rootWith, temporary } from "../helpers.ts";
import { bench, env, forgetTrees } from "./runs.ts";

type SourceOf = { path: string; start_line: number; end_line: number; piece?: number };

const lines = (count: number, word = "line") => Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join("");

/** A limit that no test reaches: runs with one make several transactions of what others make one. */
const SEVERAL = { maxFiles: 1000 };

describe("one run after another", () => {
  test("built, then a hit that reads nothing from the collection", async () => {
    const { root, sink, run, expectExact, log, note } = bench({
      "a.ts": lines(100),
      "d/b.py": "x = 1\n",
      "empty.md": "",
      "image.png": new Uint8Array([137, 80, 0, 1]),
      ".env": "SECRET=1",
    });
    const built = await run();
    expect(built).toEqual({
      status: "built",
      collection: "repo_symbols",
      repo_id: repoIdOf(root),
      workspace: root,
      files_tracked: 3,
      files_changed: 3,
      files_removed: 0,
      chunks_added: 4,
      chunks_deleted: 0,
      files_skipped: { binary: 1, secret: 1, too_large: 0, unreadable: 0, outside: 0 },
      files_source: "folder",
    });
    expect(sink.ids).toEqual(["a.ts:0", "a.ts:1", "a.ts:2", "d/b.py:0"]);
    expect(sink.rows.get(`${repoIdOf(root)}:a.ts:1`)).toEqual({
      id: `${repoIdOf(root)}:a.ts:1`,
      text: `a.ts\n${lines(100).split("\n").slice(40, 88).join("\n")}\n`,
      labels: [],
      metadata: {
        repo_id: repoIdOf(root),
        path: "a.ts",
        language: "typescript",
        chunk: 1,
        start_line: 41,
        end_line: 88,
      },
    });
    expect([readHead(log())?.root, note()?.tracked]).toEqual([root, 3]);

    const { replaces, listings } = sink;
    const hit = await run();
    expect(hit).toEqual({ ...built, status: "hit", files_changed: 0, chunks_added: 0 });
    expect([sink.replaces, sink.listings]).toEqual([replaces, listings]);
    await expectExact();
  });

  test("a settled hit writes no file", async () => {
    const { run, settle, log } = bench({ "a.ts": "1", "b.bin": new Uint8Array(10) });
    await run();
    settle();
    const before = statSync(log()).ino;
    expect((await run()).status).toBe("hit");
    expect(statSync(log()).ino).toBe(before);
  });

  test("edits, new files, renames, deletions and shrinking, counted exactly", async () => {
    const { root, run, sink, expectExact } = bench({
      "edit.ts": lines(100),
      "gone.ts": lines(60),
      "old.ts": "x\n",
      "short.ts": lines(100),
    });
    git(root, "init", "-q");
    await run();
    put(root, "edit.ts", lines(100, "other"));
    put(root, "new.ts", "y\n");
    rmSync(join(root, "gone.ts"));
    renameSync(join(root, "old.ts"), join(root, "renamed.ts"));
    put(root, "short.ts", lines(10));
    expect(await run()).toMatchObject({
      status: "refreshed",
      files_tracked: 4,
      files_changed: 4,
      files_removed: 2,
      chunks_added: 3 + 1 + 1 + 1,
      chunks_deleted: 2 + 1 + 2,
    });
    expect(sink.ids).toEqual(["edit.ts:0", "edit.ts:1", "edit.ts:2", "new.ts:0", "renamed.ts:0", "short.ts:0"]);
    await expectExact();
  });

  test("touched but the same: a hit, cached under the new stamp", async () => {
    const { root, run, settle, sink } = bench({ "a.ts": "1" });
    await run();
    settle();
    utimesSync(join(root, "a.ts"), new Date(), new Date());
    const { replaces } = sink;
    expect((await run()).status).toBe("hit");
    expect(sink.replaces).toBe(replaces);
  });

  test("an edit that keeps size and stamp is seen if it may have come within the stamp's grain", async () => {
    const { root, run, sink, folder, expectExact } = bench({ "a.ts": "one\n" });
    await run();
    // As if both edits had fallen into one tick of the clock, which leaves one stamp: the record has none.
    expect(loadLog(folder, repoIdOf(root), sink).files.get("a.ts")).toMatchObject({ mark: 0 });
    put(root, "a.ts", "two\n");
    expect(await run()).toMatchObject({ status: "refreshed", files_changed: 1 });
    await expectExact();
  });

  test("text becomes binary, and text again", async () => {
    const { root, run, sink, expectExact } = bench({ "a.dat": lines(100), "b.ts": "1" });
    await run();
    put(root, "a.dat", new Uint8Array([1, 0, 2]));
    const binary = await run();
    expect(binary).toMatchObject({ files_tracked: 1, files_removed: 1, chunks_deleted: 3 });
    expect(binary.files_skipped.binary).toBe(1);
    expect(await run()).toMatchObject({ status: "hit", files_skipped: { binary: 1 } });
    put(root, "a.dat", "text\n");
    expect(await run()).toMatchObject({ files_tracked: 2, files_changed: 1, chunks_added: 1 });
    expect(sink.ids).toEqual(["a.dat:0", "b.ts:0"]);
    await expectExact();
  });

  test("force chunks everything again, other parameters too", async () => {
    const { run, sink, expectExact } = bench({ "a.ts": lines(100), "b.ts": "1" });
    await run();
    expect(await run({ force: true })).toMatchObject({
      status: "built",
      files_changed: 2,
      chunks_added: 4,
      chunks_deleted: 0,
    });
    expect(await run({ mode: "file" })).toMatchObject({
      status: "built",
      files_changed: 2,
      chunks_added: 2,
      chunks_deleted: 2,
    });
    expect(sink.ids).toEqual(["a.ts:0", "b.ts:0"]);
    expect(await run({ windowLines: 10, windowOverlapLines: 0 })).toMatchObject({ status: "built", chunks_added: 11 });
    await expectExact({ windowLines: 10, windowOverlapLines: 0 });
  });

  test("a larger limit leaves out, a smaller one brings back", async () => {
    const { run, sink } = bench({ "a.ts": "x".repeat(100), "b.ts": "1" });
    await run();
    expect(await run({ maxFileBytes: 50 })).toMatchObject({
      files_tracked: 1,
      files_removed: 1,
      files_skipped: { too_large: 1 },
    });
    expect(sink.ids).toEqual(["b.ts:0"]);
    expect(await run({ maxFileBytes: 0 })).toMatchObject({ files_tracked: 2, files_changed: 1 });
  });

  test("what one run was given stays for those that are given nothing", async () => {
    const lines = Array.from({ length: 40 }, (_, i) => `line ${i}\n`).join("");
    const { run, sink, expectExact } = bench({ "a.ts": lines, "b.ts": "x".repeat(1000) });
    const chosen = { windowLines: 10, windowOverlapLines: 0, maxFileBytes: 500 };
    const settings = { mode: "windowed", window_lines: 10, window_overlap_lines: 0, max_file_bytes: 500 };
    expect(await run(chosen)).toMatchObject({ files_tracked: 1, chunks_added: 4, settings });
    expect(await run()).toMatchObject({ status: "hit", files_tracked: 1, files_skipped: { too_large: 1 }, settings });
    await expectExact(chosen);
    // One of them alone leaves the others.
    expect(await run({ windowLines: 20 })).toMatchObject({
      status: "built",
      chunks_added: 2,
      chunks_deleted: 2,
      settings: { ...settings, window_lines: 20 },
    });
    expect(await run({ maxFileBytes: 0, mode: "file" })).toMatchObject({ settings: { mode: "file" } });
    expect(sink.ids).toEqual(["a.ts:0", "b.ts:0"]);
    expect(await run()).toMatchObject({ status: "hit", settings: { mode: "file" } });
    // Lines mean windows; the other sizes are the defaults again.
    expect(await run({ windowLines: 48 })).not.toHaveProperty("settings");
  });

  test("a limit that no file is above stays too", async () => {
    const { root, run } = bench({ "a.ts": "1" });
    await run();
    await run({ maxFileBytes: 50 });
    put(root, "b.ts", "x".repeat(100));
    expect(await run()).toMatchObject({ files_skipped: { too_large: 1 }, settings: { max_file_bytes: 50 } });
  });

  test("lines that do not go with those that stay are an error that changes nothing", async () => {
    const { run, sink } = bench({ "a.ts": "1\n2\n3\n" });
    await run({ windowLines: 2, windowOverlapLines: 1 });
    const before = [...sink.rows];
    await expect(run({ windowLines: 1 })).rejects.toThrow(
      "window_overlap_lines (1) must be less than window_lines (1)",
    );
    expect([...sink.rows]).toEqual(before);
  });

  test("a file replaced by something that is not one loses its rows", async () => {
    const { root, run, sink } = bench({ "a.ts": "1", "b.ts": "2", "c.ts": "3", "d.ts": "4" });
    await run();
    for (const path of ["a.ts", "b.ts", "c.ts"]) rmSync(join(root, path));
    spawnSync("mkfifo", [join(root, "a.ts")]);
    symlinkSync("d.ts", join(root, "b.ts"));
    put(root, "c.ts/inner.ts", "5");
    expect(await run()).toMatchObject({ files_tracked: 2, files_removed: 3, files_skipped: { unreadable: 1 } });
    expect(sink.ids).toEqual(["c.ts/inner.ts:0", "d.ts:0"]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "what cannot be read for now keeps its rows, what was removed does not (not as root)",
    async () => {
      const { root, run, sink } = bench({ "a.ts": "1", "closed/b.ts": "2", "c.ts": "3" });
      await run();
      put(root, "a.ts", "changed");
      rmSync(join(root, "c.ts"));
      chmodSync(join(root, "a.ts"), 0);
      chmodSync(join(root, "closed"), 0);
      expect(await run()).toMatchObject({ files_tracked: 2, files_removed: 1, files_skipped: { unreadable: 2 } });
      expect(sink.ids).toEqual(["a.ts:0", "closed/b.ts:0"]);
      chmodSync(join(root, "a.ts"), 0o600);
      chmodSync(join(root, "closed"), 0o700);
      expect(await run()).toMatchObject({ files_tracked: 2, files_changed: 1, files_skipped: { unreadable: 0 } });
    },
  );

  test("roots and names of every kind", async () => {
    const long = `${"lang/".repeat(120)}名.ts`;
    const { run, sink, expectExact } = bench({
      "日本 語/ü.ts": "1",
      "new\nline.ts": "2",
      [long]: "3",
      "crlf.ts": "a\r\nb\r\n",
      "bom.ts": "\uFEFFx",
    });
    expect(await run()).toMatchObject({ files_tracked: 5, files_skipped: { unreadable: 0 } });
    for (const row of sink.rows.values()) expect(Buffer.byteLength(row.id)).toBeLessThanOrEqual(512);
    expect([...sink.rows.values()].map((row) => row.metadata.path)).toContain(long);
    expect([...sink.rows.values()].map((row) => row.text)).toContain("bom.ts\nx");
    await expectExact();
  });

  test("our own directory below the root is left out", async () => {
    const { root, sink, run } = bench({
      "a.ts": "1",
      "mem/repo_symbols/collection.json": "{}",
      "mem/notes/collection.json": "{}",
    });
    const folder = join(root, "mem/repo_symbols");
    await run({ folder, exclude: [join(root, "mem")] });
    expect(sink.ids).toEqual(["a.ts:0"]);
    expect((await run({ folder, exclude: [join(root, "mem")] })).status).toBe("hit");
  });
});

describe("limits", () => {
  test("max_files stops and the next call goes on", async () => {
    const { run, sink, expectExact } = bench({ "a.ts": "1", "b.ts": "2", "c.ts": "3" });
    expect(await run({ maxFiles: 2 })).toMatchObject({ status: "built", files_tracked: 2, truncated: true });
    expect(await run({ maxFiles: 2 })).toMatchObject({ status: "refreshed", files_tracked: 3, files_changed: 1 });
    const last = await run({ maxFiles: 2 });
    expect(last).toMatchObject({ status: "hit", files_tracked: 3 });
    expect(last.truncated).toBeUndefined();
    expect(sink.rows.size).toBe(3);
    await expectExact();
  });

  test("other parameters under max_files reach every file in the end", async () => {
    const { run, expectExact } = bench({ "a.ts": lines(60), "b.ts": lines(60), "c.ts": lines(60) });
    await run();
    const seen: number[] = [];
    for (let call = 0; call < 3; call++) seen.push((await run({ mode: "file", maxFiles: 1 })).files_changed);
    expect(seen).toEqual([1, 1, 1]);
    expect((await run({ mode: "file", maxFiles: 1 })).status).toBe("hit");
    await expectExact({ mode: "file" });
  });

  test("max_seconds shorter than the walk still makes progress", async () => {
    const { run, expectExact } = bench({ "a.ts": "1", "b.ts": "2", "c.ts": "3" });
    for (let call = 1; call <= 3; call++) {
      const result = await run({ deadline: new Deadline(1e-9) });
      expect([result.files_tracked, result.files_changed]).toEqual([call, 1]);
    }
    expect(await run()).toMatchObject({ status: "hit", files_tracked: 3 });
    await expectExact();
  });

  test("max_files bounds what is read, and what was looked at is counted whole", async () => {
    const { run } = bench({ "a.ts": "1", "b.ts": "2", "c/d.ts": "3", "z.pem": "4" });
    const files_skipped = { secret: 1 };
    expect(await run({ maxFiles: 1 })).toMatchObject({ files_changed: 1, truncated: true, files_skipped });
    expect(await run({ maxFiles: 2 })).toMatchObject({ files_changed: 2, files_tracked: 3 });
    expect(await run()).toMatchObject({ status: "hit", files_skipped });
  });

  test("max_files gets past files that need no chunking", async () => {
    const names = ["a", "b", "c", "d"];
    const binary = Object.fromEntries(names.map((name) => [`${name}.bin`, new Uint8Array(9)]));
    const same = Object.fromEntries(names.map((name) => [`e${name}.ts`, "same\n"]));
    const { root, run, sink, settle, expectExact } = bench({ ...binary, ...same });
    await run();
    settle();
    for (const name of names) {
      put(root, `${name}.bin`, new Uint8Array(10));
      put(root, `e${name}.ts`, "same\n");
      put(root, `f${name}.ts`, "new\n");
    }
    const { listings } = sink;
    for (const name of names) {
      expect(await run({ maxFiles: 1 })).toMatchObject({ files_changed: 1 });
      expect(sink.ids).toContain(`f${name}.ts:0`);
    }
    expect(await run({ maxFiles: 1 })).toMatchObject({ status: "hit", files_tracked: 8 });
    // The cache is complete after such a call: none of them reads the collection's ids.
    expect(sink.listings).toBe(listings);
    await expectExact();
  });

  test.skipIf(process.getuid?.() === 0)(
    "nor does max_files stop at files that cannot be read (not as root)",
    async () => {
      const { root, run, sink } = bench({ "a.ts": "1", "b.ts": "2", "c.ts": "3", "d.ts": "4" });
      for (const name of ["a.ts", "b.ts"]) chmodSync(join(root, name), 0);
      for (const limit of [{ maxFiles: 1 }, { deadline: new Deadline(1e-9) }]) {
        await run(limit);
        await run(limit);
        expect(sink.ids).toEqual(["c.ts:0", "d.ts:0"]);
      }
    },
  );

  test.each(["one process", "a process a call"])(
    "max_seconds bounds the look, and the next call goes on (%s)",
    async (kind) => {
      const names = Array.from({ length: 2500 }, (_, at) => `d${at % 7}/e${at % 3}/f${at}.ts`).sort();
      const { root, run, sink, settle, expectExact } = bench(Object.fromEntries(names.map((name) => [name, "1"])));
      await run();
      settle();
      const gone = names[1500]!;
      const changed = names.at(-100)!;
      rmSync(join(root, gone));
      put(root, changed, "2");
      let [calls, files_changed, files_removed] = [0, 0, 0];
      for (; calls < 100 && files_changed + files_removed < 2; calls++) {
        if (kind !== "one process" || calls === 0) await forgetTrees();
        const result = await run({ deadline: new Deadline(1e-9) });
        files_changed += result.files_changed;
        files_removed += result.files_removed;
        expect(result.files_tracked).toBe(2500 - files_removed);
        if (calls === 0) expect(result).toMatchObject({ truncated: true, files_changed: 0, files_removed: 0 });
      }
      expect([files_changed, files_removed]).toEqual([1, 1]);
      expect(calls).toBeGreaterThan(5);
      expect(sink.rows.size).toBe(2499);
      await expectExact();
      expect(await run()).toMatchObject({ status: "hit", files_tracked: 2499 });
    },
  );

  test("what a run that was cut short did not reach keeps its rows", async () => {
    const { root, run, sink, settle, expectExact } = bench({ "a.ts": "1", "b.ts": "2", "c.ts": "3", "d.ts": "4" });
    await run();
    settle();
    put(root, "a.ts", "changed\n");
    put(root, "b.ts", "changed\n");
    rmSync(join(root, "d.ts"));
    for (const limit of [{ maxFiles: 1 }, { deadline: new Deadline(1e-9) }]) {
      expect(await run(limit)).toMatchObject({ files_tracked: 3, files_changed: 1, truncated: true });
      expect(sink.ids).toEqual(["a.ts:0", "b.ts:0", "c.ts:0"]);
    }
    expect(await run()).toMatchObject({ files_tracked: 3, files_removed: 0 });
    await expectExact();
  });

  test("a checkout that git had no time to list keeps what only git would name", async () => {
    const { root, run, sink, settle } = bench({ "a.ts": "1", "vendor/b.ts": "2" });
    git(root, "init", "-q");
    git(root, "add", ".");
    await run();
    settle();
    put(root, "a.ts", "changed\n");
    expect(await run({ deadline: new Deadline(1e-9) })).toMatchObject({
      files_changed: 1,
      files_removed: 0,
      truncated: true,
    });
    expect(await run({ deadline: new Deadline(1e-9) })).toMatchObject({
      files_tracked: 2,
      files_removed: 0,
      truncated: true,
    });
    expect(sink.ids).toEqual(["a.ts:0", "vendor/b.ts:0"]);
    expect(await run()).toMatchObject({ status: "hit", files_tracked: 2 });
  });

  test("the limits in any order, over edits and losses of the cache, come to the same in the end", async () => {
    const names = ["a.ts", "b/c.ts", "b/d.ts", "b.ts", "e.bin", "f/g/h.ts", "z.ts"];
    for (let seed = 1; seed <= 12; seed++) {
      const next = random(seed);
      const pick = (count: number) => Math.floor(next() * count);
      const { root, run, sink, settle, log, expectExact } = bench({ "a.ts": lines(100) });
      if (seed % 2) git(root, "init", "-q");
      for (let step = 0; step < 25; step++) {
        const name = names[pick(names.length)]!;
        const before = new Set(sink.ids);
        const kind = pick(6);
        if (kind < 3) put(root, name, name.endsWith(".bin") ? new Uint8Array(3) : lines(1 + pick(120), `word${step}`));
        else if (kind === 3) rmSync(join(root, name), { force: true });
        else if (kind === 4 && sink.replaces > 0 && existsSync(log())) settle();
        else if (pick(4) === 0) {
          rmSync(log(), { force: true });
          forgetLogs();
        }
        const limit = [{ maxFiles: 1 + pick(2) }, { deadline: new Deadline(1e-9) }, {}][pick(3)]!;
        const { truncated, files_tracked } = await run(limit);
        const after = new Set(sink.ids);
        // What was there and still is was never taken for gone.
        for (const id of before) {
          const path = id.slice(0, id.lastIndexOf(":"));
          if (id.endsWith(":0") && existsSync(join(root, path)))
            expect({ seed, step, id, kept: after.has(id) }).toEqual({ seed, step, id, kept: true });
        }
        if (!truncated) {
          await expectExact();
          expect({ seed, step, files_tracked }).toEqual({
            seed,
            step,
            files_tracked: names.filter((n) => !n.endsWith(".bin") && existsSync(join(root, n))).length,
          });
        }
      }
      let calls = 0;
      while ((await run({ maxFiles: 1 })).truncated) expect(++calls).toBeLessThan(20);
      await expectExact();
    }
  });

  test("a wrong limit, a wrong root", async () => {
    const { run, root } = bench({ "a.ts": "1" });
    await expect(resolveWorkspace("no/such/place")).rejects.toThrow("'no/such/place'");
    await expect(resolveWorkspace(join(root, "a.ts"))).rejects.toBeInstanceOf(ValueError);
    await expect(run({ windowLines: 8 })).rejects.toBeInstanceOf(ValueError);
  });

  test("progress comes and ends complete", async () => {
    const { run } = bench({ "a.ts": "1", "b.ts": "2" });
    const seen: number[][] = [];
    await run({ onProgress: (done, total) => seen.push([done, total]) });
    expect(seen.at(-1)).toEqual([2, 2]);
  });
});

describe("repair", () => {
  for (const effect of ["lost", "kept"] as const) {
    for (const calls of [0, 1, 2]) {
      test(`a crash at transaction ${calls}, ${effect}`, async () => {
        const files: Record<string, string> = {};
        for (let at = 0; at < 5; at++) files[`f${at}.ts`] = lines(1000, `before ${at}`);
        const narrow = { windowLines: 1, windowOverlapLines: 0 };
        const { root, run, sink, settle, expectExact } = bench(files);
        await run(narrow);
        settle();
        for (let at = 0; at < 5; at++) put(root, `f${at}.ts`, lines(at % 2 ? 1200 : 700, "after"));
        rmSync(join(root, "f0.ts"));
        sink.failAt = { calls, effect };
        await expect(run({ ...narrow, ...SEVERAL })).rejects.toThrow("killed");
        sink.failAt = undefined;
        forgetLogs();
        await run(narrow);
        await expectExact(narrow);
        expect((await run(narrow)).status).toBe("hit");
      });
    }
  }

  test("killed half-way, then every file is put back as it was: stale vectors do not stay", async () => {
    const narrow = { windowLines: 1, windowOverlapLines: 0 };
    const names = ["a.ts", "b.ts", "c.ts", "d.ts"];
    const { root, run, sink, settle, expectExact } = bench(
      Object.fromEntries(names.map((name) => [name, lines(1500)])),
    );
    await run(narrow);
    settle();
    for (const name of names) put(root, name, lines(1500, "other"));
    sink.failAt = { calls: 1, effect: "kept" };
    await expect(run({ ...narrow, ...SEVERAL })).rejects.toThrow("killed");
    sink.failAt = undefined;
    forgetLogs();
    for (const name of names) put(root, name, lines(1500));
    await run(narrow);
    await expectExact(narrow);
  });

  for (const [name, damage] of [
    ["missing", (path: string) => rmSync(path)],
    ["damaged", (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -5))],
  ] as const) {
    test(`a cache that is ${name}: rows of files gone meanwhile go, surplus chunks too`, async () => {
      const { root, run, sink, log, expectExact } = bench({
        "a.ts": lines(100),
        "b.ts": lines(100),
        "c.ts": "1",
      });
      await run();
      damage(log());
      forgetLogs();
      rmSync(join(root, "a.ts"));
      put(root, "b.ts", "short\n");
      expect(await run()).toMatchObject({ status: "built", files_tracked: 2, chunks_added: 2, chunks_deleted: 5 });
      expect(sink.listings).toBe(2);
      await expectExact();
      expect((await run()).status).toBe("hit");
    });
  }

  test("killed before the first transaction: strays are still found", async () => {
    const { root, run, sink, expectExact } = bench({ "a.ts": lines(100), "b.ts": "1\n" });
    await run();
    const stray = (path: string) => ({
      id: `${repoIdOf(root)}:${path}:7`,
      text: "?",
      labels: [],
      metadata: { repo_id: repoIdOf(root), path },
    });
    for (const row of [stray("never.ts"), stray("a.ts")]) sink.rows.set(row.id, row);
    put(root, "b.ts", "2\n");
    sink.failAt = { calls: 0, effect: "lost" };
    await expect(run()).rejects.toThrow("killed");
    sink.failAt = undefined;
    await run();
    await expectExact();
  });

  test("rows that another process deleted come back; rows of another shape stay as they are", async () => {
    const { root, run, sink, settle } = bench({ "a.ts": lines(100), "b.ts": "1" });
    await run();
    settle();
    const mine = { id: "my note", text: "mine", labels: [], metadata: { repo_id: repoIdOf(root) } };
    sink.rows.delete(`${repoIdOf(root)}:a.ts:1`);
    sink.rows.set(mine.id, mine);
    expect(await run()).toMatchObject({ status: "refreshed", files_changed: 1, chunks_added: 3, chunks_deleted: 0 });
    expect(sink.rows.get("my note")).toEqual(mine);
    const { listings } = sink;
    expect((await run()).status).toBe("hit");
    expect(sink.listings).toBe(listings);
  });

  test("another process's run in between: what it saved is not taken for ours", async () => {
    const { root, run, sink, folder, expectExact } = bench({ "a.ts": lines(100), "b.ts": "2\n" });
    await run();
    put(root, "a.ts", `${lines(90)}new\n`);
    const replace = sink.replace.bind(sink);
    let others = 0;
    sink.replace = async (repoId, change) => {
      if (others++ === 0) {
        // The other one read an older text, and saves it before ours.
        for (const chunk of [0, 1, 2, 3]) {
          const metadata = { repo_id: repoId, path: "a.ts" };
          const id = `${repoId}:a.ts:${chunk}`;
          sink.rows.set(id, { id, text: "a.ts\nstale\n", labels: [], metadata });
        }
        rewriteLog(folder, repoId, sink, (files) => {
          files.set("a.ts", { kind: "text", chunks: 4, mark: 5, hash: 7 });
        });
      }
      return replace(repoId, change);
    };
    expect(await run()).toMatchObject({ files_changed: 1, chunks_added: 3, chunks_deleted: 1 });
    sink.replace = replace;
    await expectExact();
    expect((await run()).status).toBe("hit");
  });

  test("two calls at once in one process take turns", async () => {
    const { run, sink, expectExact } = bench({ "a.ts": lines(100), "b.ts": "1" });
    const results = await Promise.all([run(), run(), run()]);
    expect(results.map((result) => result.status)).toEqual(["built", "hit", "hit"]);
    expect(sink.replaces).toBe(1);
    await expectExact();
  });

  test("a cancelled run keeps what it has done", async () => {
    const files: Record<string, string> = {};
    for (let at = 0; at < 8; at++) files[`f${at}.ts`] = lines(1500);
    const { run, sink, expectExact } = bench(files);
    const narrow = { windowLines: 1, windowOverlapLines: 0 };
    const stop = new AbortController();
    const replace = sink.replace.bind(sink);
    sink.replace = async (repoId, change) => {
      const done = await replace(repoId, change);
      if (sink.replaces === 2) stop.abort();
      await Bun.sleep(8);
      return done;
    };
    await expect(run({ ...narrow, ...SEVERAL, signal: stop.signal })).rejects.toBeInstanceOf(CancelledError);
    expect(sink.rows.size).toBeGreaterThan(0);
    const rest = await run(narrow);
    expect(rest.files_changed).toBeLessThan(8);
    await expectExact(narrow);
  });
});

describe("back to the source", () => {
  test("lines as they are now, or nothing", () => {
    const root = rootWith({ "a.ts": "one\r\ntwo\nthree", ".env": "K=1\n", bin: new Uint8Array(3) });
    const outside = rootWith({ "x.ts": "theirs\n" });
    symlinkSync(join(outside, "x.ts"), join(root, "link.ts"));
    symlinkSync(outside, join(root, "d"));
    spawnSync("mkfifo", [join(root, "pipe")]);
    const table: [string, number, number, string | undefined][] = [
      ["a.ts", 1, 2, "one\r\ntwo\n"],
      ["a.ts", 3, 9, "three"],
      ["a.ts", 4, 9, undefined],
      ["a.ts", 0, 1, undefined],
      ["a.ts", 2, 1, undefined],
      ["b.ts", 1, 1, undefined],
      [".env", 1, 1, undefined],
      ["bin", 1, 1, undefined],
      ["pipe", 1, 1, undefined],
      ["link.ts", 1, 1, undefined],
      ["d/x.ts", 1, 1, undefined],
      [`../${outside.split("/").at(-1)}/x.ts`, 1, 1, undefined],
      [join(outside, "x.ts"), 1, 1, undefined],
      ["a.ts\0", 1, 1, undefined],
      [".git/config", 1, 1, undefined],
    ];
    for (const [path, start, end, expected] of table)
      expect({ path, text: readChunk(env, root, path, start, end) }).toEqual({ path, text: expected });
  });

  test("every row of an index finds its own text again", async () => {
    const { root, run, sink } = bench({
      "a.ts": lines(200),
      "min.js": `head\n${"é😀x".repeat(40_000)}\ntail\n`,
      "b.ts": "\uFEFFx\r\ny",
    });
    await run();
    for (const { text, metadata } of sink.rows.values()) {
      const { path, start_line, end_line, piece } = metadata as unknown as SourceOf;
      expect(`${path}\n${readChunk(env, root, path, start_line, end_line, piece)}`).toBe(text);
    }
    expect(sink.rows.size).toBeGreaterThan(8);
  });

  test("two names of one directory are one workspace", async () => {
    const root = rootWith({ "a.ts": "1" });
    const other = join(temporary(), "link");
    symlinkSync(root, other);
    expect(await resolveWorkspace(other)).toEqual({ root, repoId: repoIdOf(root) });
  });
});
