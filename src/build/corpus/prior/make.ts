/**
 * Counts in how many pieces of text each term occurs, and writes what that makes of it: prior.tsv.
 *
 *   bun src/build/corpus/prior/make.ts PIECES
 *
 * PIECES is what pieces.ts wrote: a file for each group (a kind of English, or another language) and source.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { platformTag } from "../../../paths.ts";
import { buildProgram } from "../../program.ts";
import { header, LEVELS, type Level, PARTS } from "../../tables/prior-table.ts";
import { COLLECTIONS, TERSE } from "./sources.ts";

const HERE = import.meta.dir;
const ROOT = resolve(HERE, "../../..");

/** A term with a smaller share, in a kind of English or in another language, gets no entry: what is rare weighs 1. */
const ENGLISH_MIN = 0.007;
const LANGUAGE_MIN = 0.045;
/** Other languages: what is common in one of twenty says less than what is common in a kind of English. */
const LANGUAGE_SHARE = 0.7;
/** Of a few pieces, three is the least that is no accident. */
const PIECES_MIN = 3;
/** A source with fewer pieces is no witness of whether a word of another one is common. */
const WITNESS_MIN = 50;
/**
 * A share counts up to this many times that of a witness. Two honest sources differ by less in nearly all of their
 * words.
 */
const TIMES_MAX = 10;
const SHARE_MAX = 0.98;
/**
 * A share of one in a thousand weighs 1. The power was found by experiment: common terms weigh more than their
 * logarithm says.
 */
const SHARE_OF_ONE = 1000;
const POWER = 0.35;
/** What a word of the hand-written list weighs at most, by tier. */
export const TIERS = [0.1, 0.5, 0.75];

interface Counts {
  /** Of the source. */
  name: string;
  pieces: number;
  terms: Map<string, number>;
}

function run(command: string[], stdin: Uint8Array): string {
  const { stdout, stderr, success } = Bun.spawnSync(command, { stdin });
  if (!success) throw new Error(`${command[0]}: ${stderr.toString().trim()}`);
  return stdout.toString();
}

function count(program: string, name: string, pieces: Uint8Array): Counts {
  const [total, ...lines] = run([program], pieces).trimEnd().split("\n");
  const terms = new Map<string, number>();
  for (const line of lines) {
    const tab = line.indexOf("\t");
    terms.set(line.slice(tab + 1), Number(line.slice(0, tab)));
  }
  return { name, pieces: Number(total), terms };
}

/** Group to counts by source, from the files' names: group.source.pieces. */
function countAll(program: string, folder: string): Map<string, Counts[]> {
  const groups = new Map<string, Counts[]>();
  const files = readdirSync(folder).filter((name) => name.endsWith(".pieces"));
  for (const name of files.sort()) {
    const [group, source] = name.split(".") as [string, string];
    const counts = count(program, source, readFileSync(join(folder, name)));
    if (counts.pieces > 0) groups.set(group, [...(groups.get(group) ?? []), counts]);
  }
  return groups;
}

/** The sources that can say that a word of another one is common. */
const witnesses = (sources: Counts[]) =>
  sources.filter(({ name, pieces }) => pieces >= WITNESS_MIN && !TERSE.has(name));

/** How often a term occurs in one source, for the share that its group gives it. */
function bounded(term: string, sources: Counts[], of: Counts): number {
  const share = (of.terms.get(term) ?? 0) / of.pieces;
  if (COLLECTIONS.has(of.name)) return share;
  const others = witnesses(sources).filter((other) => other !== of);
  if (others.length === 0) return share;
  return Math.min(share, TIMES_MAX * Math.max(...others.map(({ terms, pieces }) => (terms.get(term) ?? 0) / pieces)));
}

/**
 * In which share of a group's pieces each term occurs. No source counts for more than TIMES_MAX times what another one
 * says, and for nothing where no other one has the term: else the name of whatever it is about would be a common word
 * of the language. What a source lost that way is `own` to it: its name, a tab, the term.
 */
