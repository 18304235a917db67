/**
 * The tables of partners are what their files say. What needs their sources is in src/build/corpus/partners/README.md.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { termsOf } from "../../src/build/corpus/partners/terms.ts";
import {
  PARTNERS_MAX,
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
      partners.length > PARTNERS_MAX ||
      new Set(partners).size < partners.length ||
      partners.some((partner) => partner === term || !terms.has(partner)),
  );
  expect(bad).toEqual([]);
  const used = new Set(
    tables[name]!.flatMap(({ term, partners }) => (partners.length > 0 ? [term, ...partners] : partners)),
  );
  // A word of English without partners is there to be known as a word.
  if (name === "languages") expect([...terms].filter((term) => !used.has(term))).toEqual([]);
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

/** Substitutes of senses that notes do not have. Tables that were made without these rules had most of them. */
const NEVER = `retention memory, pods seed, salary pay, delivered talk, delivered speak, bill measured, bill bird,
  short shorter, short shortest, kill dead, bug badger, bug pester, hash beef, hash chop, console solace, cluster flower, cluster bunch,
  commit perpetrate, commit sacrifice, server waiter, string twine, template dna, crash clangor, bash bang, bash knock,
  bun buttocks, ruby crimson, python boa, java coffee, pets caress, doc doctor, api fire, lua moon, rand date, vim know,
  args anger, inc wane, toc heel, io nymph, clock fix, business busier, main mainest, key keyest, state statelier,
  first firstest, temporary permanent, strength weakness, debug compute, uk guitar, cs metal, log wood, fork division,
  expire perish, purge catharsis, macro big, menu cart, gift endow, engagement fight, hire charter, module frequency,
  port city, slug bullet, helm steer, crate box, root stem, rust corrode, render furnish, cargo freight,
  authentication genuine, deploy military, upload transfer, dashboard paneling, retention remembrance, order commandment`;
/** Substitutes that notes of engineers need. */
const ALWAYS = `revert rollback, rollback revert, pager oncall, database postgresql, postgresql database, mysql database,
  outage downtime, downtime outage, deploy release, authentication login, repository repo, repo repository,
  config configuration, k8s kubernetes, kubernetes k8s, environment env, bug defect, ticket issue, salary compensation,
  flaky intermittent, latency slow, slow latency, laptop notebook, pr merge, merge pr, cron scheduled, queue kafka,
  kafka queue, cache redis, redis cache, dashboard grafana, retention keep, pod container, bill invoice, deliver ship,
  bucket s3, mfa 2fa, vendor supplier, gift present, automobile car, physician doctor, apartment flat, purchase buy,
  purchase bought, children kids, larger large, chose choose, wage salary, erase delete, trash garbage, wifi wireless`;
/** Different products, and other words that the same general word stands for. */
const NEITHER = `mysql postgresql, postgresql mysql, kafka rabbitmq, aws gcp, jenkins buildkite, okta saml, son daughter`;

test("a word has the substitutes that are meant, and not the others", async () => {
  const pairs = (text: string) => text.split(",").map((pair) => pair.trim().split(/\s+/));
  const lists = [NEVER, ALWAYS, NEITHER].map(pairs);
  const words = [...new Set(lists.flat(2))];
  const terms = await termsOf(words);
  // The last term of a word is the whole of it.
  const termOf = new Map(words.map((word, i) => [word, terms[i]!.at(-1)!]));
  const partners = Object.values(tables).map((table) => new Map(table.map((entry) => [entry.term, entry.partners])));
  const has = ([word, other]: string[]) =>
    partners.some((of) => of.get(termOf.get(word!)!)?.includes(termOf.get(other!)!) ?? false);
  const [never, always, neither] = lists as [string[][], string[][], string[][]];
  expect([...never, ...neither].filter(has)).toEqual([]);
  expect(always.filter((pair) => !has(pair))).toEqual([]);
});

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
