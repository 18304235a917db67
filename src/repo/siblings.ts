/**
 * The other work trees of one git repository in a collection. A file that one of them has with the same path and content
 * has the same texts there, and so the same vectors: they are copied, not made again.
 */
import { dirname } from "node:path";
import { type Fingerprint, loadFingerprints, readFingerprintHead } from "./fingerprints.ts";
import { idBase } from "./identity.ts";
import { type Indexed, indexedIn } from "./indexed.ts";
import type { GitPlace } from "./linked.ts";

/** Work trees whose fingerprints are read, the last used first: to read those of 2,500 files takes 2 ms. */
const SIBLINGS_MAX = 3;
/** To read what three siblings have costs as much as to embed one file in so many of a repository. */
const FILES_SHARE = 40;
/** Heads that are looked at in search of them. */
const HEADS_MAX = 256;

interface Sibling extends Indexed {
  /** As its head said when the files were read. */
  body: string | undefined;
  files: ReadonlyMap<string, Fingerprint>;
}

export class Siblings {
  /** Only those of the same chunking are siblings. */
  params = "";
  /** Not read yet; undefined: not looked for yet. */
  private waiting: Indexed[] | undefined;
  private readonly read: Sibling[] = [];
  private isWorthwhile = false;

  /** @param place undefined: there are none @param fingerprintPath of the work tree itself */
  constructor(
    private readonly place: GitPlace | undefined,
    private readonly fingerprintPath: string,
  ) {}

  /** Says how many files may be asked about next, of a repository of so many. */
  expect(files: number, known: number): void {
    if (files * FILES_SHARE > known) this.isWorthwhile = true;
  }

  /** The id base of the rows that a file of this path and content has in a sibling, as its fingerprints say. */
  baseOf(path: string, hash: string, chunks: number): string | undefined {
    if (this.place === undefined || !this.isWorthwhile || chunks === 0) return undefined;
    for (let at = 0; ; at++) {
      const sibling = this.read[at] ?? this.readNext();
      if (!sibling) return undefined;
      const file = sibling.files.get(path);
      // A voided entry has no hash.
      if (file?.kind === "text" && file.hash === hash && file.chunks === chunks) return idBase(sibling.repoId, path);
    }
  }

  /**
   * Whether the fingerprints stand as they were read. A run voids those of a file before it changes its rows, so while
   * no other process can change rows, unchanged ones still tell what the rows hold.
   */
  get areUnchanged(): boolean {
    return this.read.every(({ path, body }) => body !== undefined && readFingerprintHead(path)?.body === body);
  }

  private readNext(): Sibling | undefined {
    this.waiting ??= this.find();
    const next = this.waiting.shift();
    if (!next) return undefined;
    const { body, fingerprints } = loadFingerprints(next.path, next.repoId);
    const sibling: Sibling = { ...next, body, files: fingerprints?.files ?? new Map() };
    this.read.push(sibling);
    return sibling;
  }

  private find(): Indexed[] {
    const found: Indexed[] = [];
    for (const indexed of indexedIn(dirname(this.fingerprintPath)).slice(0, HEADS_MAX)) {
      if (found.length === SIBLINGS_MAX) break;
      if (indexed.path === this.fingerprintPath) continue;
      const { head } = indexed;
      if (head?.git?.common === this.place?.common && head?.params === this.params) found.push(indexed);
    }
    return found;
  }
}
