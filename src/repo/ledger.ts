/**
 * The fingerprints of a running index, and when they are written: voided before rows change, renewed afterwards.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { OSError } from "../errors.ts";
import {
  type Fingerprint,
  type Fingerprints,
  isRacy,
  loadFingerprints,
  parseStamp,
  readFingerprintHead,
  saveFingerprints,
  voidEntry,
} from "./fingerprints.ts";
import { deviceOf, type GitPlace } from "./linked.ts";
import type { PartialIndex } from "./partial.ts";
import type { RowsState } from "./sink.ts";
import type { Workspace } from "./workspace.ts";

/** How often a long run saves its progress, so that after a kill its work is not repeated. */
const CHECKPOINT_MS = 5_000;

export class Ledger {
  /** The chunking parameters that entries are made with, `chunkKey`. */
  params = "";
  /** The collection's files; becomes the next cache. A file being indexed has an empty stamp. */
  files = new Map<string, Fingerprint>();
  /** Files whose rows this run changes. */
  readonly touched = new Set<string>();
  /** Files that belong to the repository, as far as it was seen. */
  found = 0;
  /** Whether a run got to the end, so that what is saved is whole. */
  isWhole = false;
  /** Whether there is anything to write. */
  dirty = false;
  /** The last path settled, if the run did not get to the end. */
  reached: string | undefined;
  /** Files above this size are left out; 0: by the limit that protects memory alone. */
  maxFileBytes = 0;
  /** Whether every file was visited. Until then some stamps may be of the previous run. */
  hasVisitedAll = false;

  /** As last saved. */
  partial: PartialIndex | undefined;

  private readonly run = crypto.randomUUID();
  private readonly startedMs = Date.now();
  /** The run of the cache on disk, as last read or written. */
  private runOnDisk: string | undefined;
  private previousStartedMs: number | undefined;
  private isVoidOnDisk = false;
  private savedAt = performance.now();

  /** To be constructed before the walk begins: the next run does not trust stamps younger than this time. */
  constructor(
    private readonly path: string,
    private readonly workspace: Workspace,
    private readonly place: GitPlace | undefined,
    private readonly rows: () => RowsState,
  ) {}

  /** Loads the last run's cache; undefined if missing or invalid. */
  load(): Fingerprints | undefined {
    const { run, fingerprints: previous } = loadFingerprints(this.path, this.workspace.repoId);
    this.runOnDisk = run;
    this.previousStartedMs = previous?.startedMs;
    if (previous) this.files = previous.files;
    return previous;
  }

  /**
   * Every file of a part of the root was visited. The others' stamps are of the previous run: of those that were too
   * young for it only the content stays known, so that all may count as taken by this one.
   */
  hasVisited(isVisited: (path: string) => boolean): void {
    const before = this.previousStartedMs ?? this.startedMs;
    for (const [path, file] of this.files) {
      if (!isVisited(path) && file.stamp !== "" && isRacy(parseStamp(file.stamp), before)) file.stamp = "";
    }
    this.hasVisitedAll = true;
  }

  /** Marks a file that will be read again, or is gone: its rows may change. */
  distrust(file: Fingerprint): void {
    if (file.stamp === "") return;
    file.stamp = "";
    this.isVoidOnDisk = false;
  }

  /** Before rows change: voids on disk the entries that may change. Not needed without a cache. */
  async voidOnDisk(): Promise<void> {
    if (this.isVoidOnDisk || this.previousStartedMs === undefined) return;
    await this.save(this.withVoids());
    this.isVoidOnDisk = true;
  }

  async checkpoint(): Promise<void> {
    if (performance.now() - this.savedAt > CHECKPOINT_MS) await this.saveQuietly(false, this.withVoids());
  }

  /** The entries, voided where files will be read again. */
  private withVoids(): Map<string, Fingerprint> {
    const files = new Map<string, Fingerprint>();
    for (const [path, file] of this.files) files.set(path, file.stamp === "" ? { ...file, hash: "" } : file);
    return files;
  }

  /** Saves, ignoring an OSError: rows are durable without the cache, and a full disk must not fail a search. */
  async saveQuietly(complete: boolean, files = this.files): Promise<void> {
    try {
      await this.save(files, complete);
    } catch (error) {
      if (!(error instanceof OSError)) throw error;
    }
  }

  /**
   * Writes the cache. Unless `complete`, there may be rows without an entry: the state of the rows is left out, and the
   * next run reads all ids from the collection.
   */
  async save(files = this.files, complete = false): Promise<void> {
    let [tracked, done] = [0, 0];
    for (const { kind, stamp } of files.values()) {
      if (kind === "text") tracked++;
      if (stamp !== "") done++;
    }
    this.partial = this.isWhole ? undefined : { done, found: Math.max(done, this.found) };
    // An empty collection has no directory yet, and needs no cache.
    if (!existsSync(dirname(this.path))) return;
    if (readFingerprintHead(this.path)?.run !== this.runOnDisk) {
      // Another process indexed this root meanwhile. Which run wrote a file's rows last is unknown, so ours are voided.
      for (const touched of this.touched) {
        const file = files.get(touched);
        if (file) voidEntry(file);
      }
    }
    await saveFingerprints(this.path, {
      repoId: this.workspace.repoId,
      root: this.workspace.root,
      params: this.params,
      ...(this.maxFileBytes > 0 ? { maxFileBytes: this.maxFileBytes } : {}),
      ...(complete ? { rows: this.rows() } : {}),
      ...(this.place ? { git: this.place } : {}),
      device: deviceOf(this.workspace.root),
      startedMs: this.hasVisitedAll ? this.startedMs : (this.previousStartedMs ?? this.startedMs),
      run: this.run,
      tracked,
      ...(this.partial === undefined ? {} : { partial: this.partial }),
      ...(this.reached === undefined ? {} : { reached: this.reached }),
      files,
    });
    this.runOnDisk = this.run;
    this.savedAt = performance.now();
  }
}
