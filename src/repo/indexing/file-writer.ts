/** Puts the rows of one file after the other into a run's transactions, and their records. */

import { holdsSecret } from "../../secrets/content.ts";
import { chunkBytes, textBytes } from "../chunks/chunk.ts";
import { idBase, rowId } from "../chunks/identity.ts";
import { labelsOf } from "../chunks/labels.ts";
import { languageOf } from "../chunks/language.ts";
import { FileRows } from "../chunks/rows.ts";
import type { ReadFailure } from "../files/read.ts";
import { settledMark } from "../files/stamp.ts";
import type { RepoTree } from "../files/tree.ts";
import { type Fingerprint, voidText } from "../fingerprints/fingerprints.ts";
import type { Journal } from "../fingerprints/journal.ts";
import { SETTINGS_DEFAULT, type Settings } from "../fingerprints/settings.ts";
import type { Siblings } from "../fingerprints/siblings.ts";
import { changedChunks, windowsOf } from "../fingerprints/windows.ts";
import type { Batch } from "./batch.ts";
import type { Budget } from "./budget.ts";
import type { LiveRows } from "./live.ts";
import type { SkipCounts } from "./options.ts";

/** Reads a file below the root. The bytes may be those of the next one once that is read. */
export type ReadFile = RepoTree["read"];

/** What a run has. */
interface Parts {
  batch: Batch;
  journal: Journal;
  siblings: Siblings;
  budget: Budget;
}

export class FileWriter {
  /** Text files whose rows were removed. */
  removed = 0;
  settings: Settings = SETTINGS_DEFAULT;
  /** The rows that there are, where the fingerprints do not match them. */
  live: LiveRows | undefined;

  /**
   * @param columns the collection's filter columns
   * @param flushed called when a transaction ended within a file
   */
  constructor(
    private readonly repoId: string,
    private readonly columns: readonly string[],
    private readonly parts: Parts,
    private readonly flushed: () => void,
  ) {}

  /** Reads a file and puts what of its rows differs. */
  async index(path: string, skipped: SkipCounts, readFile: ReadFile): Promise<void> {
    const { journal, budget } = this.parts;
    const readMs = Date.now();
    const read = readFile(path, this.settings.maxFileBytes);
    if ("failure" in read) {
      return this.leaveOut(path, read.failure, read.stamp ? settledMark(read.stamp, readMs) : 0, skipped);
    }
    const known = journal.files.get(path);
    const { hash } = read;
    const mark = settledMark(read.stamp, readMs);
    const isSame = known?.kind === "text" && known.hash === hash;
    if (!isSame && holdsSecret(read.bytes)) return this.leaveOut(path, "secret", mark, skipped);
    budget.settled++;
    journal.waiting.delete(path);
    if (isSame) journal.renew(path, mark);
    else await this.put(path, textBytes(read.bytes), mark, hash);
  }

  /** Puts those of a file's chunks that differ from what is there, and removes those that it no longer has. */
  private async put(path: string, text: Uint8Array, mark: number, hash: number): Promise<void> {
    const { batch, journal, siblings, budget } = this.parts;
    const base = this.base(path);
    const language = languageOf(path);
    const chunks = chunkBytes(text, this.settings.chunking);
    const labels = labelsOf(text, language, chunks);
    const windows = windowsOf(text, chunks, labels);
    const changed = changedChunks(windows, journal.files.get(path));
    const before = this.chunksOf(path);
    const sibling = changed.length === 0 ? undefined : siblings.baseOf(path, hash, chunks.length);
    budget.chunked++;
    // A transaction that ends within the file says of it only which chunks there may be.
    const reach = before.reduce((most, chunk) => Math.max(most, chunk + 1), chunks.length);
    batch.record(path, voidText(reach));
    const { conflicts } = batch;
    const rows = new FileRows(base, { repo_id: this.repoId, path, language }, text, this.columns);
    for (const { chunk, like } of changed) {
      const own = like === undefined ? undefined : rowId(base, like);
      const same = own ?? (sibling === undefined ? undefined : rowId(sibling, chunk));
      if (!batch.upsert(rows.row(chunk, chunks[chunk]!, labels[chunk]!, same))) continue;
      await batch.flush(true);
      this.flushed();
    }
    for (const chunk of before) if (chunk >= chunks.length) await batch.delete(rowId(base, chunk));
    // Where another process was first, the file was read again meanwhile, and may hold something else.
    const isOne = batch.conflicts === conflicts;
    const most = Math.max(reach, journal.files.get(path)?.chunks ?? 0);
    batch.record(path, isOne ? { kind: "text", chunks: chunks.length, mark, hash, windows } : voidText(most));
  }

  /** Handles a file that was found but that could not be indexed. */
  private async leaveOut(path: string, failure: ReadFailure, mark: number, skipped: SkipCounts): Promise<void> {
    const { journal, budget } = this.parts;
    if (failure === "unreadable") {
      // Its rows stay, if any, and the next run tries again.
      skipped.unreadable++;
      return;
    }
    budget.settled++;
    journal.waiting.delete(path);
    if (failure === "too_large") skipped.too_large++;
    if (failure !== "binary" && failure !== "secret") return this.drop(path);
    const known = journal.files.get(path);
    if (known?.kind === failure) journal.renew(path, mark);
    else await this.drop(path, { kind: failure, chunks: 0, mark, hash: 0 });
  }

  /** Removes a file's rows; its record becomes `record`. */
  async drop(path: string, record?: Fingerprint): Promise<void> {
    const { batch, journal } = this.parts;
    const known = journal.files.get(path);
    const base = this.base(path);
    const surplus = this.chunksOf(path);
    if (!record) journal.found--;
    if (!known && !record && surplus.length === 0) return;
    if (known?.kind === "text") this.removed++;
    batch.record(path, voidText(surplus.reduce((most, chunk) => Math.max(most, chunk + 1), 0)));
    for (const chunk of surplus) await batch.delete(rowId(base, chunk));
    batch.record(path, record);
  }

  /** Numbers of the chunks that a file has in the collection. */
  private chunksOf(path: string): readonly number[] {
    if (this.live) return this.live.of(path);
    return Array.from({ length: this.parts.journal.files.get(path)?.chunks ?? 0 }, (_, chunk) => chunk);
  }

  private base(path: string): string {
    return idBase(this.repoId, path);
  }
}
