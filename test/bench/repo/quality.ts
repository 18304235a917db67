/** A tree's questions, asked over MCP as an agent asks them. */
import { basename, join } from "node:path";
import { call, connectWithPid, type Home, signedInHome, textOf } from "../home.ts";
import { quantile } from "../measure.ts";
import { type DataSet, loadSet } from "../quality/sets.ts";
import { readAnswer, showsLine } from "./answer.ts";
import { type Size, type TreeQuality, WAYS, type Way } from "./figures.ts";
import { MARKS, type Marks, marksOf } from "./score.ts";

/** Counts the tokens of a text; undefined where there is no tokeniser. */
export type Counter = ((text: string) => number) | undefined;

/** A question's definition: the file, and its line's text. */
interface Definition {
  path: string;
  line: string;
  name: string;
}

/** Indexes a tree in a new home and asks all questions in every way. */
export async function measureTree(svc: string, dir: string, count: Counter): Promise<TreeQuality> {
  const set = loadSet(dir);
  using home = signedInHome(svc);
  const answers = await askAll(home, join(dir, "tree"), set);
  const definitions = definitionsOf(set);
  const marks = set.queries.map(({ id }, i) => marksOf(readAnswer(answers.ten[i]!).paths, set.relevant.get(id)!));
  return {
    name: basename(dir),
    files: set.documents.length,
    ids: set.queries.map(({ id }) => id),
    kinds: set.queries.map(({ kind }) => kind ?? "-"),
    each: Object.fromEntries(MARKS.map((mark) => [mark, marks.map((m) => m[mark])])) as Record<keyof Marks, number[]>,
    definitions: definitions.filter(Boolean).length,
    sizes: byWay((way) => sizeOf(answers[way], definitions, count)),
  };
}

/** Text blocks by way, in the questions' order. */
async function askAll(home: Home, tree: string, { queries }: DataSet): Promise<Record<Way, string[]>> {
  await using server = await connectWithPid(home, "--workspace", tree);
  const { client } = server;
  await call(client, "svc_index_repo", {});
  const answers = byWay((): string[] => []);
  for (const { text: query } of queries) {
    for (const way of Object.keys(WAYS) as Way[]) {
      answers[way].push(await textOf(client, "svc_repo_search", { query, ...WAYS[way] }));
    }
  }
  return answers;
}

/** In the questions' order; undefined for those that are about no definition. */
function definitionsOf({ documents, queries, relevant }: DataSet): (Definition | undefined)[] {
  const texts = new Map(documents.map(({ id, text }) => [id, text]));
  return queries.map(({ id, text, line }) => {
    if (line === undefined) return undefined;
    const path = [...relevant.get(id)!.keys()][0]!;
    const whole = texts.get(path)?.split("\n")[line - 1];
    if (whole === undefined) throw new Error(`${id}: ${path} has no line ${line}`);
    const words = [...text.matchAll(/[\w$]+/g)].map(([word]) => word).filter((word) => whole.includes(word));
    // "where is X defined?": X is the longest of the words that the line has.
    return { path, line: whole, name: words.sort((a, b) => b.length - a.length)[0] ?? "" };
  });
}

function sizeOf(texts: readonly string[], definitions: readonly (Definition | undefined)[], count: Counter): Size {
  const bytes = texts.map((text) => Buffer.byteLength(text));
  const tokens = count && texts.map(count);
  const asked = [...definitions.keys()].filter((i) => definitions[i]);
  const shown = asked.filter((i) => {
    const { path, line, name } = definitions[i]!;
    return showsLine(readAnswer(texts[i]!), path, line, name);
  });
  return {
    tokens: tokens && { mean: mean(tokens), p95: quantile(tokens, 0.95) },
    bytes: { mean: mean(bytes), p95: quantile(bytes, 0.95), most: Math.max(...bytes) },
    line: shown.length / asked.length,
  };
}

const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;

function byWay<T>(of: (way: Way) => T): Record<Way, T> {
  return Object.fromEntries((Object.keys(WAYS) as Way[]).map((way) => [way, of(way)])) as Record<Way, T>;
}
