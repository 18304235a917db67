/** In which line Bun's parsers of TOML and YAML, which do not say it, stop understanding a text. */
import { ValueError } from "../../errors.ts";

/** Lines of a text beyond which it is not said: each one costs a parse of what is before it. */
const LINES_MAX = 1000;

/**
 * What `parse` makes of a text.
 * @throws ValueError with the parser's words; the line is the one after the longest beginning that parses
 */
export function parsedOrLine(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const cause = (error instanceof Error ? error.message : String(error)).replace(/^\w+ Parse error: /, "");
    const line = lineOfProblem(parse, text);
    throw new ValueError(`${line === undefined ? "" : `line ${line}: `}${cause}; correct it and try again`);
  }
}

function lineOfProblem(parse: (text: string) => unknown, text: string): number | undefined {
  const ends: number[] = [];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.push(at + 1);
  if (ends.length > LINES_MAX) return undefined;
  for (let line = ends.length; line > 0; line--) {
    try {
      parse(text.slice(0, ends[line - 1]));
      return line + 1;
    } catch {
      // The problem is in this beginning too.
    }
  }
  return 1;
}
