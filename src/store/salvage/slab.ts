/**
 * A sealed slab (FORMAT.md) as far as it can be read: each 64 KiB of a section that is as its checksum says, or was but
 * for one bit. Nothing here needs the file to be whole, and nothing is written.
 */

import { RegularFile } from "../../regular-file.ts";
import { crc32c, mendBit } from "../crc32c.ts";

const HEADER_BYTES = 64;
const ENTRY_BYTES = 32;
const SECTIONS_MAX = 256;
const BLOCK_BYTES = 65536;
/** Blocks of a section that are kept: callers read on, and look back a little. */
const BLOCKS_KEPT = 4;
export const SECTION_SUMS = 31;
/** Has its checksums in another section. */
export const SECTION_LINES = 19;

interface Section {
  offset: number;
  bytes: number;
  crc: number;
  /** Where its blocks' checksums begin. */
  firstSum: number;
}

/** The sections of a slab. */
export class Slab {
  /** Offsets in the file of bits that were restored. */
  readonly mended = new Set<number>();
  private readonly sections = new Map<number, Section>();
  private sums: Uint32Array | undefined;
  private readonly kept = new Map<number, Uint8Array | undefined>();

  private constructor(private readonly file: RegularFile) {}

  /** Undefined where not even the table of sections can be read. */
  static open(path: string): Slab | undefined {
    const file = RegularFile.open(path);
    if (!file) return undefined;
    const slab = new Slab(file);
    if (slab.readTable()) return slab;
    file.close();
    return undefined;
  }

  /** Bytes of a section; undefined where there is none. */
  size(id: number): number | undefined {
    return this.sections.get(id)?.bytes;
  }

  /** Bytes of a section, undefined where any of them is damaged or there are fewer. Not of the lines. */
  read(id: number, at: number, bytes: number): Uint8Array | undefined {
    const section = this.sections.get(id);
    if (!section || at < 0 || bytes < 0 || at + bytes > section.bytes) return undefined;
    const first = Math.floor(at / BLOCK_BYTES);
    const from = at - first * BLOCK_BYTES;
    if (from + bytes <= BLOCK_BYTES) return this.block(section, first)?.subarray(from, from + bytes);
    const out = new Uint8Array(bytes);
    for (let i = first, done = -from; done < bytes; i++, done += BLOCK_BYTES) {
      const block = this.block(section, i);
      if (!block) return undefined;
      const skip = done < 0 ? -done : 0;
      out.set(block.subarray(skip, Math.min(block.length, bytes - done)), done + skip);
    }
    return out;
  }

  close(): void {
    this.file.close();
  }

  private block(section: Section, index: number): Uint8Array | undefined {
    const key = section.offset + index * BLOCK_BYTES;
    if (this.kept.has(key)) return this.kept.get(key);
    const bytes = Math.min(BLOCK_BYTES, section.bytes - index * BLOCK_BYTES);
    const found = this.sound(this.file.read(key, bytes), key, this.sums?.[section.firstSum + index] ?? -1);
    // Where the checksums of blocks are lost, all of a section is compared with its own one.
    const block = this.sums === undefined ? this.wholeBlock(section, index, key) : found;
    this.kept.set(key, block);
    if (this.kept.size > BLOCKS_KEPT * this.sections.size) this.kept.delete(this.kept.keys().next().value!);
    return block;
  }

  private wholeBlock(section: Section, index: number, key: number): Uint8Array | undefined {
    const bytes = this.sound(this.file.read(section.offset, section.bytes), section.offset, section.crc);
    return bytes?.slice(
      index * BLOCK_BYTES,
      index * BLOCK_BYTES + Math.min(BLOCK_BYTES, section.bytes - (key - section.offset)),
    );
  }

  /** The bytes where their checksum is right, or can be made so by one bit. */
  private sound(bytes: Uint8Array | undefined, offset: number, crc: number): Uint8Array | undefined {
    if (!bytes || crc < 0) return undefined;
    if (crc32c(bytes) === crc) return bytes;
    const at = mendBit(bytes, crc);
    if (at === undefined) return undefined;
    this.mended.add(offset + at);
    return bytes;
  }

  private readTable(): boolean {
    const head = this.file.read(0, HEADER_BYTES);
    if (!head) return false;
    const header = new DataView(head.buffer);
    if (crc32c(head.subarray(0, 60)) !== header.getUint32(60, true)) {
      const at = mendBit(head.subarray(0, 60), header.getUint32(60, true));
      if (at !== undefined) this.mended.add(at);
    }
    const count = header.getUint32(16, true);
    if (count < 1 || count > SECTIONS_MAX) return false;
    const table = this.sound(
      this.file.read(HEADER_BYTES, count * ENTRY_BYTES),
      HEADER_BYTES,
      header.getUint32(20, true),
    );
    if (!table) return false;
    const view = new DataView(table.buffer);
    let sums = 0;
    for (let at = 0; at < table.length; at += ENTRY_BYTES) {
      const [offset, bytes] = [8, 16].map((field) => Number(view.getBigUint64(at + field, true)));
      const id = view.getUint32(at, true);
      this.sections.set(id, { offset: offset!, bytes: bytes!, crc: view.getUint32(at + 4, true), firstSum: sums });
      if (id !== SECTION_LINES && id !== SECTION_SUMS) sums += Math.ceil(bytes! / BLOCK_BYTES);
    }
    const own = this.sections.get(SECTION_SUMS);
    const bytes =
      own && own.bytes === sums * 4
        ? this.sound(this.file.read(own.offset, own.bytes), own.offset, own.crc)
        : undefined;
    this.sums = bytes && new Uint32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, sums);
    return true;
  }
}
