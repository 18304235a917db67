/**
 * A command line as a person writes it, in the order in which it is read: flags may stand before the command that they
 * belong to (`svc --json mem list`), and `help` before the command that it is about.
 */
import { didYouMean, nearest } from "../../checks/nearest.ts";
import { checkFlags, isGroup, type Node, type Reached } from "./citty.ts";
import { type Args, MEMORY_PATH, UsageError } from "./command.ts";

/** So many commands have them that they are not a mistake where none is named. */
export const COMMON_FLAGS: Args = { json: { type: "boolean" }, path: MEMORY_PATH };

/**
 * The words of a line with the commands' names first and every flag after the last of them. The first words that can
 * be names are: those with which each flag before them is one of the command, and has its value. `svc mem --path list
 * list` lists the folder `list`. Where no command takes the flags, the first one named gets them, and refuses them.
 */
export async function arrange(root: Node, words: readonly string[]): Promise<string[]> {
  const version = words.findIndex((word) => word === "--version" || word === "-v");
  if (version >= 0 && words.slice(0, version).every(isFlag)) return ["version", ...words.toSpliced(version, 1)];
  return (await placed(root, words, [], true)) ?? (await placed(root, words, [], false)) ?? [...words];
}

/** @param before flags that stand before the node; with `isStrict` nothing is found unless they are its own */
async function placed(
  node: Node,
  words: readonly string[],
  before: readonly string[],
  isStrict: boolean,
): Promise<string[] | undefined> {
  let isNamed = false;
  for (const at of node.subCommands ? names(words) : []) {
    const word = words[at]!;
    const flags = [...before, ...words.slice(0, at)];
    const behind = words.slice(at + 1);
    const member = node.subCommands![word];
    const found =
      word === "help"
        ? await placed(node, behind, [...flags, "--help"], isStrict)
        : member && (await placed(member, behind, flags, isStrict));
    if (found) return word === "help" ? found : [word, ...found];
    isNamed ||= member !== undefined;
  }
  if (isStrict && isNamed && isGroup(node)) return undefined;
  if (isStrict && before.length > 0 && !(await takes(node, before))) return undefined;
  return [...before, ...words];
}

/**
 * Where a name may stand: the first word that is not a flag, and the next one where that may be the value of a flag.
 */
function names(words: readonly string[]): number[] {
  const places: number[] = [];
  for (const [i, word] of words.entries()) {
    if (word === "--") break;
    if (isFlag(word)) continue;
    places.push(i);
    const previous = words[i - 1];
    if (previous === undefined || !isFlag(previous) || previous.includes("=")) break;
  }
  return places;
}

/** Whether words are flags of a node, each with its value. */
async function takes(node: Node, words: readonly string[]): Promise<boolean> {
  const args = isGroup(node) ? COMMON_FLAGS : await node.args();
  try {
    return (
      checkFlags(
        args,
        words.filter((word) => !isHelp(word)),
      ).length === 0
    );
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/** Refuses what stands after a group and is none of its commands. @throws UsageError */
export function refuseUnknown({ node, words }: Reached): void {
  if (!isGroup(node)) return;
  const unknown = names(words)
    .filter((at) => words[at - 1] !== "--path")
    .map((at) => words[at]!);
  // If two words may be the name and the first is the value of an unknown flag, the second is the name.
  const hints = unknown.map((word) => hintFor(word, node.subCommands ?? {}));
  const best = hints.findIndex((hint) => hint !== "");
  if (unknown.length > 0) throw new UsageError(`unknown command '${unknown.at(best)}'${hints.at(best)}`);
  const flags = ownWords(words).filter((word) => !isHelp(word));
  const flag = flags.find((word) => isFlag(word) && !/^--(json|path)(=|$)/.test(word));
  if (flag !== undefined) throw new UsageError(`unknown flag '${flag.replace(/=.*/s, "")}'`);
  checkFlags(COMMON_FLAGS, flags);
}

/** A name of the group itself is nearer than one of a group in it: only then `search` means `mem search`. */
function hintFor(word: string, members: Readonly<Record<string, Node>>): string {
  const own = didYouMean(word, Object.keys(members));
  if (own !== "") return own;
  for (const [name, { subCommands = {} }] of Object.entries(members)) {
    const below = nearest(word, Object.keys(subCommands));
    if (below !== undefined) return `, did you mean '${name} ${below}'?`;
  }
  return "";
}

/** Whether a node's own words request help. */
export function wantsHelp({ words }: Reached): boolean {
  return ownWords(words).some(isHelp);
}

/** Whether a line asks for JSON, whatever else is wrong with it. */
export function wantsJson(words: readonly string[]): boolean {
  return ownWords(words).some((word) => word === "--json" || word === "--json=true");
}

/** Without what follows `--`: those are texts. */
function ownWords(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return end < 0 ? words : words.slice(0, end);
}

function isFlag(word: string): boolean {
  return word.startsWith("-") && word.length > 1 && word !== "--";
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}
