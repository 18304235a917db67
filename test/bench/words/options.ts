/** Options of `npm run bench -- words`. */
import { type ParsedArguments, peersOf, wholeNumber } from "../options.ts";
import { setsOf } from "../quality/options.ts";
import { TEXT_PEERS } from "../text/options.ts";

/** How to run. */
export interface WordsOptions {
  peers: string[];
  passages: number;
  /** Questions of each length. */
  questions: number;
  /** Folders of sets beside those of the development data. */
  sets: string[];
  /** JSON file of the figures. */
  json?: string | undefined;
  /** Whether every figure is printed as a line. */
  isJson: boolean;
}

/** Its options. */
export const WORDS_OPTIONS = ["--peers", "--passages", "--questions", "--sets", "--json"] as const;

const PASSAGES = 20_000;
const QUESTIONS = 40;

/** @throws Error with a sentence for the user */
export function wordsOptions({ given, isJson }: Pick<ParsedArguments, "given" | "isJson">): WordsOptions {
  return {
    peers: peersOf(given, TEXT_PEERS) ?? [...TEXT_PEERS],
    passages: wholeNumber(given, "--passages", 1000) ?? PASSAGES,
    questions: wholeNumber(given, "--questions", 10) ?? QUESTIONS,
    sets: setsOf(given),
    json: given.get("--json"),
    isJson,
  };
}
