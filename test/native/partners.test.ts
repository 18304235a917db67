/**
 * The tables of partners are what their files say. What needs their sources is in src/build/corpus/partners/README.md.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { termsOf } from "../../src/build/corpus/partners/terms.ts";
import {
  PARTNERS_MOST,
  partnersBytes,
  partnersHeader,
  partnersTsv,
  readPartners,
} from "../../src/build/tables/partners-table.ts";
import { madeHeaders } from "../../src/build/tables/tables.ts";
import { OPTIONS } from "./validator.ts";

const FOLDER = join(OPTIONS.root, "src/build/tables");
const NAMES = ["meanings", "languages"];
const read = (name: string) => readFileSync(join(FOLDER, `${name}.tsv`), "utf8");
const tables = Object.fromEntries(NAMES.map((name) => [name, readPartners(read(name))]));

test.each(NAMES)("%s.tsv: terms in order, each once, with partners that are other entries", (name) => {
  expect(partnersTsv(tables[name]!)).toBe(read(name));
  const terms = new Set(tables[name]!.map(({ term }) => term));
  expect(terms.size).toBe(tables[name]!.length);
  const bad = tables[name]!.filter(
    ({ term, partners }) =>
      partners.length > PARTNERS_MOST ||
      new Set(partners).size < partners.length ||
      partners.some((partner) => partner === term || !terms.has(partner)),
  );
  expect(bad).toEqual([]);
  const used = new Set(
    tables[name]!.flatMap(({ term, partners }) => (partners.length > 0 ? [term, ...partners] : partners)),
  );
  expect([...terms].filter((term) => !used.has(term))).toEqual([]);
});

test.each(NAMES)(
  "%s.tsv: a term is what the kernel makes of its word",
  async (name) => {
    const terms = await termsOf(tables[name]!.map(({ word }) => word));
    // A term that is no other one's partner is never shown, and needs no word.
    const shown = new Set(tables[name]!.flatMap(({ partners }) => partners));
    expect(tables[name]!.filter(({ term }, i) => shown.has(term) && !terms[i]!.includes(term))).toEqual([]);
  },
  120_000,
);

test("the kernel is built with the tables of these files", () => {
  const built = readFileSync(join(madeHeaders(OPTIONS.cache), "text/partners_table.h"), "utf8");
  expect(built === partnersHeader(tables)).toBe(true);
});

test("entries that no table can have are refused", () => {
  const entry = (term: string, ...partners: string[]) => ({ term, word: term, partners });
  expect(partnersBytes([entry("a", "b"), entry("b", "a")])).toEqual(
    Uint8Array.of(2, 0, 0, 0, 8, 0, 0, 0, 0, 1, 97, 1, 0, 1, 1, 0, 0, 1, 98, 1, 0, 1, 0, 0),
  );
  expect(() => partnersBytes([entry("b"), entry("a")])).toThrow("a is not after the term before it");
  expect(() => partnersBytes([entry("a"), entry("a")])).toThrow("a is not after the term before it");
  expect(() => partnersBytes([entry("a", "b")])).toThrow("a: b is no other entry");
  expect(() => partnersBytes([entry("a", "a")])).toThrow("a: a is no other entry");
  expect(() => partnersBytes([entry("x".repeat(65))])).toThrow("its length");
  expect(() => partnersBytes([entry("a", ..."a".repeat(21))])).toThrow("a has 21 partners");
});
