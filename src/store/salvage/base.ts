/** The rows of a base, each as far as it can be read. */
import type { Dtype } from "../schema.ts";
import { unpack } from "./packed.ts";
import { SECTION_LINES, type Slab } from "./slab.ts";
import { decodeBlockRow, decodeStored } from "./vectors.ts";

const SHAPE = 1;
const CODES = 2;
const INFO = 3;
const VECTORS = 4;
const ROW = 5;
const ID_ENDS = 7;
const META_ENDS = 9;
const TEXT_ENDS = 11;
const TEXTS = 12;
const PRESENCE = 15;
const BLOCKS = 16;
const TIMES = 22;
const KEYS = 32;
const PACKED_ROWS = 16;

const HAS_METADATA = 1;
const HAS_TEXT = 2;
const HAS_TERMS = 4;

/** A part of a row: undefined where it is damaged, null where the row never had it. */
export type Part<T> = T | null | undefined;

/** A row as it can be read. */
export interface ReadRow {
  id: string | undefined;
  metadata: Part<string>;
  text: Part<string>;
  vector: Float32Array | undefined;
  /** The encoded filter values, by column; undefined: damaged. */
  keys: (Uint8Array | undefined)[];
  times: { created: number; updated: number } | undefined;
  /** It has terms in the word index instead of a text: they cannot be saved. */
  hasTerms: boolean;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A base whose table of sections could be read. */
export class BaseRows {
  readonly count: number;
  /** Whether the rows lie dimension by dimension: those of the kernel's embedder, which makes them again. */
  private readonly isVertical: boolean;

  constructor(
    private readonly slab: Slab,
    private readonly dim: number,
    private readonly dtype: Dtype,
    private readonly columns = 0,
  ) {
    const shape = slab.read(SHAPE, 0, 16);
    const view = shape && new DataView(shape.buffer, shape.byteOffset, 16);
    this.count = view ? Number(view.getBigUint64(0, true)) : (slab.size(PRESENCE) ?? 0);
    this.isVertical = slab.size(SECTION_LINES) !== undefined;
  }

  /** The number of the row at a position; undefined where it is damaged. */
  numberOf(at: number): number | undefined {
    return this.u64(ROW, at);
  }

  idOf(at: number): string | undefined {
    return text(this.packed(ID_ENDS, at));
  }

  read(at: number): ReadRow {
    const flags = this.slab.read(PRESENCE, at, 1)?.[0];
    return {
      id: this.idOf(at),
      metadata: this.part(flags, HAS_METADATA, () => this.packed(META_ENDS, at), META_ENDS),
      text: this.part(flags, HAS_TEXT, () => this.textBytes(at), TEXT_ENDS),
      vector: this.vector(at),
      keys: Array.from({ length: this.columns }, (_, column) => this.key(column, at)),
      times: this.times(at),
      hasTerms: flags !== undefined && (flags & HAS_TERMS) !== 0,
    };
  }

  private part(
    flags: number | undefined,
    flag: number,
    bytes: () => Uint8Array | undefined,
    ends: number,
  ): Part<string> {
    if (flags !== undefined && (flags & flag) === 0) return null;
    // No row has bytes of that kind where the base lacks the sections: what the row has is empty.
    const found = this.slab.size(ends) === undefined ? new Uint8Array(0) : bytes();
    // Without the flags, what has no bytes counts as not there.
    return flags === undefined && found?.length === 0 ? null : text(found);
  }

  private key(column: number, at: number): Uint8Array | undefined {
    const section = KEYS + 3 * column;
    const bytes = this.slab.read(section, at * 4, 4);
    const code = bytes && new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
    if (code === undefined) return undefined;
    const from = code === 0 ? 0 : this.u64(section + 1, code - 1);
    const to = this.u64(section + 1, code);
    return from === undefined || to === undefined ? undefined : this.slab.read(section + 2, from, to - from);
  }

  private u64(section: number, index: number): number | undefined {
    const bytes = this.slab.read(section, index * 8, 8);
    return bytes && Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
  }

  private packed(ends: number, at: number): Uint8Array | undefined {
    const block = Math.floor(at / PACKED_ROWS);
    const from = block === 0 ? 0 : this.u64(ends, block - 1);
    const to = this.u64(ends, block);
    if (from === undefined || to === undefined || to < from) return undefined;
    const bytes = this.slab.read(ends + 1, from, to - from);
    const rows = bytes && unpack(bytes, Math.min(PACKED_ROWS, this.count - block * PACKED_ROWS));
    return rows?.[at % PACKED_ROWS];
  }

  private textBytes(at: number): Uint8Array | undefined {
    const from = at === 0 ? 0 : this.u64(TEXT_ENDS, at - 1);
    const to = this.u64(TEXT_ENDS, at);
    return from === undefined || to === undefined ? undefined : this.slab.read(TEXTS, from, to - from);
  }

  times(at: number): ReadRow["times"] {
    const head = this.slab.read(TIMES, 0, 16);
    if (!head) return undefined;
    const first = Number(new DataView(head.buffer, head.byteOffset, 8).getBigUint64(0, true));
    const [a, b] = [head[8]!, head[9]!];
    const number = (offset: number, bytes: number) => {
      const found = this.slab.read(TIMES, offset, bytes);
      return found?.reduceRight((sum, byte) => sum * 256 + byte, 0);
    };
    const created = number(16 + at * a, a);
    const since = number(16 + this.count * a + at * b, b);
    if (created === undefined || since === undefined) return undefined;
    return { created: first + created, updated: first + created + since };
  }

  private vector(at: number): Float32Array | undefined {
    const { slab, dim, dtype } = this;
    if (this.isVertical) return undefined;
    const stride = Math.ceil(dim / 64) * 64;
    if (dtype === "int4")
      return decodeBlockRow(dim, at % 16, (from, n) =>
        slab.read(BLOCKS, Math.floor(at / 16) * blockBytes(dim) + from, n),
      );
    if (slab.size(VECTORS) !== undefined) {
      const bytes = dim * (dtype === "f16" ? 2 : 4);
      return decodeStored(dtype, dim, slab.read(VECTORS, at * bytes, bytes));
    }
    const codes = slab.read(CODES, at * stride, dim);
    const info = slab.read(INFO, at * 16, 4);
    if (!codes || !info) return undefined;
    const stored = new Uint8Array(4 + dim);
    stored.set(info);
    stored.set(codes, 4);
    return decodeStored("int8", dim, stored);
  }
}

function blockBytes(dim: number): number {
  return 64 * (Math.ceil(dim / 8) + 5);
}

export function text(bytes: Uint8Array | undefined): string | undefined {
  try {
    return bytes && decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
