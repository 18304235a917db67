/** A tokeniser of language models, installed on demand beside the peers' packages. */
import { join } from "node:path";
import { installPackages } from "../vectors/install.ts";

const PACKAGE = "gpt-tokenizer";
const VERSION = "4.0.0";
/** The encoding of current models of one vendor; others' counts are some percent off, for every form alike. */
const ENCODING = "esm/encoding/o200k_base.js";

/** Counts the tokens of a text. @throws Error where the package cannot be installed here */
export async function tokenCounter(): Promise<(text: string) => number> {
  const folder = installPackages(PACKAGE, [`${PACKAGE}@${VERSION}`]);
  const { countTokens } = await import(join(folder, "node_modules", PACKAGE, ENCODING));
  return (text) => countTokens(text, { disallowedSpecial: new Set() });
}
