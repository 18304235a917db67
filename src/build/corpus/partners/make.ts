/**
 * Writes the tables of partners: words of a like meaning, and words of another language.
 *
 *   bun src/build/corpus/partners/make.ts meanings WORDNET
 *   bun src/build/corpus/partners/make.ts languages WORDNET CLDR COW
 *
 * WORDNET is the folder of WordNet 3.0's files, CLDR that of its annotations, COW the file of the Chinese Open Wordnet.
 * README.md says where they come from.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Entry, partnersTsv } from "../../tables/partners-table.ts";
import { readLevels } from "../../tables/prior-table.ts";
import { withForms } from "./forms.ts";
import { termGroups } from "./groups.ts";
import { readEnglish } from "./heads.ts";
import { languages } from "./languages.ts";
import { meanings } from "./meanings.ts";
import { irregularForms, readWordNet } from "./wordnet.ts";

const HERE = import.meta.dir;
const USAGE = "usage: make.ts meanings WORDNET | languages WORDNET CLDR COW";

async function make(what: string | undefined, folders: string[]): Promise<Entry[]> {
  const [wordnet, cldr, cow] = folders as [string, string, string];
  if (!(what === "meanings" && folders.length === 1) && !(what === "languages" && folders.length === 3))
    throw new Error(USAGE);
  const net = readWordNet(wordnet);
  const levels = readLevels(readFileSync(join(HERE, "../../tables/prior.tsv"), "utf8"));
  const irregular = irregularForms(wordnet, net);
  const english = await readEnglish(net, irregular, levels);
  const groups = await termGroups(readFileSync(join(HERE, "groups.txt"), "utf8"));
  if (what === "languages") {
    const bases = irregular.filter(({ word }) => english.heads.has(english.termOf(word) ?? ""));
    const forms = bases.map(({ form }) => english.termOf(form)).filter((term) => term !== undefined);
    return languages(cldr, cow, net, levels, new Set([...english.heads, ...forms, ...groups.partners.keys()]));
  }
  const chosen = new Map([...(await meanings(net, english, levels)), ...groups.partners]);
  const words = new Map([...groups.words, ...english.words]);
  return entriesOf(withForms(chosen, net, { ...english, words }, irregular, levels), words);
}

/** A term without partners is there all the same: a question that has it is not misspelt. */
function entriesOf(partners: ReadonlyMap<string, string[]>, words: ReadonlyMap<string, string>): Entry[] {
  const shown = new Set([...partners.values()].flat());
  return [...shown.union(partners)].map((term) => {
    // What is no term's partner is never shown, and needs no word.
    return { term, word: shown.has(term) ? words.get(term)! : term, partners: partners.get(term) ?? [] };
  });
}

if (import.meta.main) {
  const [what, ...folders] = process.argv.slice(2);
  const entries = await make(what, folders);
  const text = partnersTsv(entries);
  writeFileSync(join(HERE, `../../tables/${what}.tsv`), text);
  const heads = entries.filter(({ partners }) => partners.length > 0).length;
  console.log(`${entries.length} terms, ${heads} of them with partners; ${text.length} characters`);
}
