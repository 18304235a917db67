/** Temporary roots, a real git, and the smallest collection that satisfies the indexer. */
import { afterAll, expect } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { textsOf } from "../../src/repo/chunks/rows.ts";
import type { FileStamp } from "../../src/repo/files/stamp.ts";
import type { Fingerprint } from "../../src/repo/fingerprints/fingerprints.ts";
import { loadLog } from "../../src/repo/fingerprints/known-logs.ts";
import { createLog, type Head, readLog } from "../../src/repo/fingerprints/log.ts";
import { logName, readNote } from "../../src/repo/fingerprints/note.ts";
import type { Change, RowSink, RowsState } from "../../src/repo/fingerprints/row-sink.ts";
import type { Pack } from "../../src/store/packer.ts";

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
});

/** An empty directory, resolved, removed after the tests. */
export function temporary(): string {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), "svc-repo-")));
  made.push(path);
  return path;
}

/** A root with these files. */
export function rootWith(files: Record<string, string | Uint8Array>): string {
  return putAll(temporary(), files);
}

/** Writes files into a root, which it returns. */
export function putAll(root: string, files: Record<string, string | Uint8Array>): string {
  for (const [path, content] of Object.entries(files)) put(root, path, content);
  return root;
}

/** A root with so many files, each of one line: `file-0.ts` with `value0` and so on. */
export function project(files = 3): string {
  const names = Array.from({ length: files }, (_, i) => [`file-${i}.ts`, `export const value${i} = ${i};\n`]);
  return rootWith(Object.fromEntries(names));
}

export function put(root: string, path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

/** Runs the real git with the repository's configuration only. */
export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"];
  const child = spawnSync("git", [...identity, ...args], { cwd, env, encoding: "utf8" });
  if (child.status !== 0) throw new Error(`git ${args.join(" ")}: ${child.stderr}`);
  return child.stdout;
}

/** A new repository of git with these files, none of them tracked. */
export function gitRoot(files: Record<string, string | Uint8Array>): string {
  const root = rootWith(files);
  git(root, "init", "-q");
  return root;
}

/** Commits everything in a work tree that is not ignored. */
export function commitAll(cwd: string): void {
  git(cwd, "add", ".");
  git(cwd, "commit", "-qm", "one");
}

/** Sets atime and mtime back by hours. The ctime cannot be set, so the indexer does not take the file for old. */
export function age(root: string, path: string, hours = 1): void {
  const when = new Date(Date.now() - hours * 3_600_000);
  utimesSync(join(root, path), when, when);
}

/** A row as it was put. */
export interface Row {
  id: string;
  text: string;
  labels: string[];
  metadata: Record<string, unknown>;
  like?: string;
}

/** The rows of a pack. */
export function unpack(pack: Pack): Row[] {
  const strings = (texts: Pack["texts"]) => textsOf({ ...pack, texts });
  const [ids, texts, metas] = [strings(pack.ids), strings(pack.texts), strings(pack.metas)];
  const labels = pack.labels && strings(pack.labels);
  const likes = pack.likes && strings(pack.likes);
  return ids.map((id, at) => ({
    id,
    text: texts[at]!,
    labels: labels ? labels[at]!.split("\0").slice(0, -1) : [],
    metadata: JSON.parse(metas[at]!),
    ...(likes?.[at] ? { like: likes[at] } : {}),
  }));
}

/** Rows by id, which count what other writers than the sink do to them. */
class Rows extends Map<string, Row> {
  changes = 0;

  override set(id: string, row: Row): this {
    this.changes++;
    return super.set(id, row);
  }

  override delete(id: string): boolean {
    this.changes++;
    return super.delete(id);
  }
}

/** A collection as a map, which counts its calls. */
export class MemorySink implements RowSink {
  readonly columns = ["repo_id", "path", "language"];
  rows = new Rows();
  replaces = 0;
  listings = 0;
  /** Set to make the n-th `replace` from now on fail: before (`lost`) or after it took effect (`kept`). */
  failAt: { calls: number; effect: "lost" | "kept" } | undefined;
  /** Notes by repository, as JSON. */
  readonly saved = new Map<string, string>();
  private saves = 0;

  get generation(): number {
    return this.saves + this.rows.changes;
  }

  get isSaved(): boolean {
    return this.saves > 0;
  }

  async replace(repoId: string, change: Change): Promise<{ deleted: number; upserted: number } | undefined> {
    this.replaces++;
    if (change.isCurrent?.() === false) return undefined;
    const fails = this.failAt !== undefined && this.failAt.calls-- === 0 ? this.failAt.effect : undefined;
    const { changes } = this.rows;
    const before = new Map(this.rows);
    const rows = change.rows.flatMap(unpack);
    if (change.areLike?.() === false) for (const row of rows) delete row.like;
    for (const row of rows) this.rows.set(row.id, row);
    let deleted = 0;
    for (const id of change.deleteIds) if (this.rows.delete(id)) deleted++;
    this.rows.changes = changes;
    const note = change.note?.(change.isFull ? undefined : this.stateOf(repoId), this.generation + 1);
    if (fails === "lost") {
      this.rows = new Rows(before);
      this.rows.changes = changes;
      throw new Error("killed before the commit");
    }
    if (note !== undefined) this.saved.set(repoId, JSON.stringify(note));
    else if (change.note) this.saved.delete(repoId);
    this.saves++;
    if (fails === "kept") throw new Error("killed after the commit");
    return { deleted, upserted: rows.length };
  }

