/** `npm run bench -- day`: an agent's day over MCP, replayed and judged. */
import { type Home, signedInHome } from "../home.ts";
import type { Line } from "../measure.ts";
import { greetings, timeAdds } from "./costs.ts";
import type { DayOptions } from "./options.ts";
import { refusalOf, replay, storeNotes } from "./replay.ts";
import { addLine, callTable, greetingTable, questionTable, type Replay, replayLines } from "./table.ts";

/** Bytes a token of English text, where no tokeniser is installed. */
const TOKEN_BYTES = 4;

const log = (line: string) => console.error(`  ${line}`);

/** Replays the day with each executable and each list of flags. Flags that an executable does not know are reported. */
export async function benchDay({ executables, flags, notes, isJson }: DayOptions): Promise<Line[]> {
  const { countTokens, unit } = await tokenCounter();
  using homes = new DisposableStack();
  const replays: Replay[] = [];
  const greeted: { name: string; sizes: Awaited<ReturnType<typeof greetings>> }[] = [];
  const signedIn: Home[] = [];
  for (const { name, path } of executables) {
    const home = homes.use(signedInHome(path));
    signedIn.push(home);
    log(`${name}: storing the notes`);
    await storeNotes(home);
    for (const [i, own] of flags.entries()) {
      const label = [name, ...own].join(" ");
      const refusal = refusalOf(home, own);
      if (refusal) {
        log(`${label}: skipped: ${refusal}`);
        continue;
      }
      log(label);
      replays.push({ name: label, marks: await replay(home, own, `day${i}`, countTokens) });
    }
    greeted.push({ name, sizes: await greetings(home, countTokens) });
  }
  log(`adding notes beside ${notes}`);
  const adds = addLine(await timeAdds(signedIn, notes), notes);
  const tables = [questionTable(replays), callTable(replays), greetingTable(greeted)];
  console.error(`\ntokens are ${unit}\n\n${tables.map((table) => table.join("\n")).join("\n\n")}\n`);
  return isJson ? [...replayLines(replays), adds] : [adds];
}

/** Counts with the tokeniser of the development dependencies, else by bytes. */
async function tokenCounter(): Promise<{ countTokens: (text: string) => number; unit: string }> {
  try {
    const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
    return { countTokens: (text) => countTokens(text), unit: "counted in o200k_base" };
  } catch {
    const countTokens = (text: string) => Math.ceil(Buffer.byteLength(text) / TOKEN_BYTES);
    return { countTokens, unit: `estimated: bytes / ${TOKEN_BYTES}` };
  }
}
