/** The command line of a hook, as a client's shell takes it apart. */
import { basename } from "node:path";
import { shellWord, unquoted } from "../shell-word.ts";

/**
 * The command line: the program first, each word quoted where a shell would change it. A program that is gone, or is an
 * older one without this command, ends with a code that some clients take for a refusal, so the line ends well anyway.
 */
export function hookCommand(program: string, args: readonly string[]): string {
  return `${[program, ...args].map(shellWord).join(" ")}${END}`;
}

const END = " || true";

/** The program of a hook of svc; undefined for another command. */
export function hookProgram(command: string): string | undefined {
  const [, word] = /^('(?:[^']|'\\'')*'|[^\s'"\\]+) mcp hook /.exec(command) ?? [];
  const program = word && unquoted(word);
  if (program === undefined) return undefined;
  return basename(program) === "svc" || program === process.execPath ? program : undefined;
}