  notes(): Map<string, unknown> {
    return new Map([...this.saved].map(([repoId, note]) => [repoId, JSON.parse(note)]));
  }

  noteOf(repoId: string): unknown {
    return this.notes().get(repoId);
  }

  stateOf(repoId: string): RowsState {
    const ids = [...this.rows.values()].filter((row) => row.metadata.repo_id === repoId).map((row) => row.id);
    return { count: ids.length, digest: Bun.hash(ids.sort().join("\n")).toString(16) };
  }

  async idsOf(repoId: string): Promise<string[]> {
    this.listings++;
    return [...this.rows.values()].filter((row) => row.metadata.repo_id === repoId).map((row) => row.id);
  }

  /** Row ids without the repository, sorted. */
  get ids(): string[] {
    return [...this.rows.keys()].map((id) => id.slice(17)).sort();
  }
}

const BILLION = 1_000_000_000n;
/** The number of regular files among types of entries. */
const REGULAR = 1n;

/** The stamp of what `lstat` or `fstat` says of a regular file, with `bigint`: the definition of the native one. */
export function stampOfStat(stat: { size: bigint; mtimeNs: bigint; ctimeNs: bigint; ino: bigint }): FileStamp {
  const { size, mtimeNs, ctimeNs, ino } = stat;
  const [seconds, rest] = [(ns: bigint) => ns / BILLION, (ns: bigint) => ns % BILLION];
  const words = [size, seconds(mtimeNs), seconds(ctimeNs), (rest(mtimeNs) << 32n) | rest(ctimeNs), ino, REGULAR];
  const mark = Number(Bun.hash.xxHash64(BigUint64Array.from(words)) >> 11n);
  const changedNs = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
  return { size: Number(size), mark: mark === 0 ? 1 : mark, changedMs: Number(changedNs / 1_000_000n) };
}

/** The hash of a file's content: the definition of the native one. */
export function contentHash(bytes: Uint8Array): number {
  return Number(Bun.hash.xxHash64(bytes) >> 11n) || 1;
}

/** The log that counts of a repository; undefined where there is none. */
export function logOf(folder: string, repoId: string, sink: MemorySink): string | undefined {
  const note = readNote(sink.noteOf(repoId), repoId);
  return note && join(folder, note.file);
}

/** Saves changed records and head as another process would. */
export function rewriteLog(
  folder: string,
  repoId: string,
  sink: MemorySink,
  edit: (files: Map<string, Fingerprint>, head: Head) => void,
): void {
  const note = readNote(sink.noteOf(repoId), repoId)!;
  const files = new Map<string, Fingerprint>();
  const head = readLog(join(folder, note.file), repoId, note, files)!;
  edit(files, head);
  const file = logName(repoId);
  const extent = createLog(join(folder, file), head, files);
  rmSync(join(folder, note.file));
  sink.saved.set(repoId, JSON.stringify({ ...note, ...extent, file }));
}

/** Makes the last run look an hour old, so that no file counts as stamped too shortly before it. */
export function settleLog(folder: string, root: string, sink: MemorySink): void {
  rewriteLog(folder, repoIdOf(root), sink, (files) => {
    for (const [path, file] of files) {
      const stat = lstatSync(join(root, path), { bigint: true, throwIfNoEntry: false });
      if (!stat?.isFile()) continue;
      const bytes = readFileSync(join(root, path));
      const isSame =
        file.kind === "text" ? file.hash === contentHash(bytes) : bytes.includes(0) === (file.kind === "binary");
      if (isSame) file.mark = stampOfStat(stat).mark;
    }
  });
}

/** As a process that begins: nothing of any log is in memory. */
export function forgetLogs(): void {
  for (let i = 0; i < 8; i++) {
    const folder = temporary();
    const repoId = repoIdOf(folder);
    const file = logName(repoId);
    const extent = createLog(join(folder, file), { repoId, root: folder, device: 0 }, new Map());
    const note = { file, ...extent, generation: 1, params: "", tracked: 0 };
    expect(loadLog(folder, repoId, { noteOf: () => note }).note).toEqual(note);
  }
}

/** Rows by id, in order, without what they were like. */
export function plain(rows: ReadonlyMap<string, Row>): [string, Row][] {
  return [...rows].map(([id, { like: _like, ...row }]): [string, Row] => [id, row]).sort();
}