function shares(sources: Counts[], own: Set<string>): Map<string, number> {
  const total = sources.reduce((sum, { pieces }) => sum + pieces, 0);
  const sums = new Map<string, number>();
  for (const { terms } of sources) for (const [term, n] of terms) sums.set(term, (sums.get(term) ?? 0) + n);
  const result = new Map<string, number>();
  for (const [term, n] of sums) {
    if (n < PIECES_MIN || n / total < ENGLISH_MIN) continue;
    let kept = 0;
    for (const source of sources) {
      const share = bounded(term, sources, source);
      kept += share * source.pieces;
      if (share < (source.terms.get(term) ?? 0) / source.pieces) own.add(`${source.name}\t${term}`);
    }
    result.set(term, kept / total);
  }
  return result;
}

function merge(groups: Map<string, Counts[]>): Map<string, number> {
  const best = new Map<string, number>();
  const own = new Set<string>();
  // A language of one source comes last: which terms are that source's own is known from its other languages.
  const ordered = [...groups].sort(([, a], [, b]) => Number(witnesses(a).length < 2) - Number(witnesses(b).length < 2));
  for (const [group, sources] of ordered) {
    const isEnglish = group.startsWith("en-");
    const alone = !isEnglish && witnesses(sources).length === 1 ? witnesses(sources)[0]!.name : undefined;
    for (const [term, share] of shares(sources, isEnglish ? new Set() : own)) {
      if (share < (isEnglish ? ENGLISH_MIN : LANGUAGE_MIN) || (alone && own.has(`${alone}\t${term}`))) continue;
      best.set(term, Math.max(best.get(term) ?? 0, isEnglish ? share : share * LANGUAGE_SHARE));
    }
  }
  return best;
}

const weigh = (share: number) => (Math.log(1 / Math.min(share, SHARE_MAX)) / Math.log(SHARE_OF_ONE)) ** POWER;

/** The level that is nearest to a weight; LEVELS and above is no entry. */
export const levelOf = (weight: number) => Math.max(0, Math.round(weight * PARTS) - 1);

/** Words of function-words.txt by tier. */
export function functionWords(): string[][] {
  const tiers: string[][] = TIERS.map(() => []);
  let tier = -1;
  for (const line of readFileSync(join(HERE, "function-words.txt"), "utf8").split("\n")) {
    if (/^\d$/.test(line)) tier = Number(line);
    else if (line && !line.startsWith("#")) tiers[tier]!.push(...line.split(" "));
  }
  return tiers;
}

function stems(program: string, words: string[]): string[] {
  return run([program, "stem"], new TextEncoder().encode(`${words.join("\n")}\n`))
    .trimEnd()
    .split("\n");
}

function levels(program: string, best: Map<string, number>): Level[] {
  const weights = new Map([...best].map(([term, share]) => [term, weigh(share)]));
  for (const [tier, words] of functionWords().entries()) {
    for (const stem of stems(program, words)) weights.set(stem, Math.min(weights.get(stem) ?? 1, TIERS[tier]!));
  }
  const all = [...weights].map(([term, weight]): Level => [term, levelOf(weight)]);
  return all.filter(([, level]) => level < LEVELS).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (!folder) throw new Error("usage: make.ts PIECES");
  const options = { root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! };
  const program = await buildProgram(options, "src/build/corpus/prior/count.c");
  const groups = countAll(program, folder);
  for (const [group, sources] of groups) console.log(group, ...sources.map(({ pieces }) => pieces));
  const found = levels(program, merge(groups));
  writeFileSync(join(HERE, "../../tables/prior.tsv"), found.map(([term, level]) => `${term}\t${level}\n`).join(""));
  const { lost } = header(found);
  console.log(`${found.length} terms; ${lost.length} stand under the entry of another one: ${lost.join(" ")}`);
}
