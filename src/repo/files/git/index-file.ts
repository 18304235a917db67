/**
 * Git's index file, versions 2 to 4, as gitformat-index(5) describes it: the names of a work tree's tracked files. It
 * is untrusted input. Whatever is not as the format says is an error, and then git is asked instead; a name that no
 * work tree can have (`..`, an empty component, `.git`) is dropped.
 *
 * Names are read from bytes one by one and made strings of once: a `DataView` for each number takes three times as
 * long.
 */

import { bitsOf } from "./ewah.ts";

/** Why an index is not read, as the rest of a sentence about it. */
export class IndexError extends Error {}

/** The entries of an index, in its order. */
export interface IndexEntries {
  /** `""` for one that was dropped, or whose name is in the shared index. */
  names: string[];
  /** What each entry is: the upper four bits of its mode. */
  kinds: Uint8Array;
  /** How many names are not UTF-8. */
  undecodable: number;
  /** In a split index: the shared index it changes, and how. */
  link?: IndexLink;
}

export interface IndexLink {
  /** Name of the shared index: its hash in hexadecimal digits. */
  base: string;
  /** Positions there. Replaced entries come first in this index, in their order. */
  deleted: number[];
  replaced: number[];
}

/** Kinds of entries. A folder is in an index only where the checkout is sparse: it stands for all below it. */
export const FOLDER = 4;
export const GITLINK = 14;

const SIGNATURE = 0x44495243; // DIRC
const HEADER_BYTES = 12;
const MODE_AT = 26;
const STAT_BYTES = 40;
const EXTENDED = 0x4000;
const NAME_MASK = 0xfff;
/** As long as any path of Linux: version 4 could make long names of few bytes. */
const NAME_BYTES_MAX = 4096;
/** Names together, as a multiple of the file: those of version 4 are longer than what is stored of them. */
const NAMES_SHARE_MAX = 4;
const SLASH = 0x2f;
const DOT = 0x2e;
const IMPOSSIBLE = /(^|\/)(\.{0,2}|\.git)(\/|$)/i;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * @param hashBytes of an object's name: 20 or 32
 * @throws IndexError
 */
export function parseIndex(bytes: Uint8Array, hashBytes: 20 | 32): IndexEntries {
  return new Parser(bytes, hashBytes).parse();
}

