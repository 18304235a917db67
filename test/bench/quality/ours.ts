/** This project's rankings of a set, its texts added and searched as `svc_add` and `svc_search` do it. */
import type { Collection, Row } from "../../../src/store/collection.ts";
import { Store } from "../../../src/store/store.ts";
import type { Embedder } from "../../../src/texts/embedder.ts";
import { MultigramEmbedder } from "../../../src/texts/kernel.ts";
import { SentenceEncoder } from "../../../src/texts/meaning/encoder.ts";
import { fill } from "../../../src/texts/meaning/fill.ts";
import { putTexts } from "../../../src/texts/put.ts";
import { questionOf } from "../../../src/texts/question.ts";
import { BM25 } from "../../../src/texts/ranking.ts";
import { searchTexts } from "../../../src/texts/search.ts";
import { openBuiltNative } from "../../native.ts";
import { scratchFolder } from "../home.ts";
import type { Item } from "./sets.ts";
import type { Units } from "./units.ts";

/** Documents best first, one list a query. */
export type Rankings = string[][];

const KEY = "scope";
/** Texts of a call. */
const CALL = 1000;

/**
 * The rankings of the default embedder: the dense, the lexical, and both fused, without and with vectors of meaning. All are
 * filled before the last: answers depend on them. Without a model in the build the last two are equal.
 */
export async function askDefault(units: Units, queries: readonly Item[]) {
  const native = await openBuiltNative();
  const encoder = new SentenceEncoder(native);
  const embedder = new MultigramEmbedder(native.kernel, encoder);
  return await withCollection(units, embedder, true, async (collection) => {
    const dense = await askEach(units, queries, (query) => byVector(collection, embedder, query, units.depth));
    await collection.buildLexical(BM25.k1, BM25.b);
    const lexical = await askEach(units, queries, (query) =>
      collection.searchLexical(query.text, { topK: units.depth, where: within(query) }),
    );
    const fuse = () =>
      askEach(units, queries, async (query) => {
        const options = { topK: units.depth, where: within(query) };
        return (await searchTexts(collection, embedder, query.text, options)).rows;
      });
    const unmeant = await fuse();
    if (await encoder.load()) await fill(collection, encoder);
    return { dense, lexical, "without meaning": unmeant, fused: await fuse() };
  });
}

/** The dense ranking alone. */
export function askDense(units: Units, queries: readonly Item[], embedder: Embedder): Promise<Rankings> {
  return withCollection(units, embedder, false, (collection) =>
    askEach(units, queries, (query) => byVector(collection, embedder, query, units.depth)),
  );
}

type Grouped = Pick<Item, "group" | "session" | "turn">;

/** The filter that restricts a query to its group, and the metadata of a row of it. */
const within = ({ group }: Grouped) => (group === undefined ? undefined : { column: KEY, value: group });
const metadataOf = ({ group, session, turn }: Grouped) =>
  group === undefined && session === undefined ? undefined : { [KEY]: group, session, turn };

/** As `searchTexts` asks for its dense half. */
async function byVector(collection: Collection, embedder: Embedder, query: Item, topK: number): Promise<Row[]> {
  const { kernelModel: model, weightedQueries: weighted } = embedder;
  const { text } = questionOf(query.text);
  const vector = model === undefined ? await embedder.embedQueries([text]) : undefined;
  return (await collection.ask({ by: "vector", vector, model, text }, { topK, where: within(query), weighted })).rows;
}

async function askEach(units: Units, queries: readonly Item[], ask: (q: Item) => Promise<Row[]>): Promise<Rankings> {
  const rankings: Rankings = [];
  for (const query of queries) rankings.push(units.toDocuments((await ask(query)).map(({ id }) => id)));
  return rankings;
}

/** Runs `use` on a new collection that holds the units. */
async function withCollection<T>(
  { rows }: Units,
  embedder: Embedder,
  lexical: boolean,
  use: (collection: Collection) => Promise<T>,
): Promise<T> {
  await using ends = new AsyncDisposableStack();
  const { path } = ends.use(scratchFolder());
  const store = ends.adopt(new Store(path, (await openBuiltNative()).env, "bench"), (opened) => opened.close());
  const { profile } = embedder;
  const schema = { dim: profile.dimension, partitionBy: KEY, lexical, embedderProfile: profile };
  const collection = store.create("bench", schema);
  for (let from = 0; from < rows.length; from += CALL) {
    const part = rows.slice(from, from + CALL);
    const put = {
      ids: part.map(({ id }) => id),
      texts: part.map(({ text }) => text),
      metadata: part.map(metadataOf),
    };
    await putTexts(collection, embedder, "add", put, {});
  }
  return await use(collection);
}
