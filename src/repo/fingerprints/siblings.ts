/**
 * The other work trees of one git repository in a collection. A file that one of them has with the same path and content
 * has the same texts there, and so the same vectors: they are copied, not made again.
 */
import { isDeepStrictEqual } from "node:util";
import { idBase } from "../chunks/identity.ts";
import type { GitWorkTree } from "../files/work-tree.ts";
import type { Fingerprint } from "./fingerprints.ts";
import { type Indexed, indexedIn } from "./indexed.ts";
import { loadLog } from "./known-logs.ts";
import { type Note, readNote } from "./note.ts";
import type { RowSink } from "./row-sink.ts";

/** Work trees whose fingerprints are read, the last used first: to read those of 2,500 files takes 2 ms. */
const SIBLINGS_MAX = 3;
/** To read what three siblings have costs as much as to embed one file in so many of a repository. */
const FILES_SHARE = 40;
/** Heads that are looked at in search of them. */
const HEADS_MAX = 256;

interface Sibling {
  repoId: string;
  /** Undefined: its log could not be read, and nothing is taken from it. */
  note: Note | undefined;
  files: ReadonlyMap<string, Fingerprint>;
}

export class Siblings {
  /** Only those of the same chunking are siblings. */
  params = "";
  /** Not read yet; undefined: not looked for yet. */
  private waiting: Indexed[] | undefined;
  private readonly read: Sibling[] = [];
  private isWorthwhile = false;

  /**
   * @param workTree undefined: there are none
   * @param repoId of the work tree itself
   */
  constructor(
    private readonly workTree: GitWorkTree | undefined,
    private readonly folder: string,
    private readonly repoId: string,
    private readonly sink: RowSink,
  ) {}

  /** Says how many files may be asked about next, of a repository of so many. */
  expect(files: number, known: number): void {
    if (files * FILES_SHARE > known) this.isWorthwhile = true;
  }

  /** The id base of the rows that a file of this path and content has in a sibling, as its fingerprints say. */
  baseOf(path: string, hash: number, chunks: number): string | undefined {
    if (this.workTree === undefined || !this.isWorthwhile || chunks === 0) return undefined;
    for (let at = 0; ; at++) {
      const sibling = this.read[at] ?? this.readNext();
      if (!sibling) return undefined;
      const file = sibling.files.get(path);
      // A record whose rows are not known has no hash.
      if (file?.kind === "text" && file.hash === hash && file.chunks === chunks) return idBase(sibling.repoId, path);
    }
  }

  /**
   * Whether the notes stand as they were when the fingerprints were read: then these tell what the rows hold, while no
   * other process can change rows.
   */
  get areUnchanged(): boolean {
    return this.read.every(({ repoId, note }) => {
      return note === undefined || isDeepStrictEqual(readNote(this.sink.noteOf(repoId), repoId), note);
    });
  }

  private readNext(): Sibling | undefined {
    this.waiting ??= this.find();
    const next = this.waiting.shift();
    if (!next) return undefined;
    const { note, files } = loadLog(this.folder, next.repoId, this.sink);
    const sibling: Sibling = { repoId: next.repoId, note, files };
    this.read.push(sibling);
    return sibling;
  }

  private find(): Indexed[] {
    const found: Indexed[] = [];
    for (const indexed of indexedIn(this.folder, this.sink).slice(0, HEADS_MAX)) {
      if (found.length === SIBLINGS_MAX) break;
      if (indexed.repoId === this.repoId || indexed.note.params !== this.params) continue;
      if (indexed.head?.git?.common === this.workTree?.common) found.push(indexed);
    }
    return found;
  }
}
