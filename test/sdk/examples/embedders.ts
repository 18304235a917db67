/** Embedders: the two that are built in, and a function of one's own. */
import { strict as assert } from "node:assert";
import {
  BigramEmbedder,
  CallableEmbedder,
  type CallableOptions,
  type EmbeddedTexts,
  type Embedder,
  type EmbedderProfile,
  type EmbedderSource,
  type EmbedFunction,
  MultigramEmbedder,
  SentenceEmbedder,
  Store,
  type TextSearchOptions,
} from "svc";

await using store = await Store.open();
const multigram: Embedder = new MultigramEmbedder(store.kernel);
const bigram = new BigramEmbedder(store.kernel);
const profile: EmbedderProfile = bigram.profile;
const vectors = await bigram.embedDocuments(["a text", "another one"]);
assert.equal(vectors.length, 2 * profile.dimension);
await store.createCollection("words", { embedder: multigram });

// The encoder behind searches by meaning, for vectors of one's own; a build of svc may lack it.
const sentence = await SentenceEmbedder.open(store).catch((error: Error) => error);
if (sentence instanceof Error) assert.match(sentence.message, /this build of svc has no sentence encoder/);
else assert.equal((await sentence.embedQueries(["what does it cost"])).length, 128);

// A function from texts to vectors; it may just as well ask a model over the network, and pass `signal` on.
const vowels: EmbedFunction = async (texts, signal): Promise<EmbeddedTexts> => {
  signal?.throwIfAborted();
  return texts.map((text) => [..."aeiou"].map((vowel) => text.split(vowel).length - 1));
};
const options: CallableOptions = { modelId: "vowels", modelVersion: "1", dimension: 5, normalize: true };
const fruits = await store.createCollection("fruits", { embedder: new CallableEmbedder(vowels, options) });
await fruits.addTexts(["banana", "kiwi"], { ids: ["banana", "kiwi"] });
const patience: TextSearchOptions = { topK: 1, signal: AbortSignal.timeout(10_000) };
assert.deepEqual((await fruits.searchText("papaya", patience)).ids, ["banana"]);
await fruits.save();

// Another process registers the embedder for collections that exist; the manifest says which one they need.
await using later = await Store.open();
const source: EmbedderSource = async () => new CallableEmbedder(vowels, options);
later.registerEmbedder("vowels", source);
assert.deepEqual((await (await later.openCollection("fruits")).searchText("papaya", { topK: 1 })).ids, ["banana"]);
