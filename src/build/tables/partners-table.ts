/**
 * The tables of partners, meanings.tsv and languages.tsv, laid out for the kernel as text/partners_table.h, which every
 * build makes.
 *
 * What reads the bytes is ffi/ame_kernel/text/partners.c; both sides change together or not at all.
 */

/** AME_PARTNERS_MAX of the kernel. */
export const PARTNERS_MAX = 20;
/** Terms of a block, of which the first is written whole. */
const BLOCK = 16;
/** The kernel's TERM_MAX; written words are as short. */
const BYTES_MAX = 64;
/** A place in the table has two bytes. */
const ENTRIES_MAX = 65_536;

export interface Entry {
  /** As the kernel's tokens. */
  term: string;
  /** As it is written, for messages. */
  word: string;
  /** Terms of other entries, best first. */
  partners: string[];
}

const encoder = new TextEncoder();

/** Entries as lines, in the order of their terms' bytes: term, word, partners with spaces between. */
export function partnersTsv(entries: readonly Entry[]): string {
  const lines = [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.term), Buffer.from(b.term)));
  return lines.map(({ term, word, partners }) => `${term}\t${word}\t${partners.join(" ")}\n`).join("");
}

export function readPartners(tsv: string): Entry[] {
  return tsv
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [term, word, partners] = line.split("\t") as [string, string, string];
      return { term, word, partners: partners === "" ? [] : partners.split(" ") };
    });
}

/**
 * Front-coded entries, sixteen a block. A table begins with the number of its entries and the first byte of each block,
 * four bytes each, low one first. An entry is
 *
 *   how many bytes of its term are those of the term before it in the block, how many follow, and these;
 *   how many bytes of the written word are those of its term, how many follow, and these;
 *   how many partners it has, and the place of each in the table in two bytes.
 *
 * @throws Error where the entries are not in order, or a partner is no entry
 */
export function partnersBytes(entries: readonly Entry[]): Uint8Array {
  if (entries.length > ENTRIES_MAX) throw new Error(`${entries.length} terms are more than ${ENTRIES_MAX}`);
  const places = new Map(entries.map(({ term }, i) => [term, i]));
  const starts: number[] = [];
  const data: number[] = [];
  let before = new Uint8Array();
  for (const [i, { term, word, partners }] of entries.entries()) {
    const own = encoder.encode(term);
    const written = encoder.encode(word);
    if (own.length === 0 || own.length > BYTES_MAX || written.length > BYTES_MAX)
      throw new Error(`${term}: its length`);
    if (Buffer.compare(before, own) >= 0) throw new Error(`${term} is not after the term before it`);
    if (partners.length > PARTNERS_MAX) throw new Error(`${term} has ${partners.length} partners`);
    const isFirst = i % BLOCK === 0;
    if (isFirst) starts.push(data.length);
    const shared = isFirst ? 0 : alike(before, own);
    const kept = alike(own, written);
    data.push(shared, own.length - shared, ...own.subarray(shared));
    data.push(kept, written.length - kept, ...written.subarray(kept));
    data.push(partners.length);
    for (const partner of partners) {
      const place = places.get(partner);
      if (place === undefined || place === i) throw new Error(`${term}: ${partner} is no other entry`);
      data.push(place & 255, place >> 8);
    }
    before = own;
  }
  const head = 4 * (1 + starts.length);
  const bytes = new Uint8Array(head + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, entries.length, true);
  for (const [b, start] of starts.entries()) view.setUint32(4 * (1 + b), head + start, true);
  bytes.set(data, head);
  return bytes;
}

function alike(a: Uint8Array, b: Uint8Array): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/** The tables as a C header, by the name of each. */
export function partnersHeader(tables: Record<string, readonly Entry[]>): string {
  const arrays = Object.entries(tables).map(([name, entries]) => {
    const bytes = partnersBytes(entries);
    let lines = "";
    for (let at = 0; at < bytes.length; at += 32) lines += `    ${[...bytes.subarray(at, at + 32)].join(",")},\n`;
    return `static const uint8_t ${name}[${bytes.length}] = {\n${lines}};\n`;
  });
  return `/* Partners of terms. Made by src/build/tables/partners-table.ts, which has their form, from src/build/corpus/partners. */
#ifndef AME_PARTNERS_TABLE_H
#define AME_PARTNERS_TABLE_H

#include <stdint.h>

${arrays.join("\n")}
#endif
`;
}
