/**
 * `svc __complete`: what may stand where the cursor is. The scripts of `svc completions` call it at every Tab, so that
 * it loads nothing but the command on the line, and reads nothing but names of folders.
 */
import { attempt } from "../../errors.ts";
import { type Env, memoryPath } from "../../paths.ts";
import { COMMON_FLAGS } from "./arrange.ts";
import { checkFlags, flagNames, isGroup, type Node, positionalsOf } from "./citty.ts";
import { collectionNames } from "./collection-names.ts";
import type { Arg, Args } from "./command.ts";
import { asciiControls } from "./output.ts";
import { bashLine } from "./shell-words.ts";

/** One candidate: the whole word, and what it is for. */
interface Candidate {
  readonly word: string;
  readonly text: string;
}

/** What may stand at the cursor; `files` and `folders` are the shell's to list. */
interface Completion {
  readonly kind: "words" | "files" | "folders";
  readonly candidates: readonly Candidate[];
}

const NOTHING: Completion = { kind: "words", candidates: [] };

/**
 * Answers a shell: a line with the kind, then the candidates, one a line, as that shell's script takes them.
 * @param request the shell, then for bash the line up to the cursor and its COMP_WORDBREAKS, for others the words after
 *   `svc` up to the cursor
 */
export async function answerShell(root: Node, [shell, ...request]: readonly string[], env: Env): Promise<string> {
  if (shell === "bash") {
    const [line = "", breaks = ""] = request;
    const { words, current, isRedirected, replacement } = bashLine(line, breaks);
    if (isRedirected) return "files";
    const { kind, candidates } = await complete(root, words.slice(1), current, env);
    const near = candidates.map(({ word }) => word).filter((word) => word.startsWith(current));
    return [kind, ...near.map(replacement).filter((word) => word !== undefined)].join("\n");
  }
  const { kind, candidates } = await complete(root, request.slice(0, -1), request.at(-1) ?? "", env);
  const lines = candidates.map(({ word, text }) => {
    // zsh's _describe ends the word at a colon, fish at a tab, which no candidate has.
    return shell === "zsh" ? `${word.replace(/[\\:]/g, "\\$&")}:${text}` : `${word}\t${text}`;
  });
  return [kind, ...lines].join("\n");
}

/** What may stand in the place of `current`, after `words`. */
export async function complete(root: Node, words: readonly string[], current: string, env: Env): Promise<Completion> {
  const { node, own } = walk(root, words);
  const args = isGroup(node) ? COMMON_FLAGS : await node.args();
  const before = isGroup(node) ? [] : own;
  const isText = before.includes("--");
  const flags = flagNames(args);
  const directory = () => memoryPath(expanded(flagValue(words, "--path"), env), env);
  const valued = (written: string | undefined): [string, Arg] | undefined => {
    const name = flags.get(written ?? "");
    return name === undefined || args[name]!.type === "boolean" ? undefined : [name, args[name]!];
  };
  if (!isText) {
    const waiting = valued(own.at(-1));
    if (waiting) return values(waiting, "", directory);
    const [, written, equals] = /^(--[^=]+)(=?)/.exec(current) ?? [];
    const inline = equals === "=" ? valued(written) : undefined;
    if (inline) return values(inline, `${written}=`, directory);
    if (current.startsWith("-")) return flagsOf(node, args, own);
  }
  const isFirst = own.every((word, i) => word.startsWith("-") || own[i - 1] === "--path");
  const members = node.subCommands && isFirst ? membersOf(node) : [];
  if (isGroup(node) || members.length > 0) return { kind: "words", candidates: members };
  const named = positionalsOf(args);
  const index = given(args, before);
  const positional = named[index] ?? (named.at(-1)?.[1].repeatable ? named.at(-1) : undefined);
  return positional ? values(positional, "", directory) : NOTHING;
}

/** The command that words lead to, and those after its name. Flags before a name are passed over, `help` too. */
function walk(root: Node, words: readonly string[]): { node: Node; own: string[] } {
  let node = root;
  let own: string[] = [];
  for (const word of words) {
    const isName = node.subCommands !== undefined && !own.includes("--") && own.at(-1) !== "--path";
    const member = isName ? node.subCommands![word] : undefined;
    if (word === "help" && isName) continue;
    if (member) [node, own] = [member, []];
    else own.push(word);
  }
  return { node, own };
}

function membersOf(node: Node): Candidate[] {
  return Object.entries(node.subCommands ?? {}).map(([word, { meta }]) => ({ word, text: meta.description }));
}

/** The flags that were not given yet, or may be repeated. */
function flagsOf(node: Node, args: Args, own: readonly string[]): Completion {
  const written = new Set(own.map((word) => word.replace(/=.*/s, "")));
  const candidates = [...flagNames(args)]
    .filter(([flag, name]) => !written.has(flag) || args[name]!.repeatable)
    .filter(([flag, name]) => args[name]!.default !== true || flag.startsWith("--no-"))
    .map(([flag, name]): Candidate => {
      const definition = args[name]!;
      const negative = definition.type === "boolean" ? definition.negativeDescription : undefined;
      return { word: flag, text: (flag.startsWith("--no-") ? negative : definition.description) ?? "" };
    });
  if (node.subCommands?.version) candidates.push({ word: "--version", text: "show the version" });
  return { kind: "words", candidates: [...candidates, { word: "--help", text: "show this page" }] };
}

/** The values of a flag or a positional, each after `prefix`. */
function values([name, definition]: [string, Arg], prefix: string, directory: () => string): Completion {
  const kind = completedAs(name, definition);
  if (kind === "file") return { kind: "files", candidates: [] };
  if (kind === "folder") return { kind: "folders", candidates: [] };
  const options = definition.type === "enum" ? definition.options : undefined;
  const choices = typeof kind === "object" ? kind : (definition.choices ?? options ?? []);
  const names = kind === "collection" ? namesIn(directory()) : [];
  const text = kind === "collection" ? "collection" : "";
  return { kind: "words", candidates: [...choices, ...names].map((word) => ({ word: prefix + word, text })) };
}

/** What an argument is: as it says, or as its hint or its name say. */
function completedAs(name: string, { completes, valueHint, type }: Arg): Arg["completes"] {
  if (completes !== undefined) return completes;
  if (valueHint === "FILE") return "file";
  if (valueHint === "DIR") return "folder";
  if (name === "collection") return "collection";
  return type === "positional" && name === "file" ? "file" : undefined;
}

/** How many positionals are among the words. */
function given(args: Args, words: readonly string[]): number {
  return (attempt(() => checkFlags(args, words)) ?? words.filter((word) => !word.startsWith("-"))).length;
}

/** Names that could not be typed, or that a terminal would obey, are left out. */
function namesIn(directory: string): string[] {
  return collectionNames(directory).filter((name) => asciiControls(name) === name && !/[\n\t]/.test(name));
}

function flagValue(words: readonly string[], flag: string): string | undefined {
  const at = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return words[at]?.startsWith(`${flag}=`) ? words[at].slice(flag.length + 1) : at < 0 ? undefined : words[at + 1];
}

/** The line is as it was typed: the shell has not replaced `~` yet. */
function expanded(path: string | undefined, env: Env): string | undefined {
  return path?.startsWith("~/") && env.HOME ? env.HOME + path.slice(1) : path;
}
