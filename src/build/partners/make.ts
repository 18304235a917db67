/**
 * Writes the tables of partners: words of a like meaning, and words of another language.
 *
 *   bun src/build/partners/make.ts meanings WORDNET
 *
 * WORDNET is the folder of WordNet 3.0's files. README.md says where they come from.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Entry, partnersTsv } from "../partners-table.ts";
import { readLevels } from "../prior-table.ts";
import { meanings } from "./meanings.ts";
import { irregularForms, readWordNet } from "./wordnet.ts";

const HERE = import.meta.dir;
const USAGE = "usage: make.ts meanings WORDNET";

async function make(what: string | undefined, folders: string[]): Promise<Entry[]> {
  if (what === "meanings" && folders.length === 1) {
    const net = readWordNet(folders[0]!);
    return meanings(
      net,
      irregularForms(folders[0]!, net),
      readLevels(readFileSync(join(HERE, "../prior/prior.tsv"), "utf8")),
    );
  }
  throw new Error(USAGE);
}

if (import.meta.main) {
  const [what, ...folders] = process.argv.slice(2);
  const entries = await make(what, folders);
  const text = partnersTsv(entries);
  writeFileSync(join(HERE, `${what}.tsv`), text);
  const heads = entries.filter(({ partners }) => partners.length > 0).length;
  console.log(`${entries.length} terms, ${heads} of them with partners; ${text.length} characters`);
}
