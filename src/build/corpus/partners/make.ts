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
import { type Entry, partnersTsv, readPartners } from "../../tables/partners-table.ts";
import { readLevels } from "../../tables/prior-table.ts";
import { languages } from "./languages.ts";
import { meanings } from "./meanings.ts";
import { irregularForms, readWordNet } from "./wordnet.ts";

const HERE = import.meta.dir;
const USAGE = "usage: make.ts meanings WORDNET | languages WORDNET CLDR COW";

const priorLevels = () => readLevels(readFileSync(join(HERE, "../../tables/prior.tsv"), "utf8"));

async function make(what: string | undefined, folders: string[]): Promise<Entry[]> {
  if (what === "meanings" && folders.length === 1) {
    const net = readWordNet(folders[0]!);
    return meanings(net, irregularForms(folders[0]!, net), priorLevels());
  }
  if (what === "languages" && folders.length === 3) {
    const [wordnet, cldr, cow] = folders as [string, string, string];
    const known = readPartners(readFileSync(join(HERE, "../../tables/meanings.tsv"), "utf8"));
    const english = new Set(known.filter(({ partners }) => partners.length > 0).map(({ term }) => term));
    return languages(cldr, cow, readWordNet(wordnet), priorLevels(), english);
  }
  throw new Error(USAGE);
}

if (import.meta.main) {
  const [what, ...folders] = process.argv.slice(2);
  const entries = await make(what, folders);
  const text = partnersTsv(entries);
  writeFileSync(join(HERE, `../../tables/${what}.tsv`), text);
  const heads = entries.filter(({ partners }) => partners.length > 0).length;
  console.log(`${entries.length} terms, ${heads} of them with partners; ${text.length} characters`);
}
