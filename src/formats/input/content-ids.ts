/** Ids for rows that come without one, from what is in them: the same file has the same ids each time it is read. */
import type { ForeignRow } from "./row.ts";

/** Slots of a new table. */
const SLOTS_FIRST = 1024;

/**
 * The ids of one source, in its order. Of rows that are equal each has an id of its own, by its number among them. Holds
 * 16 bytes a row, and what it takes to count those that are equal.
 */
export class ContentIds {
  /** Hashes that were seen, in an open table of a power of two; 0 is empty. */
  private seen = new BigUint64Array(SLOTS_FIRST);
  private count = 0;
  /** How often, of those that were seen more than once. */
  private readonly repeats = new Map<bigint, number>();

  /** A UUID (RFC 9562, version 8) of text, vector and metadata. */
  of({ text, metadata, vector }: ForeignRow): string {
    const parts = JSON.stringify([text ?? null, metadata ?? null]);
    const bytes = vector && new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
    // Two rows with one hash by accident only get numbers that they would not need.
    const number = this.numberOf(BigInt(Bun.hash(parts, text === undefined && bytes ? BigInt(Bun.hash(bytes)) : 0n)));
    const hasher = new Bun.CryptoHasher("sha256").update(parts);
    // A vector belongs to its text where there is one: the row is the same with and without it.
    if (bytes && text === undefined) hasher.update(bytes);
    if (number > 0) hasher.update(`\n${number}`);
    return uuid(hasher.digest("hex"));
  }

  /** How many of this hash came before. */
  private numberOf(hash: bigint): number {
    if (this.isNew(hash === 0n ? 1n : hash)) return 0;
    const number = (this.repeats.get(hash) ?? 0) + 1;
    this.repeats.set(hash, number);
    return number;
  }

  private isNew(hash: bigint): boolean {
    if (this.count * 2 >= this.seen.length) this.grow();
    const isNew = insert(this.seen, hash);
    if (isNew) this.count += 1;
    return isNew;
  }

  private grow(): void {
    const larger = new BigUint64Array(this.seen.length * 2);
    for (const hash of this.seen) if (hash !== 0n) insert(larger, hash);
    this.seen = larger;
  }
}

function insert(table: BigUint64Array, hash: bigint): boolean {
  const mask = table.length - 1;
  for (let at = Number(hash & 0xffffffffn) & mask; ; at = (at + 1) & mask) {
    if (table[at] === hash) return false;
    if (table[at] !== 0n) continue;
    table[at] = hash;
    return true;
  }
}

function uuid(hex: string): string {
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
