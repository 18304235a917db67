/** nDCG@10 of the dense, the lexical and the fused ranking on the development sets, where they are at hand beside the checkout. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MultigramEmbedder } from "../../src/embed/multigram.ts";
import { candidateDepth, fuse } from "../../src/memory/fusion.ts";
import { BM25 } from "../../src/memory/ranking.ts";
import { Store } from "../../src/store/store.ts";
import { openBuiltNative } from "../native.ts";
import type { Line } from "./measure.ts";

const DATA = join(import.meta.dir, "../../../shared/data");
const TOP = 10;

interface Item {
  id: string;
  text: string;
  title?: string;
  group?: string;
}

/** One set: documents, questions, and for each question its relevant documents with grades. */
interface DataSet {
  documents: Item[];
  questions: Item[];
  relevant: Map<string, Map<string, number>>;
}

/** nDCG@10 of three rankings. */
export interface Quality {
  set: string;
  dense: number;
  lexical: number;
  fused: number;
}

/** Parameters that an experiment may vary. */
export interface Knobs {
  k1: number;
  b: number;
  denseWeight?: number;
}

function lines(path: string): Item[] {
  const text = new TextDecoder().decode(Bun.gunzipSync(readFileSync(path)));
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function load(dir: string): DataSet {
  const relevant = new Map<string, Map<string, number>>();
  for (const line of readFileSync(join(dir, "qrels.tsv"), "utf8").split("\n").filter(Boolean)) {
    const [question, document, grade] = line.split("\t") as [string, string, string];
    if (!relevant.has(question)) relevant.set(question, new Map());
    relevant.get(question)!.set(document, Number(grade));
  }
  return {
    documents: lines(join(dir, "corpus.jsonl.gz")),
    questions: lines(join(dir, "queries.jsonl.gz")),
    relevant,
  };
}

/** Normalised discounted cumulative gain at 10 (Järvelin and Kekäläinen, 2002), gains 2^grade - 1. */
function ndcg(ranked: readonly { id: string }[], grades: Map<string, number>): number {
  const sum = (list: number[]) => list.reduce((total, grade, i) => total + (2 ** grade - 1) / Math.log2(i + 2), 0);
  const ideal = sum([...grades.values()].sort((a, b) => b - a).slice(0, TOP));
  return sum(ranked.slice(0, TOP).map(({ id }) => grades.get(id) ?? 0)) / ideal;
}

/** Names of the sets at hand. */
export function dataSets(): string[] {
  if (!existsSync(DATA)) return [];
  return readdirSync(DATA).filter((name) => existsSync(join(DATA, name, "qrels.tsv")));
}

/** Stores a set as a user would, groups as partitions, and asks every question. */
export async function measureSet(name: string, knobs: Knobs): Promise<Quality> {
  const data = load(join(DATA, name));
  const { kernel, env } = await openBuiltNative();
  const embedder = new MultigramEmbedder(kernel);
  const dir = mkdtempSync(join(tmpdir(), "svc-quality-"));
  const store = new Store(dir, env, "bench");
  const collection = store.create(name, { dim: embedder.profile.dimension, lexical: true });
  const texts = data.documents.map((d) => (d.title ? `${d.title}\n${d.text}` : d.text));
  await collection.add({
    ids: data.documents.map((d) => d.id),
    vectors: await embedder.embedDocuments(texts),
    texts,
    metadata: data.documents.map((d) => ({ scope: d.group ?? "all" })),
  });
  await collection.buildLexical(knobs.k1, knobs.b);
  const total = { dense: 0, lexical: 0, fused: 0 };
  for (const question of data.questions) {
    const options = { topK: candidateDepth(TOP), where: { scope: question.group ?? "all" } };
    const weighted = embedder.weightedQueries;
    const dense = (await collection.search(await embedder.embedQueries([question.text]), { ...options, weighted }))
      .rows;
    const lexical = await collection.searchLexical(question.text, options);
    const grades = data.relevant.get(question.id) ?? new Map();
    total.dense += ndcg(dense, grades);
    total.lexical += ndcg(lexical, grades);
    total.fused += ndcg(fuse(dense, lexical, TOP, knobs.denseWeight), grades);
  }
  await store.close();
  rmSync(dir, { recursive: true, force: true });
  const mean = (sum: number) => sum / data.questions.length;
  return { set: name, dense: mean(total.dense), lexical: mean(total.lexical), fused: mean(total.fused) };
}

/** One line a set, and the mean. */
export async function benchQuality(): Promise<Line[]> {
  const sets = dataSets();
  if (sets.length === 0) console.error("no development sets are beside this checkout: quality is not measured");
  const all: Quality[] = [];
  for (const set of sets) all.push(await measureSet(set, BM25));
  const mean = (key: "dense" | "lexical" | "fused") => all.reduce((sum, q) => sum + q[key], 0) / all.length;
  if (all.length > 0) all.push({ set: "mean", dense: mean("dense"), lexical: mean("lexical"), fused: mean("fused") });
  return all.map((q) => ({
    what: `${q.set.padEnd(14)} fused ${q.fused.toFixed(3)}; dense ${q.dense.toFixed(3)}, lexical ${q.lexical.toFixed(3)}`,
    value: q.fused,
    unit: "nDCG@10",
    goal: "fused at least as good as the better of the two, less 0.005",
    met: q.fused >= Math.max(q.dense, q.lexical) - 0.005,
  }));
}
