/** Search by words, and both rankings in one. */
import { strict as assert } from "node:assert";
import {
  type LexicalOptions,
  type LexicalResult,
  type LexicalSearchOptions,
  type LocalCreateOptions,
  Store,
  type TermContribution,
} from "svc";

await using store = await Store.open();
const options: LocalCreateOptions = { embedder: "multigram", lexical: true };
const docs = await store.createCollection("docs", options);
await docs.addTexts(["error E4711 in the pump", "the pump is fine"], { ids: ["error", "fine"] });

// Builds save. Rows that come later are found without building again.
const bm25: LexicalOptions = { k1: 1.2, b: 0.6 };
await docs.buildLexical(bm25);

const how: LexicalSearchOptions = { topK: 1, explain: true, withText: true };
const answer: LexicalResult = await docs.searchLexical("E4711", how);
assert.deepEqual([answer.ids, answer.texts], [["error"], ["error E4711 in the pump"]]);
const shares: TermContribution[] = answer.explain![0]!;
const sum = shares.reduce((total, { score }) => total + score, 0);
assert.ok(Math.abs(sum - answer.scores[0]!) < 1e-6);

// With the index there searchText fuses meaning and words.
assert.equal((await docs.searchText("pump error", { explain: true })).explain?.mode, "fused");