class Parser {
  private readonly buffer: Buffer;
  /** Where the entries and extensions end: what follows is the file's hash. */
  private readonly end: number;
  private version = 0;
  private undecodable = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly hashBytes: 20 | 32,
  ) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.end = bytes.length - hashBytes;
  }

  parse(): IndexEntries {
    if (this.end < HEADER_BYTES || this.u32(0) !== SIGNATURE) throw new IndexError("is not an index");
    this.version = this.u32(4);
    if (this.version < 2 || this.version > 4) throw new IndexError(`has version ${this.version}`);
    this.checkHash();
    const count = this.u32(8);
    // An entry of version 4 may have an empty name.
    if (count > (this.end - HEADER_BYTES) / (STAT_BYTES + this.hashBytes + 4)) throw new IndexError("is damaged");
    const names = new Array<string>(count);
    const kinds = new Uint8Array(count);
    const entriesEnd = this.version === 4 ? this.packedEntries(names, kinds) : this.plainEntries(names, kinds);
    const link = this.extensions(entriesEnd);
    return { names, kinds, undecodable: this.undecodable, ...(link && { link }) };
  }

  /** Git does not look at it when it reads: it writes zeros where `index.skipHash` is set. */
  private checkHash(): void {
    const stored = this.bytes.subarray(this.end);
    if (stored.every((byte) => byte === 0)) return;
    const hasher = new Bun.CryptoHasher(this.hashBytes === 20 ? "sha1" : "sha256");
    const found = hasher.update(this.bytes.subarray(0, this.end)).digest();
    if (!stored.every((byte, i) => byte === found[i])) throw new IndexError("is damaged: its checksum does not match");
  }

  /** Versions 2 and 3: whole names, each entry padded to a multiple of eight bytes. Returns where they end. */
  private plainEntries(names: string[], kinds: Uint8Array): number {
    const { bytes, end } = this;
    let at = HEADER_BYTES;
    for (let i = 0; i < names.length; i++) {
      const nameAt = this.nameAt(at);
      let nameEnd = nameAt + (this.flags(at) & NAME_MASK);
      // The field holds what is below its largest value; a longer name ends at its NUL.
      if (nameEnd === nameAt + NAME_MASK) nameEnd = bytes.indexOf(0, nameAt);
      if (nameEnd < nameAt || nameEnd >= end || bytes[nameEnd] !== 0) throw new IndexError("is damaged");
      kinds[i] = bytes[at + MODE_AT]! >> 4;
      names[i] = this.name(bytes, this.buffer, nameAt, nameEnd);
      at += (nameEnd - at + 8) & ~7;
    }
    return at;
  }

  /** Version 4: how much of the name before to drop, and what follows instead. Returns where they end. */
  private packedEntries(names: string[], kinds: Uint8Array): number {
    const { bytes, end } = this;
    const name = Buffer.alloc(NAME_BYTES_MAX);
    let [length, total, at] = [0, 0, HEADER_BYTES];
    for (let i = 0; i < names.length; i++) {
      kinds[i] = bytes[at + MODE_AT]! >> 4;
      at = this.nameAt(at);
      let byte = bytes[at++]!;
      let dropped = byte & 0x7f;
      while (byte & 0x80) {
        if (at >= end || dropped > NAME_BYTES_MAX) throw new IndexError("is damaged");
        byte = bytes[at++]!;
        dropped = ((dropped + 1) << 7) | (byte & 0x7f);
      }
      if (dropped > length) throw new IndexError("is damaged");
      length -= dropped;
      while (at < end && bytes[at] !== 0 && length < NAME_BYTES_MAX) name[length++] = bytes[at++]!;
      total += length;
      if (at >= end || bytes[at++] !== 0 || total > bytes.length * NAMES_SHARE_MAX) throw new IndexError("is damaged");
      names[i] = this.name(name, name, 0, length);
    }
    return at;
  }

  private flags(at: number): number {
    const flagsAt = at + STAT_BYTES + this.hashBytes;
    return (this.bytes[flagsAt]! << 8) | this.bytes[flagsAt + 1]!;
  }

  /** Where the name of the entry at a position begins. */
  private nameAt(at: number): number {
    const fixed = at + STAT_BYTES + this.hashBytes + 2;
    if (fixed >= this.end) throw new IndexError("is damaged");
    if ((this.flags(at) & EXTENDED) === 0) return fixed;
    if (this.version === 2 || fixed + 2 >= this.end) throw new IndexError("is damaged");
    return fixed + 2;
  }

  private name(bytes: Uint8Array, buffer: Buffer, start: number, end: number): string {
    if (start === end) return "";
    let bits = 0;
    let isOdd = bytes[end - 1] === SLASH;
    let before = SLASH;
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      bits |= byte;
      if (byte === 0 || (before === SLASH && (byte === DOT || byte === SLASH))) isOdd = true;
      before = byte;
    }
    let name: string;
    if (bits < 0x80) name = buffer.toString("latin1", start, end);
    else {
      try {
        name = decoder.decode(bytes.subarray(start, end));
      } catch {
        this.undecodable++;
        return "";
      }
    }
    if (!isOdd) return name;
    if (name.endsWith("/")) name = name.slice(0, -1);
    return IMPOSSIBLE.test(name) || name.includes("\0") ? "" : name;
  }

  /** Extensions that must be understood have small letters: only two of them are known. */
  private extensions(start: number): IndexLink | undefined {
    let link: IndexLink | undefined;
    let at = start;
    while (at < this.end) {
      if (at + 8 > this.end) throw new IndexError("is damaged");
      const name = this.buffer.toString("latin1", at, at + 4);
      const size = this.u32(at + 4);
      at += 8;
      if (size > this.end - at) throw new IndexError("is damaged");
      if (name === "link") link = this.linkAt(at, at + size);
      else if (name !== "sdir" && !/^[A-Z]/.test(name)) {
        throw new IndexError(`needs the extension '${name.replace(/[^ -~]/g, "?")}'`);
      }
      at += size;
    }
    return link;
  }

  private linkAt(start: number, end: number): IndexLink | undefined {
    if (end - start < this.hashBytes) throw new IndexError("is damaged");
    const bitmapsAt = start + this.hashBytes;
    const hash = this.buffer.subarray(start, bitmapsAt);
    if (hash.every((byte) => byte === 0)) return undefined;
    const base = hash.toString("hex");
    if (bitmapsAt === end) return { base, deleted: [], replaced: [] };
    const deleted = bitsOf(this.bytes, bitmapsAt, end);
    const replaced = deleted && bitsOf(this.bytes, deleted.end, end);
    if (!deleted || replaced?.end !== end) throw new IndexError("is damaged");
    return { base, deleted: deleted.positions, replaced: replaced.positions };
  }

  private u32(at: number): number {
    return this.buffer.readUInt32BE(at);
  }
}
