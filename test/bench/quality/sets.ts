/** Retrieval sets on disk: documents, questions, and for each question its relevant documents with grades. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";

/** A document or a question. Where rows have a `group`, a question is asked within its own group only. */
export interface Item {
  id: string;
  text: string;
  title?: string | undefined;
  group?: string | undefined;
}

/** One set. */
export interface DataSet {
  name: string;
  documents: Item[];
  questions: Item[];
  /** Grades by document by question. */
  relevant: Map<string, Map<string, number>>;
}

const isSet = (dir: string) => existsSync(join(dir, "qrels.tsv"));

/** Folders of the sets that a folder is or holds, sorted; none where it is neither. */
export function setsIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  if (isSet(dir)) return [realpathSync(dir)];
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => !entry.isFile());
  return below
    .map((entry) => join(realpathSync(dir), entry.name))
    .filter(isSet)
    .sort();
}

/** Reads a set. @throws Error with a sentence where it cannot be judged by */
export function loadSet(dir: string): DataSet {
  const name = basename(dir);
  const relevant = new Map<string, Map<string, number>>();
  for (const line of readFileSync(join(dir, "qrels.tsv"), "utf8").split("\n").filter(Boolean)) {
    const [question, document, grade] = line.split("\t") as [string, string, string];
    if (!relevant.has(question)) relevant.set(question, new Map());
    relevant.get(question)!.set(document, Number(grade));
  }
  const questions = itemsOf(join(dir, "queries.jsonl"));
  const unjudged = questions.find(({ id }) => ![...(relevant.get(id)?.values() ?? [])].some((grade) => grade > 0));
  if (unjudged) throw new Error(`${name}: question ${unjudged.id} has no relevant document`);
  return { name, documents: itemsOf(join(dir, "corpus.jsonl")), questions, relevant };
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
