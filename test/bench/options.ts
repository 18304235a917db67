/** The arguments of `npm run bench --`: names of suites, and options with their values. */

/** What a suite declares before it runs. */
export interface Known {
  /** Its options; each takes a value. */
  options?: readonly string[];
  /** Runs only where it is named. */
  isLong?: boolean;
}

/** The parsed arguments. */
export interface ParsedArguments {
  /** Names of the suites to run, in order. */
  suites: string[];
  /** Values of options by their names. */
  given: ReadonlyMap<string, string>;
  /** `--json` without a file: everything is printed as JSON. */
  isJson: boolean;
}

const JSON_FLAG = "--json";

/** @throws Error with a sentence for the user */
export function readWords(words: readonly string[], known: Readonly<Record<string, Known>>): ParsedArguments {
  const options = [...new Set(Object.values(known).flatMap((suite) => suite.options ?? []))];
  const given = new Map<string, string>();
  const named: string[] = [];
  let isJson = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (!word.startsWith("-")) {
      named.push(word);
    } else if (word === JSON_FLAG && !words[at + 1]?.endsWith(".json")) {
      isJson = true;
    } else if (!options.includes(word)) {
      throw new Error(`there is no option ${word}; there are ${options.join(", ")}`);
    } else {
      const value = words[++at];
      if (!value || value.startsWith("--")) throw new Error(`${word} needs a value`);
      if (given.has(word)) throw new Error(`${word} is given twice`);
      given.set(word, value);
    }
  }
  const unknown = named.filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0) {
    throw new Error(`no benchmark is called ${unknown.join(", ")}; there are ${Object.keys(known).join(", ")}`);
  }
  const usual = Object.keys(known).filter((name) => !known[name]!.isLong);
  const suites = named.length > 0 ? [...new Set(named)] : usual;
  for (const option of given.keys()) checkTaken(option, suites, known);
  return { suites, given, isJson };
}

/** The parts of a value that is a list with commas; undefined where the option is not given. */
export function listOf(given: ReadonlyMap<string, string>, option: string): string[] | undefined {
  return given.get(option)?.split(",").filter(Boolean);
}

/** The value of an option as a whole number. @throws Error with a sentence where it is not one from `least` on */
export function wholeNumber(given: ReadonlyMap<string, string>, option: string, least: number): number | undefined {
  const value = given.get(option);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!(Number.isSafeInteger(number) && number >= least)) throw new Error(`${option} is a whole number from ${least}`);
  return number;
}

/** Names of peers that are known. @throws Error with a sentence that names the others */
export function peersOf(given: ReadonlyMap<string, string>, known: readonly string[]): string[] | undefined {
  const peers = listOf(given, "--peers");
  const unknown = peers?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`no peer is called ${unknown.join(", ")}; there are ${known.join(", ")}`);
  return peers;
}

/** An option that no named suite reads is a mistake, and so is a file that several suites would write. */
function checkTaken(option: string, suites: readonly string[], known: Readonly<Record<string, Known>>): void {
  const takes = (name: string) => known[name]!.options?.includes(option) === true;
  const takers = suites.filter(takes);
  if (takers.length === 0) {
    const all = new Intl.ListFormat("en-GB").format(Object.keys(known).filter(takes));
    throw new Error(`${option} is an option of ${all}: name one of them too`);
  }
  if (option === JSON_FLAG && takers.length > 1) {
    throw new Error(`a file after ${JSON_FLAG} takes the figures of one suite, not of ${takers.join(" and ")}`);
  }
}
