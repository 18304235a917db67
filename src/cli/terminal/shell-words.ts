/** Words of a shell: of a bash line that is being typed, and one that is put into a command. */
import { shellWord } from "../../shell-word.ts";

/** Longer texts are not repeated in a command that is proposed. */
const REPEATED_MAX = 60;

/**
 * The command with an argument that is missing: after the word that was given or, where that looks like a text and not
 * like a name, as that word.
 * @param taken what the word was taken for, in capitals
 * @param missing what is missing, in capitals
 */
export function withMissing(command: string, word: string, taken: string, missing: string): string {
  if (word.length > REPEATED_MAX) return `${command} ${taken} ${missing}`;
  return /\s/.test(word) ? `${command} ${taken} ${shellWord(word)}` : `${command} ${shellWord(word)} ${missing}`;
}

/** The line up to the cursor. */
interface BashLine {
  /** The words of the last command, without their quotes. */
  readonly words: readonly string[];
  /** The word at the cursor, likewise; empty after a space. */
  readonly current: string;
  /** Whether it is where output goes to or input comes from. */
  readonly isRedirected: boolean;
  /** How a word that begins with `current` is written in its place; undefined where it cannot be. */
  replacement(word: string): string | undefined;
}

/**
 * Takes a line apart as bash does. Nothing is expanded: a `$` is a `$`.
 * @param line up to the cursor
 * @param breaks COMP_WORDBREAKS: what follows one of these, outside of quotes, is what bash replaces
 */
export function bashLine(line: string, breaks: string): BashLine {
  let words: string[] = [];
  let current = "";
  let isWord = false;
  let quote = "";
  let isRedirected = false;
  // How much of the current word stands before what is replaced.
  let kept = 0;
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!;
    const next = line[i + 1];
    if (quote === "'") {
      if (char === quote) quote = "";
      else current += char;
    } else if (quote === '"') {
      if (char === quote) quote = "";
      else if (char === "\\" && next !== undefined && '"\\$`'.includes(next)) current += line[++i];
      else current += char;
    } else if (char === "\\") {
      if (next !== undefined) current += line[++i];
      isWord = true;
    } else if (char === "'" || char === '"') {
      quote = char;
      isWord = true;
      kept = current.length;
    } else if (/[\s;|&()<>]/.test(char)) {
      if (isWord && !isRedirected) words.push(current);
      if (/[;|&(]/.test(char)) words = [];
      if (isWord || !/\s/.test(char)) isRedirected = char === "<" || char === ">";
      [current, isWord, kept] = ["", false, 0];
    } else {
      current += char;
      isWord = true;
      if (breaks.includes(char)) kept = current.length;
    }
  }
  return {
    words,
    current,
    isRedirected,
    replacement(word) {
      const rest = word.slice(kept);
      if (quote === "'") return rest.replaceAll("'", "'\\''");
      // Between double quotes an interactive bash would take what follows for its history.
      if (quote === '"') return rest.includes("!") ? undefined : rest.replace(/["\\$`]/g, "\\$&");
      return rest.replace(/[^\p{L}\p{N}\p{M}_@%+=:,./-]/gu, "\\$&").replace(/^$/, "''");
    },
  };
}
