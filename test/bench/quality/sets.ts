/** Retrieval sets on disk: documents, queries, and for each query its relevant documents with grades. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";

/** The development sets, where they lie beside the checkout. */
export const DEVELOPMENT = join(import.meta.dir, "../../../../shared/data");
/** Short notes and questions by kind: see the README there. */
export const TINY = join(import.meta.dir, "tiny");
/** Chats with an assistant whose answers are long: see the README there. */
export const ANSWERS = join(import.meta.dir, "answers");

/** A document or a query. Where rows have a `group`, a query searches its own group only. */
export interface Item {
  id: string;
  text: string;
  title?: string | undefined;
  group?: string | undefined;
  /** Of a turn of a conversation: which one, and its number there. */
  session?: string | undefined;
  turn?: number | undefined;
  /** What kind of question it is, in a set that is counted by kind. */
  kind?: string | undefined;
  /** Of a question about a definition: its line in the relevant document, from 1. */
  line?: number | undefined;
}

/** One set. */
export interface DataSet {
  name: string;
  documents: Item[];
  queries: Item[];
  /** Grades by document by query. */
  relevant: Map<string, Map<string, number>>;
}

const isSet = (dir: string) => existsSync(join(dir, "qrels.tsv"));

/** The folder itself where it is a set, else the sets in it, sorted. */
export function setsIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  if (isSet(dir)) return [realpathSync(dir)];
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => !entry.isFile());
  return below
    .map((entry) => join(realpathSync(dir), entry.name))
    .filter(isSet)
    .sort();
}

/** Reads a set. @throws Error with a sentence where a query has no relevant document */
export function loadSet(dir: string): DataSet {
  const name = basename(dir);
  const relevant = new Map<string, Map<string, number>>();
  for (const line of readFileSync(join(dir, "qrels.tsv"), "utf8").split("\n").filter(Boolean)) {
    const [query, document, grade] = line.split("\t") as [string, string, string];
    if (!relevant.has(query)) relevant.set(query, new Map());
    relevant.get(query)!.set(document, Number(grade));
  }
  const queries = itemsOf(join(dir, "queries.jsonl"));
  const unjudged = queries.find(({ id }) => ![...(relevant.get(id)?.values() ?? [])].some((grade) => grade > 0));
  if (unjudged) throw new Error(`${name}: query ${unjudged.id} has no relevant document`);
  return { name, documents: itemsOf(join(dir, "corpus.jsonl")).map(turnOf), queries, relevant };
}

/** The turns of locomo have session and number in their ids: conv-26/D1:3. */
function turnOf(item: Item): Item {
  const [, session, turn] = /^(conv-\d+\/D\d+):(\d+)$/.exec(item.id) ?? [];
  return session === undefined ? item : { ...item, session, turn: Number(turn) };
}

/** A JSON object a line, in a file that may be packed. */
function itemsOf(path: string): Item[] {
  const packed = `${path}.gz`;
  const text = existsSync(path)
    ? readFileSync(path, "utf8")
    : new TextDecoder().decode(Bun.gunzipSync(readFileSync(packed)));
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line));
}
