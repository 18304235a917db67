/**
 * `npm run bench -- quality`: rankings of retrieval sets beside SQLite's, a floor, and published figures; tiny memories
 * and chats by kind of question; and the differences between rankings, and to an earlier run, with their errors.
 */
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { BigramEmbedder } from "../../../src/texts/kernel.ts";
import { openBuiltNative } from "../../native.ts";
import { scratchFolder } from "../home.ts";
import type { Line } from "../measure.ts";
import { COMMITS, makeCommits } from "./commits.ts";
import { askFts5 } from "./fts5.ts";
import { goals } from "./goals.ts";
import { askHashing, NGRAMS, WORDS } from "./hashing.ts";
import { countKinds, kindGoals, kindTable } from "./kinds.ts";
import type { QualityOptions } from "./options.ts";
import { askDefault, askDense, type Rankings } from "./ours.ts";
import { pairedTable } from "./paired.ts";
import { eachOf, scoreOf } from "./score.ts";
import { ANSWERS, DEVELOPMENT, loadSet, setsIn, TINY } from "./sets.ts";
import { byRanking, type Compared, figureLines, type SetQuality, table } from "./table.ts";
import { unitsOf } from "./units.ts";

/** Measures all sets. One that is not available is noted in the output and skipped. */
export async function benchQuality(options: QualityOptions): Promise<Line[]> {
  const notes: string[] = [];
  using folder = scratchFolder();
  const scratch = folder.path;
  const dirs = [...new Set([...setsIn(DEVELOPMENT), ...options.sets])];
  if (setsIn(DEVELOPMENT).length === 0) notes.push("no development sets are beside this checkout");
  if (options.repository !== undefined || !dirs.some((dir) => basename(dir) === COMMITS)) {
    dirs.push(...commitsOrNote(options, scratch, notes));
  }
  const sets: SetQuality[] = [];
  for (const dir of [...dirs, TINY, ANSWERS]) sets.push(await measureSet(dir));
  const lines = judged(sets);
  for (const text of tables(sets, options)) console.error(`\n${text.join("\n")}`);
  console.error(["", ...notes].join("\n"));
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ notes, sets, lines }, null, 2)}\n`);
  return options.isJson ? [...figureLines(sets), ...lines] : lines;
}

/** Sets that are counted by kind are too small for the goals and the means of the others. */
function apart(sets: readonly SetQuality[]): { large: SetQuality[]; small: SetQuality[] } {
  const isSmall = ({ kinds }: SetQuality) => kinds !== undefined;
  return { large: sets.filter((set) => !isSmall(set)), small: sets.filter(isSmall) };
}

function judged(sets: readonly SetQuality[]): Line[] {
  const { large, small } = apart(sets);
  const tiny = small.filter(({ name }) => name === basename(TINY));
  return [...(large.length > 0 ? goals(large) : []), ...tiny.flatMap(({ name, kinds }) => kindGoals(name, kinds!))];
}

function tables(sets: readonly SetQuality[], { against }: QualityOptions): string[][] {
  const { large, small } = apart(sets);
  return [
    ...(large.length > 0 ? [table(large), pairedTable(large, against)] : []),
    ...small.flatMap((set) => [kindTable(set, set.kinds!), pairedTable([set], against)]),
  ];
}

/** The folder of the set `commits`; where it cannot be made, a note says why. */
function commitsOrNote({ repository }: QualityOptions, scratch: string, notes: string[]): string[] {
  if (repository === undefined) {
    notes.push(`${COMMITS}: --repository GIT_DIR makes this set; its published figures are of honojs/hono`);
    return [];
  }
  try {
    return [makeCommits(DEVELOPMENT, repository, scratch)];
  } catch (error) {
    notes.push(`${COMMITS} is left out: ${(error as Error).message}`);
    process.exitCode = 1;
    return [];
  }
}

/** Adds a set as a user would and runs every query with every ranking. */
async function measureSet(dir: string): Promise<SetQuality> {
  const set = loadSet(dir);
  const { name, documents, queries } = set;
  console.error(`  ${name}: ${documents.length} documents, ${queries.length} queries`);
  const units = unitsOf(set);
  const { kernel } = await openBuiltNative();
  const compared: Record<Compared, Rankings> = { ...(await askDefault(units, queries)), FTS5: askFts5(units, queries) };
  const score = (rankings: Rankings) => scoreOf(set, rankings);
  return {
    name,
    documents: documents.length,
    queries: queries.length,
    scores: {
      ...byRanking((key) => score(compared[key])),
      bigram: score(await askDense(units, queries, new BigramEmbedder(kernel))),
      hashing: score(askHashing(units, queries, WORDS)),
      "n-grams": score(askHashing(units, queries, NGRAMS)),
    },
    ids: queries.map(({ id }) => id),
    each: byRanking((key) => eachOf(set, compared[key])),
    kinds: countKinds(set, compared),
  };
}
