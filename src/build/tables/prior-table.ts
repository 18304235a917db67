/**
 * The terms and levels of prior.tsv, laid out for the kernel as embed/prior_table.h, which every build makes.
 *
 * What decides a place is in ffi/ame_kernel/embed/prior.c (text_hash, find); both sides change together or not at all.
 */

const BUCKETS = 2048;
const WIDTH = 8;
/**
 * Level l stands for the weight (l + 1) / PARTS; the level after the last would be no weight at all, and has no entry.
 */
export const PARTS = 17;
export const LEVELS = 16;

export type Level = [term: string, level: number];

export function readLevels(tsv: string): Level[] {
  return tsv
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [term, level] = line.split("\t");
      return [term!, Number(level)];
    });
}

const U64 = (1n << 64n) - 1n;

/** text_hash of prior.c. */
function textHash(bytes: Uint8Array): bigint {
  const k = 0x9fb21c651e98df25n;
  const n = bytes.length;
  const view = new DataView(bytes.buffer, bytes.byteOffset, n);
  let h = (BigInt(n + 1) * 0x9e3779b97f4a7c15n) & U64;
  if (n >= 8) {
    for (let i = 0; i + 8 < n; i += 8) {
      h = ((h ^ view.getBigUint64(i, true)) * k) & U64;
      h ^= h >> 32n;
    }
    h ^= view.getBigUint64(n - 8, true);
  } else if (n >= 4) {
    h ^= BigInt(view.getUint32(0, true)) | (BigInt(view.getUint32(n - 4, true)) << 32n);
  } else if (n > 0) {
    h ^= BigInt((bytes[0]! << 16) | (bytes[n >> 1]! << 8) | bytes[n - 1]!);
  }
  h = ((h ^ (h >> 32n)) * k) & U64;
  h = ((h ^ (h >> 29n)) * k) & U64;
  return h ^ (h >> 32n);
}

interface Entry {
  term: string;
  mark: number;
  level: number;
  buckets: [number, number];
  /** Buckets in which it has to be, because a term that it stands in for looks there. */
  pinned: Set<number>;
}

function entry([term, level]: Level): Entry {
  const h = textHash(new TextEncoder().encode(term));
  const bucket = (shift: bigint) => Number((h >> shift) % BigInt(BUCKETS));
  return { term, level, mark: Number(h & 0xfffn) || 1, buckets: [bucket(12n), bucket(32n)], pinned: new Set() };
}

/**
 * Two terms of one fingerprint that share a bucket cannot be told apart there. The lower level wins, and stays in the
 * shared bucket, where a look-up of the other one finds it too.
 */
function withoutTwins(entries: Entry[]): { kept: Entry[]; lost: string[] } {
  const taken = new Map<number, Entry>();
  const kept: Entry[] = [];
  const lost: string[] = [];
  for (const one of entries) {
    const keys = one.buckets.map((bucket) => one.mark * BUCKETS + bucket);
    const shared = keys.find((key) => taken.has(key));
    if (shared === undefined) {
      kept.push(one);
      for (const key of keys) taken.set(key, one);
    } else {
      taken.get(shared)!.pinned.add(shared % BUCKETS);
      lost.push(one.term);
    }
  }
  return { kept, lost };
}

const STEPS_MAX = 2000;

/**
 * Each entry into the emptier one of its two buckets; from two full ones another entry has to move to its other bucket.
 */
function place(entries: Entry[]): Entry[][] {
  const table: Entry[][] = Array.from({ length: BUCKETS }, () => []);
  for (const one of entries) for (const bucket of one.pinned) table[bucket]!.push(one);
  for (const one of entries) {
    if (one.pinned.size > 0) continue;
    let moving = one;
    let to = moving.buckets[table[moving.buckets[1]]!.length < table[moving.buckets[0]]!.length ? 1 : 0];
    for (let step = 0; table[to]!.length >= WIDTH; step++) {
      const free = table[to]!.filter(({ pinned }) => pinned.size === 0);
      const out = free[step % free.length];
      if (step === STEPS_MAX || !out)
        throw new Error(`the table is too full for ${one.term}: fewer terms are to be kept`);
      table[to]![table[to]!.indexOf(out)] = moving;
      moving = out;
      to = out.buckets[out.buckets[0] === to ? 1 : 0];
    }
    table[to]!.push(moving);
  }
  return table;
}

/** As C reads it back exactly: a float has 24 bits, six hexadecimal digits after the 1 with one bit to spare. */
function hexFloat(value: number): string {
  const single = Math.fround(value);
  const exponent = Math.floor(Math.log2(single));
  const digits = Math.round((single / 2 ** exponent - 1) * 2 ** 24);
  return `0x1.${digits.toString(16).padStart(6, "0")}p${exponent}f`;
}

const HEAD = `/* Weights of common terms: what stands in for inverse document frequencies, which a stateless embedder cannot know.
 * Made by src/build/tables/prior-table.ts from prior.tsv; what was counted, and how to count anew, is in the README there. An
 * entry is fingerprint << 4 | level, a row is a bucket: prior.c says where a term is looked up. A change of one entry
 * changes vectors. */
`;

/**
 * The table as a C header, and the terms that have no entry of their own in it. @throws Error where too many terms are
 * kept
 */
export function header(levels: Level[]): { text: string; lost: string[] } {
  const byLevel = levels.map(entry).sort((a, b) => a.level - b.level || (a.term < b.term ? -1 : 1));
  const { kept, lost } = withoutTwins(byLevel);
  const rows = place(kept).map((bucket) => {
    const cells = bucket.map(({ mark, level }) => (mark << 4) | level).sort((a, b) => a - b);
    const hex = cells.map((cell) => `0x${cell.toString(16).padStart(4, "0")}`);
    return `    {${hex.length > 0 ? hex.join(", ") : "0"}},\n`;
  });
  const weights = Array.from({ length: LEVELS }, (_, level) => hexFloat((level + 1) / PARTS));
  const lines = [0, 4, 8, 12].map((at) => `    ${weights.slice(at, at + 4).join(", ")},\n`);
  const text = `${HEAD}#ifndef AME_PRIOR_TABLE_H
#define AME_PRIOR_TABLE_H

#include <stdint.h>

#define PRIOR_BUCKETS ${BUCKETS}u
#define PRIOR_WIDTH ${WIDTH}

static const float prior_weight[${LEVELS}] = {
${lines.join("")}};

static const uint16_t prior_table[PRIOR_BUCKETS][PRIOR_WIDTH] = {
${rows.join("")}};

#endif
`;
  return { text, lost };
}
