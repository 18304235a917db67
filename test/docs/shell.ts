/** Blocks of shell, as far as a page needs them: where a command ends, and which words it has. */

/** A line of a block, or several that belong together. */
export interface Step {
  /** As it is written, without the claim. */
  readonly source: string;
  /** What the comment `# → …` after it says that it prints. */
  readonly claim: string | undefined;
  /** The simple commands in it, of pipes and substitutions too, as words without redirections. */
  readonly commands: readonly (readonly string[])[];
}

/** Cuts a block into its steps. @throws where a quote, a substitution or a here-document does not end */
export function readSteps(block: string): Step[] {
  const steps: Step[] = [];
  const lines = block.split("\n");
  for (let i = 0; i < lines.length; i++) {
    let source = lines[i]!;
    if (source.trim() === "" || source.trim().startsWith("#")) continue;
    let scan = scanScript(source);
    while (scan.isOpen) {
      if (++i >= lines.length) throw new Error(`this command does not end: ${source}`);
      source += `\n${lines[i]}`;
      scan = scanScript(source);
    }
    const claim = /^#\s*→\s?(.*)$/.exec(scan.comment ?? "")?.[1];
    steps.push({ source, claim, commands: scan.commands });
  }
  return steps;
}

/** The words of a line of text that is one command, as `svc mem add notes "a text"`. */
export function wordsOf(line: string): readonly string[] {
  return scanScript(line).commands[0] ?? [];
}

interface Scan {
  readonly commands: string[][];
  readonly comment: string | undefined;
  /** More lines belong to it. */
  readonly isOpen: boolean;
}

/** POSIX quoting, pipes and lists, `$( )` and here-documents; of control structures only the commands in them. */
function scanScript(text: string): Scan {
  const commands: string[][] = [[]];
  let comment: string | undefined;
  let word: string | undefined;
  let skipNext = false;
  const heredocs: string[] = [];
  const endWord = () => {
    if (word !== undefined && !skipNext) commands.at(-1)!.push(word);
    if (word !== undefined) skipNext = false;
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    if (commands.at(-1)!.length > 0) commands.push([]);
  };
  const open = { commands, comment, isOpen: true };
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "\\") {
      if (i + 1 >= text.length) return open;
      if (text[++i] !== "\n") word = (word ?? "") + text[i];
    } else if (char === "'") {
      const end = text.indexOf("'", i + 1);
      if (end < 0) return open;
      word = (word ?? "") + text.slice(i + 1, end);
      i = end;
    } else if (char === '"') {
      word ??= "";
      for (i++; text[i] !== '"'; i++) {
        if (i >= text.length) return open;
        if (text[i] === "\\" && /["\\$`\n]/.test(text[i + 1] ?? "")) i++;
        else if (text.startsWith("$(", i)) {
          const end = closing(text, i + 2);
          if (end < 0) return open;
          commands.splice(-1, 0, ...scanScript(text.slice(i + 2, end)).commands);
          word += text.slice(i, end);
          i = end;
        }
        word += text[i];
      }
    } else if (text.startsWith("$(", i)) {
      const end = closing(text, i + 2);
      if (end < 0) return open;
      commands.splice(-1, 0, ...scanScript(text.slice(i + 2, end)).commands);
      word = (word ?? "") + text.slice(i, end + 1);
      i = end;
    } else if (char === "#" && word === undefined) {
      const end = text.indexOf("\n", i);
      comment = text.slice(i, end < 0 ? undefined : end);
      i = end < 0 ? text.length : end - 1;
    } else if (char === "<" || char === ">") {
      // The number of a descriptor is not a word.
      if (word !== undefined && /^\d$/.test(word)) word = undefined;
      endWord();
      const heredoc = /^<<-?\s*(['"]?)(\w+)\1/.exec(text.slice(i));
      if (heredoc) {
        heredocs.push(heredoc[2]!);
        i += heredoc[0].length - 1;
      } else {
        while (/[<>&]/.test(text[i + 1] ?? "")) i++;
        skipNext = !/[-\d]/.test(text[i + 1] ?? "") || text[i] !== "&";
        if (!skipNext) i++;
      }
    } else if (/[|&;()\n]/.test(char)) {
      endCommand();
      if (char === "\n" && heredocs.length > 0) {
        for (const name of heredocs.splice(0)) {
          const end = new RegExp(`^${name}$`, "m").exec(text.slice(i + 1));
          if (!end) return open;
          i += end.index + name.length + 1;
        }
      }
    } else if (/\s/.test(char)) endWord();
    else word = (word ?? "") + char;
  }
  endCommand();
  return { commands: commands.filter((words) => words.length > 0), comment, isOpen: heredocs.length > 0 };
}

/** Where the substitution ends that began before `from`, or -1. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")" && --depth === 0) return i;
  }
  return -1;
}
