/**
 * The fingerprints of a run under way, and when they may be written: before rows change they are voided, after it
 * renewed.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { OSError } from "../errors.ts";
import {
  type Fingerprint,
  type Fingerprints,
  loadFingerprints,
  readFingerprintHead,
  saveFingerprints,
  voidEntry,
} from "./fingerprints.ts";
import type { Workspace } from "./workspace.ts";

/** A long first run is made safe against kills this often: what it has done is not done again. */
const CHECKPOINT_MS = 5_000;

/** A generation that no collection has. */
const INCOMPLETE = -1;

export class Ledger {
  /** What the collection holds, file by file; becomes the next cache. A file under way has an empty stamp. */
  files = new Map<string, Fingerprint>();
  /** Files whose rows this run changes. */
  readonly touched = new Set<string>();
  /** Whether there is anything to write. */
  dirty = false;
  /** How far this run got, if it did not get to the end. */
  reached: string | undefined;
  /** Whether every file was looked at. Until then some stamps may be as young as the run before. */
  hasLookedAtAll = false;

  private readonly run = crypto.randomUUID();
  private readonly startedMs = Date.now();
  /** The run whose cache lies on disk, as far as we know. */
  private runOnDisk: string | undefined;
  private previousStartedMs: number | undefined;
  private isVoidOnDisk = false;
  private savedAt = performance.now();

  /** Made before the walk begins: the time it is made decides which stamps are too young to be trusted next time. */
  constructor(
    private readonly path: string,
    private readonly workspace: Workspace,
    private readonly params: string,
    private readonly generation: () => number,
  ) {}

  /** Takes over what the last run left; undefined if that was nothing, or nothing that can be believed. */
  load(): Fingerprints | undefined {
    const { run, fingerprints: previous } = loadFingerprints(this.path, this.workspace.repoId);
    this.runOnDisk = run;
    this.previousStartedMs = previous?.startedMs;
    if (previous) this.files = previous.files;
    return previous;
  }

  /** The file is to be read again, or is gone: its rows may change. */
  distrust(file: Fingerprint): void {
    if (file.stamp === "") return;
    file.stamp = "";
    this.isVoidOnDisk = false;
  }

  /** Before rows change: everything that may change is unknown on disk. Without a cache it is so already. */
  async voidOnDisk(): Promise<void> {
    if (this.isVoidOnDisk || this.previousStartedMs === undefined) return;
    await this.save(this.withVoids());
    this.isVoidOnDisk = true;
  }

  async checkpoint(): Promise<void> {
    if (performance.now() - this.savedAt > CHECKPOINT_MS) await this.saveQuietly(false, this.withVoids());
  }

  /** What holds while files that are to be read again may change at any moment. */
  private withVoids(): Map<string, Fingerprint> {
    const files = new Map<string, Fingerprint>();
    for (const [path, file] of this.files) files.set(path, file.stamp === "" ? { ...file, hash: "" } : file);
    return files;
  }

  /** The rows are durable without the cache; a disk too full for it must not fail a search. */
  async saveQuietly(complete: boolean, files = this.files): Promise<void> {
    try {
      await this.save(files, complete);
    } catch (error) {
      if (!(error instanceof OSError)) throw error;
    }
  }

  /**
   * Writes the cache. Until it is `complete` there may be rows that no entry knows of: the generation says so, and the
   * next run asks the collection for all ids.
   */
  async save(files = this.files, complete = false): Promise<void> {
    // A collection that holds nothing yet has no directory, and an index of nothing needs no cache.
    if (!existsSync(dirname(this.path))) return;
    if (readFingerprintHead(this.path)?.run !== this.runOnDisk) {
      // Another process indexed this root meanwhile. Who wrote last is not known file by file, so what we wrote is unknown.
      for (const touched of this.touched) {
        const file = files.get(touched);
        if (file) voidEntry(file);
      }
    }
    let tracked = 0;
    for (const file of files.values()) if (file.kind === "text") tracked++;
    await saveFingerprints(this.path, {
      ...this.workspace,
      params: this.params,
      generation: complete ? this.generation() : INCOMPLETE,
      startedMs: this.hasLookedAtAll ? this.startedMs : (this.previousStartedMs ?? this.startedMs),
      run: this.run,
      tracked,
      ...(this.reached === undefined ? {} : { reached: this.reached }),
      files,
    });
    this.runOnDisk = this.run;
    this.savedAt = performance.now();
  }
}
