/** `--token`: an access token that was obtained elsewhere. */
import { ValueError } from "../errors.ts";
import { SECRET_BYTES_MAX } from "../limits.ts";
import { UsageError } from "./command.ts";
import { readChunks } from "./input.ts";
import { isTerminal, note } from "./output.ts";

/**
 * The token of `--token`: for `-` the only line of stdin, else the value itself, which other users could see.
 * @throws UsageError where stdin is a terminal; ValueError where it has no line, or more; CancelledError, OSError
 */
export async function givenToken(flag: string | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (flag === undefined) return undefined;
  if (flag !== "-") {
    note("note: other users of this machine can see --token in its list of processes; '--token -' reads it from stdin");
    return flag;
  }
  if (isTerminal(0)) throw new UsageError("--token - reads the token from stdin, which is a terminal here: pipe it");
  const text = await readLine(signal);
  if (text === "") throw new ValueError("--token -: stdin is empty, one line with the token is expected");
  return text;
}

/** The first line of stdin, trimmed; what follows it may only be white space, as far as it is there already. */
async function readLine(signal: AbortSignal): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of readChunks("-", signal)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > SECRET_BYTES_MAX)
      throw new ValueError(`--token -: stdin holds more than ${SECRET_BYTES_MAX} bytes, one line is expected`);
    // A pipe that stays open is not waited for.
    if (/\S\s*\n/.test(text)) break;
  }
  const line = text.trim();
  if (line.includes("\n")) throw new ValueError("--token -: stdin holds more than one line");
  return line;
}
