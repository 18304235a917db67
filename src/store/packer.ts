/**
 * Rows packed one by one, as the native side takes them. Where rows are made by the thousand, lists that are packed at
 * the end would hold every text twice, and cost an object for each of its parts.
 */
import { noFTL } from "bun:jsc";
import type { PackedStrings } from "../../ffi/packing.ts";
import type { NativeRows } from "../../ffi/ty_collection.ts";

const encoder = new TextEncoder();

/** Byte strings in a row, in memory that doubles as they need it. */
class Strings {
  private bytes = new Uint8Array(0);
  /** The ends' lower and upper halves; no pack is as long as 4 GiB. */
  private ends = new Uint32Array(0);
  private used = 0;
  private count = 0;
  /** Bytes of the last pack: the next is most likely as long. */
  private expected = 4096;

  /** Bytes so far. */
  get length(): number {
    return this.used;
  }

  /** Adds to the current string. */
  add(bytes: Uint8Array): void {
    this.ensure(bytes.length);
    this.bytes.set(bytes, this.used);
    this.used += bytes.length;
  }

  addText(text: string): void {
    // A UTF-16 unit takes at most three bytes.
    this.ensure(text.length * 3);
    this.used += encoder.encodeInto(text, this.bytes.subarray(this.used)).written;
  }

  /** Ends the current string. */
  end(): void {
    if (this.count * 2 === this.ends.length) {
      const ends = new Uint32Array(Math.max(64, this.count * 4));
      ends.set(this.ends);
      this.ends = ends;
    }
    this.ends[this.count++ * 2] = this.used;
  }

  /** All strings; the next begin another pack. */
  take(): PackedStrings {
    const ends = new BigUint64Array(this.ends.buffer, 0, this.count);
    const taken = { bytes: this.bytes.subarray(0, this.used), ends };
    this.expected = Math.max(this.expected, this.used + this.used / 8) | 0;
    this.bytes = new Uint8Array(0);
    this.ends = new Uint32Array(0);
    this.used = this.count = 0;
    return taken;
  }

  private ensure(more: number): void {
    if (this.used + more <= this.bytes.length) return;
    // Not cleared: only what is written is ever read.
    const bytes = Buffer.allocUnsafeSlow(Math.max(this.expected, 2 * this.bytes.length, this.used + more));
    bytes.set(this.bytes.subarray(0, this.used));
    this.bytes = bytes;
  }
}

/** One row's parts. */
export interface PackedRow {
  id: string;
  /** The text's bytes, one part after the other: valid UTF-8. */
  text: readonly Uint8Array[];
  /** An object as JSON, checked as `encodeMetadata` does. */
  metadata: string;
  /** A key for each filter column, as `encodeKey` makes them. */
  keys: readonly Uint8Array[];
  /** As `Rows.labels`. */
  labels: readonly string[];
  /** As `Rows.likes`. */
  like: string | undefined;
}

/** Rows in packed form, and whether any is like another. */
export type Pack = NativeRows & { texts: PackedStrings };

/**
 * Frees a pack's memory, which must not be used any more. The collector would do so long after the next pack is put:
 * the memory of a transaction is its packs' and what they are made into.
 */
export function release({ ids, texts, metas, keys, labels, likes }: Pack): void {
  for (const strings of [ids, texts, metas, keys, labels, likes]) {
    for (const array of [strings?.bytes, strings?.ends]) (array?.buffer as ArrayBuffer | undefined)?.transfer(0);
  }
}

/** Collects rows. */
export class Packer {
  private count = 0;
  private hasLikes = false;
  private hasLabels = false;
  private readonly ids = new Strings();
  private readonly texts = new Strings();
  private readonly metas = new Strings();
  private readonly keys = new Strings();
  private readonly labels = new Strings();
  private readonly likes = new Strings();

  /** UTF-8 bytes of the texts so far. */
  get textBytes(): number {
    return this.texts.length;
  }

  /** Rows so far. */
  get rows(): number {
    return this.count;
  }

  add(row: PackedRow): void {
    const { ids, texts, metas, keys, labels, likes } = this;
    ids.addText(row.id);
    ids.end();
    for (const part of row.text) texts.add(part);
    texts.end();
    metas.addText(row.metadata);
    metas.end();
    for (const key of row.keys) {
      keys.add(key);
      keys.end();
    }
    if (row.labels.length > 0) {
      labels.addText(`${row.labels.join("\0")}\0`);
      this.hasLabels = true;
    }
    labels.end();
    if (row.like !== undefined) {
      likes.addText(row.like);
      this.hasLikes = true;
    }
    likes.end();
    this.count++;
  }

  /** The rows so far, whose texts are not kept beside their terms; the next begin another pack. */
  take(): Pack {
    const [ids, texts, metas, keys] = [this.ids.take(), this.texts.take(), this.metas.take(), this.keys.take()];
    const [labels, likes] = [this.labels.take(), this.likes.take()];
    const pack: Pack = { count: this.count, ids, texts, metas, keys, dropText: true };
    if (this.hasLabels) pack.labels = labels;
    if (this.hasLikes) pack.likes = likes;
    this.count = 0;
    this.hasLabels = this.hasLikes = false;
    return pack;
  }
}

// With all that it calls inlined, the last tier of the compiler takes up to 20 ms for it: 8 ms more than a first index of
// 10,000 rows gains by that.
noFTL(Packer.prototype.add);
