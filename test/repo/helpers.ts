/** Temporary roots, a real git, and the smallest collection that satisfies the indexer. */
import { afterAll } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Budget } from "../../src/repo/budget.ts";
import type { WalkFile } from "../../src/repo/entries.ts";
import type { RowSink } from "../../src/repo/indexer.ts";
import { textsOf } from "../../src/repo/rows.ts";
import type { Change, RowsState } from "../../src/repo/sink.ts";
import { Walk, type WalkOptions } from "../../src/repo/walk.ts";
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
  const root = temporary();
  for (const [path, content] of Object.entries(files)) put(root, path, content);
  return root;
}

export function put(root: string, path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

/** A complete walk. */
export async function walkRepo(root: string, options: Partial<WalkOptions> = {}) {
  const walk = await Walk.begin(root, { budget: new Budget(), ...options });
  const files: WalkFile[] = [];
  const take = (file: WalkFile) => files.push(file) === 0;
  await walk.advance(take, () => false);
  const { skipped, source } = walk;
  return { files, skipped, source, walk };
}

/** Runs the real git with the repository's configuration only. */
export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"];
  const child = spawnSync("git", [...identity, ...args], { cwd, env, encoding: "utf8" });
  if (child.status !== 0) throw new Error(`git ${args.join(" ")}: ${child.stderr}`);
  return child.stdout;
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

/** A collection as a map, which counts its calls. */
export class MemorySink implements RowSink {
  readonly columns = ["repo_id", "path", "language"];
  rows = new Map<string, Row>();
  replaces = 0;
  listings = 0;
  /** Set to make the n-th `replace` from now on fail: before (`lost`) or after it took effect (`kept`). */
  failAt: { calls: number; effect: "lost" | "kept" } | undefined;

  async replace(change: Change): Promise<{ deleted: number; upserted: number }> {
    this.replaces++;
    const fails = this.failAt !== undefined && this.failAt.calls-- === 0 ? this.failAt.effect : undefined;
    if (fails === "lost") throw new Error("killed before the commit");
    let deleted = 0;
    for (const id of change.deleteIds) if (this.rows.delete(id)) deleted++;
    const rows = change.rows.flatMap(unpack);
    for (const row of rows) this.rows.set(row.id, row);
    if (fails === "kept") throw new Error("killed after the commit");
    return { deleted, upserted: rows.length };
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
