/** The native folder tree through its binding: what a walk reports, in which order, and the read of a file. */
import { afterAll, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { NativeError, Status } from "../../ffi/status.ts";
import { EntryType, type NativeTree, ReadOutcome, type TreeEvent, TreeEventKind, Verdict } from "../../ffi/ty_tree.ts";
import { openBuiltNative } from "../native.ts";

const { env } = await openBuiltNative();
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder with files of these contents. */
function made(files: Record<string, string>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-tree-")));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) write(root, path, text);
  return root;
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Walks to the end, entering folders and watching everything else; what was reported, as `kind path`. */
function settle(tree: NativeTree, options: { below?: string; after?: string } = {}): string[] {
  const found: string[] = [];
  for (let walk = tree.walk({ begin: true, ...options }); ; walk = tree.walk({ begin: false })) {
    found.push(...walk.events.map(shown));
    const fresh = walk.events.filter(({ kind }) => kind === TreeEventKind.NEW);
    tree.tell(
      fresh.map(({ path, type }) => ({ path, verdict: type === EntryType.DIRECTORY ? Verdict.ENTER : Verdict.WATCH })),
    );
    if (walk.done && fresh.length === 0) return found.sort();
  }
}

const NAMES = ["", "new", "changed", "gone", "unreadable"];
const shown = ({ kind, path }: TreeEvent) => `${NAMES[kind]} ${path}`;

test("a walk reports what is new, changed and gone, and nothing else", () => {
  const root = made({ "a.txt": "a", "src/b.txt": "b", "src/deep/c.txt": "c", "other/d.txt": "d" });
  const tree = env.openTree(root);
  expect(settle(tree)).toEqual([
    "new a.txt",
    "new other",
    "new other/d.txt",
    "new src",
    "new src/b.txt",
    "new src/deep",
    "new src/deep/c.txt",
  ]);
  expect(settle(tree)).toEqual([]);
  write(root, "src/b.txt", "edited");
  write(root, "src/é.txt", "new");
  rmSync(join(root, "other"), { recursive: true });
  expect(settle(tree)).toEqual(["changed src/b.txt", "gone other", "gone other/d.txt", "new src/é.txt"]);
  expect(settle(tree)).toEqual([]);
  tree.close();
});

test("an event has size, mark, time and type of the entry, as the read of the file has them", () => {
  const root = made({ "a.txt": "four" });
  symlinkSync("a.txt", join(root, "link"));
  utimesSync(join(root, "a.txt"), 1, 2);
  const tree = env.openTree(root);
  const events = new Map(tree.walk({ begin: true }).events.map((event) => [event.path, event]));
  const file = events.get("a.txt")!;
  expect(file).toMatchObject({ type: EntryType.FILE, size: 4, errno: 0, deviceChanged: false });
  expect(Number.isSafeInteger(file.mark) && file.mark > 0).toBe(true);
  expect(Math.abs(Date.now() - file.changedMs)).toBeLessThan(600_000);
  expect(events.get("link")).toMatchObject({ type: EntryType.LINK, size: 5 });
  const read = tree.read("a.txt", 100);
  expect(read).toMatchObject({ outcome: ReadOutcome.OK, size: 4, mark: file.mark, changedMs: file.changedMs });
  expect(Buffer.from(read.bytes).toString()).toBe("four");
  tree.close();
});

test("the hash of a file is XXH64, at every length", () => {
  const root = made({});
  const tree = env.openTree(root);
  for (const length of [0, 1, 3, 4, 7, 8, 15, 31, 32, 33, 63, 64, 100, 8191, 65_536, 65_537, 300_001]) {
    const bytes = Buffer.from(Uint8Array.from({ length }, (_, i) => 1 + ((i * 31) % 255)));
    writeFileSync(join(root, "f"), bytes);
    const read = tree.read("f", 1 << 20);
    const hash = (BigInt(read.hashHigh) << 32n) | BigInt(read.hashLow);
    expect([length, hash, Buffer.from(read.bytes).equals(bytes)]).toEqual([length, Bun.hash.xxHash64(bytes), true]);
  }
  tree.close();
});

test("a read says why there is nothing to read", () => {
  const root = made({ "a/b.txt": "text", "nul.bin": "a\0b", "large.txt": "x".repeat(11) });
  symlinkSync("a", join(root, "folder-link"));
  symlinkSync("b.txt", join(root, "a/file-link"));
  Bun.spawnSync(["mkfifo", join(root, "fifo")]);
  const tree = env.openTree(root);
  const outcome = (path: string) => tree.read(path, 10).outcome;
  expect(outcome("a/b.txt")).toBe(ReadOutcome.OK);
  for (const path of ["none", "a/none", "none/b.txt", "a/b.txt/c", "folder-link/b.txt", "a/file-link"]) {
    expect([path, outcome(path)]).toEqual([path, ReadOutcome.GONE]);
  }
  expect(outcome("fifo")).toBe(ReadOutcome.UNREADABLE);
  expect(outcome("a")).toBe(ReadOutcome.UNREADABLE);
  expect(outcome("nul.bin")).toBe(ReadOutcome.BINARY);
  expect(tree.read("large.txt", 10)).toMatchObject({
    outcome: ReadOutcome.TOO_LARGE,
    size: 11,
    bytes: new Uint8Array(),
  });
  // A folder that is replaced by a link while its descriptor may be kept is not followed from the next walk on.
  renameSync(join(root, "a"), join(root, "moved"));
  symlinkSync("moved", join(root, "a"));
  tree.rest();
  expect(outcome("a/b.txt")).toBe(ReadOutcome.GONE);
  tree.close();
});

test("a mark of an earlier process is compared with", () => {
  const root = made({ "same.txt": "a", "edited.txt": "b" });
  const first = env.openTree(root);
  const marks = new Map(first.walk({ begin: true }).events.map(({ path, mark }) => [path, mark]));
  first.close();
  const tree = env.openTree(root);
  tree.tell([
    { path: "same.txt", verdict: Verdict.WATCH, mark: marks.get("same.txt")! },
    { path: "edited.txt", verdict: Verdict.WATCH, mark: marks.get("edited.txt")! + 1 },
    { path: "gone/x.txt", verdict: Verdict.WATCH, mark: 1 },
    { path: "gone", verdict: Verdict.ENTER },
  ]);
  expect(settle(tree)).toEqual(["changed edited.txt", "gone gone", "gone gone/x.txt"]);
  expect(settle(tree)).toEqual([]);
  tree.close();
});

test("a walk below a folder reports nothing outside of it, and one after a path begins there", () => {
  const root = made({ "a/1.txt": "", "b/c/2.txt": "", "b/d/3.txt": "", "z/4.txt": "" });
  const tree = env.openTree(root);
  settle(tree);
  for (const path of ["a/1.txt", "b/c/2.txt", "b/d/3.txt", "z/4.txt"]) write(root, path, "edited");
  rmSync(join(root, "z"), { recursive: true });
  expect(settle(tree, { below: "b" })).toEqual(["changed b/c/2.txt", "changed b/d/3.txt"]);
  for (const path of ["b/c/2.txt", "b/d/3.txt"]) write(root, path, "again!");
  const { events, reached } = tree.walk({ begin: true, after: "b/c" });
  expect(events.map(shown)).toEqual([
    "gone z/4.txt",
    "gone z",
    "changed b/c/2.txt",
    "changed b/d/3.txt",
    "changed a/1.txt",
  ]);
  expect(reached).toBe("a");
  tree.close();
});

test("a late walk reads at least one folder in each call, and goes on", () => {
  const root = made({ "a/1": "", "b/2": "", "c/3": "" });
  const tree = env.openTree(root);
  settle(tree);
  const reached: string[] = [];
  for (let walk = tree.walk({ begin: true, deadlineMs: -1 }); ; walk = tree.walk({ begin: false, deadlineMs: -1 })) {
    reached.push(walk.reached);
    expect(walk.late).toBe(!walk.done);
    if (walk.done) break;
  }
  expect(reached).toEqual(["a", "b", "c", "c"]);
  tree.close();
});

test("a walk on a worker", async () => {
  const root = made({ "a/1": "", "a/2": "" });
  const tree = env.openTree(root);
  const walk = tree.walkAsync({ begin: true });
  expect(() => tree.walk({ begin: true })).toThrow("under way");
  expect((await walk).events.map(shown)).toEqual(["new a"]);
  const stop = new AbortController();
  stop.abort();
  expect(tree.walkAsync({ begin: true }, { signal: stop.signal })).rejects.toThrow();
  expect(settle(tree)).toEqual(["new a", "new a/1", "new a/2"]);
  tree.close();
});

test("what a walk found before it failed is given by the next", () => {
  const root = made({ "a.txt": "" });
  const tree = env.openTree(root);
  settle(tree);
  write(root, "a.txt", "edited");
  // open, fstat, the entries, lstat of the file; then the entries again.
  env.testFail(5, 5, false);
  expect(catching(() => tree.walk({ begin: true }))).toMatchObject({ status: Status.IO, errno: 5 });
  env.testFail(0, 0, false);
  expect(settle(tree)).toEqual(["changed a.txt"]);
  expect(settle(tree)).toEqual([]);
  tree.close();
});

test("wrong paths and roots are refused, and say nothing", () => {
  const root = made({ "a.txt": "" });
  const tree = env.openTree(root);
  const wrong = ["", "/a", "a/", "a//b", ".", "a/../b", "a/./b", "x".repeat(256), "y/".repeat(200) + "y", "nul\0"];
  for (const path of wrong) {
    const refused = catching(() =>
      tree.tell([
        { path: "a.txt", verdict: Verdict.SKIP },
        { path, verdict: Verdict.SKIP },
      ]),
    );
    expect([path, refused?.status]).toEqual([path, Status.INVALID]);
  }
  expect(settle(tree)).toEqual(["new a.txt"]);
  expect(catching(() => tree.walk({ begin: true, below: "a.txt/" }))?.status).toBe(Status.INVALID);
  expect(catching(() => tree.walk({ begin: true, below: "none" }))).toMatchObject({ status: Status.IO, errno: 2 });
  expect(catching(() => tree.walk({ begin: false }))?.status).toBe(Status.STATE);
  rmSync(root, { recursive: true });
  expect(catching(() => tree.walk({ begin: true }))).toMatchObject({ status: Status.IO, errno: 2 });
  mkdirSync(root);
  expect(settle(tree)).toEqual(["gone a.txt"]);
  tree.close();
  expect(() => tree.walk({ begin: true })).toThrow("closed");
});

function catching(action: () => void): NativeError | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof NativeError) return error;
    throw error;
  }
  return undefined;
}
