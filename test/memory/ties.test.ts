/** Equal answers of the verbs stand in the order of insertion, and compaction leaves it. */
import { expect, test } from "bun:test";
import { TestMemory } from "../fixture.ts";

const collection = "notes";
const TEXT = "the same sentence about blue green deployment";

test.each([false, true])("texts that are the same, with a lexical index: %p", async (lexical) => {
  const memory = await TestMemory.open();
  const ids = (payload: { hits: { id: string }[] }) => payload.hits.map((hit) => hit.id);
  const ask = async (query: string) => {
    const answers = [ids(await memory.call("search", { collection, query, top_k: 4 }))];
    if (lexical) answers.push(ids(await memory.call("search_lexical", { collection, query, top_k: 4 })));
    return answers;
  };
  await memory.call("create_collection", { name: collection, lexical });
  for (const id of ["d", "b", "a", "c"]) await memory.call("add", { collection, ids: [id], texts: [TEXT] });
  if (lexical) await memory.call("build_lexical", { collection });
  await memory.call("upsert", { collection, ids: ["d"], texts: [TEXT] });
  await memory.call("update", { collection, ids: ["a"], texts: [TEXT] });

  const inserted = ["d", "b", "a", "c"];
  const before = await ask("green deployment");
  for (const answer of before) expect(answer).toEqual(inserted);
  const strange = await ask("zzyzx");
  expect(strange[0]).toEqual(inserted);
  await memory.call("compact", { collection });
  expect(await ask("green deployment")).toEqual(before);
  expect(await ask("zzyzx")).toEqual(strange);
});
