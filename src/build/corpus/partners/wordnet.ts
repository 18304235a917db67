/** WordNet's files (`wndb(5WN)`) as senses of terms and relations between synsets. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FILES = { n: "noun", v: "verb", a: "adj", r: "adv" } as const;
type Part = keyof typeof FILES;
/** By the digit of a sense key; 5 is an adjective that stands near another one. */
const PARTS: Record<string, Part> = { 1: "n", 2: "v", 3: "a", 4: "r", 5: "a" };

export interface Pointer {
  /** As in the files: "@" a hypernym, "~" a hyponym, "+" a derivation, and so on. */
  kind: string;
  /** The synset that it leads to. */
  to: string;
  /** Places in the two lists of words, from 1; 0 stands for all of them. */
  from: number;
  word: number;
}

export interface Synset {
  /** As written in the files: "_" between words. */
  words: string[];
  pointers: Pointer[];
  /** The definition with its examples. */
  gloss: string;
}

export interface Sense {
  synset: string;
  word: string;
  /** How often the word was found with this meaning in the texts that WordNet's makers marked. */
  count: number;
  /** Place among the word's meanings, from 1: the commonest first. */
  rank: number;
}

export interface WordNet {
  /** By "n" and offset. */
  synsets: Map<string, Synset>;
  senses: Sense[];
}

function* linesOf(folder: string, name: string): Generator<string> {
  // The licence comes first, in lines that begin with two spaces.
  for (const line of readFileSync(join(folder, name), "utf8").split("\n"))
    if (line && !line.startsWith("  ")) yield line;
}

function readSynset(line: string, part: Part): [string, Synset] {
  const bar = line.indexOf(" | ");
  const fields = line.slice(0, bar).trim().split(" ");
  const count = Number.parseInt(fields[3]!, 16);
  const words = Array.from({ length: count }, (_, i) => fields[4 + 2 * i]!.replace(/\(\w+\)$/, ""));
  const after = 4 + 2 * count;
  const pointers = Array.from({ length: Number(fields[after]) }, (_, i): Pointer => {
    const [kind, offset, target, places] = fields.slice(after + 1 + 4 * i, after + 5 + 4 * i) as [
      string,
      string,
      Part | "s",
      string,
    ];
    const from = Number.parseInt(places.slice(0, 2), 16);
    const word = Number.parseInt(places.slice(2), 16);
    return { kind, to: (target === "s" ? "a" : target) + offset, from, word };
  });
  return [part + fields[0]!, { words, pointers, gloss: line.slice(bar + 3).trim() }];
}

/** @throws Error where the folder lacks a file of WordNet 3.0 */
export function readWordNet(folder: string): WordNet {
  const counts = new Map<string, number>();
  for (const line of linesOf(folder, "cntlist.rev")) {
    const [key, rank, count] = line.split(" ") as [string, string, string];
    const percent = key.lastIndexOf("%");
    const name = `${key.slice(0, percent)} ${PARTS[key[percent + 1]!]} ${rank}`;
    counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  const synsets = new Map<string, Synset>();
  const senses: Sense[] = [];
  for (const [part, file] of Object.entries(FILES) as [Part, string][]) {
    for (const line of linesOf(folder, `data.${file}`)) synsets.set(...readSynset(line, part));
    for (const line of linesOf(folder, `index.${file}`)) {
      const fields = line.trim().split(" ");
      const offsets = fields.slice(fields.length - Number(fields[2]));
      for (const [i, offset] of offsets.entries()) {
        const count = counts.get(`${fields[0]} ${part} ${i + 1}`) ?? 0;
        senses.push({ synset: part + offset, word: fields[0]!, count, rank: i + 1 });
      }
    }
  }
  return { synsets, senses };
}

/** A form of a word, both of plain letters, that the stemmer keeps apart from it. */
export interface Form {
  form: string;
  word: string;
  /** Whether it compares: "larger", "best". */
  isDegree: boolean;
}

/** The irregular forms, and the regular degrees of short adjectives. */
export function irregularForms(folder: string, { senses }: WordNet): Form[] {
  const forms: Form[] = [];
  for (const file of ["verb", "noun", "adj"]) {
    for (const line of linesOf(folder, `${file}.exc`)) {
      const [form, ...words] = line.trim().split(" ");
      for (const word of words) forms.push({ form: form!, word, isDegree: file === "adj" });
    }
  }
  const done = new Set(forms.map(({ word }) => word));
  // Porter's stemmer keeps "larger" and "largest" apart from "large"; "bigger" is in the files.
  const isShort = /^[^aeiouy]*[aeiou]+[^aeiou]*[ey]?$/;
  const short = senses.filter(({ synset, word, count }) => synset[0] === "a" && count > 2 && isShort.test(word));
  for (const word of new Set(short.map(({ word }) => word)).difference(done)) {
    const stem = word.replace(/e$/, "").replace(/y$/, "i");
    forms.push({ form: `${stem}er`, word, isDegree: true }, { form: `${stem}est`, word, isDegree: true });
  }
  return forms;
}
