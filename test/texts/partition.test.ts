/** Under a filter on the partition key, words weigh what they weigh in that partition: others' texts change nothing. */
import { beforeEach, expect, test } from "bun:test";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { BigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { native, openStore } from "../fixture.ts";
import { random } from "../random.ts";

const WORDS = "tea water green black cup leaf steep warm cold milk sugar honey lemon ginger mint spoon pot".split(" ");
const SCOPES = ["x", "y", "z"];
const PATHS = ["src/a", "src/b", "test/c"];

let store: Store;
let embedder: BigramEmbedder;
beforeEach(async () => {
  store = await openStore();
  embedder = new BigramEmbedder((await native()).kernel);
});

interface Item {
  text: string;
  scope: string;
  path: string;
}

const create = (name: string) => {
  const { profile } = embedder;
  const schema = { dim: profile.dimension, filterColumns: ["path"], embedderProfile: profile, lexical: true };
  return store.create(name, schema);
};
const put = (collection: Collection, rows: ReadonlyMap<string, Item>) =>
  putTexts(
    collection,
    embedder,
    "upsert",
    {
      ids: [...rows.keys()],
      texts: [...rows.values()].map(({ text }) => text),
      metadata: [...rows.values()].map(({ scope, path }) => ({ scope, path })),
    },
    {},
  );

/** The hits of a scope, and what its words weigh. */
async function asked(collection: Collection, query: string, scope: string, path?: string) {
  const where = { column: "scope", value: scope };
  const under = path === undefined ? undefined : { column: "path", value: path };
  const rows = await collection.searchLexical(query, { topK: 50, where, under, explain: true });
  return rows.map(({ id, score, terms }) => ({ id, score, terms }));
}

test.each([1, 2, 3])("as in a collection of its own, through the life of both (seed %d)", async (seed) => {
  const next = random(seed);
  const any = <T>(list: readonly T[]) => list[Math.floor(next() ** 2 * list.length)]!;
  const one = (): Item => ({
    text: Array.from({ length: Math.floor(next() * 9) }, () => any(WORDS)).join(" "),
    scope: any(SCOPES),
    path: any(PATHS),
  });
  const some = (count: number, from: number) =>
    new Map(Array.from({ length: count }, () => [`row ${from + Math.floor(next() * count)}`, one()]));
  const together = create("together");
  const rows = new Map<string, Item>();
  const later = await openStore(store.dir);
  await put(together, new Map([["alone", { text: "green tea", scope: "w", path: "src/a" }]]));
  rows.set("alone", { text: "green tea", scope: "w", path: "src/a" });

  const change = async (changed: Map<string, Item>) => {
    await put(together, changed);
    for (const [id, item] of changed) rows.set(id, item);
  };
  const expectAlone = async (round: string) => {
    for (const scope of [...SCOPES, "w", "nowhere"]) {
      const own = create(`${scope} ${round}`);
      // In the order of their births, which an update keeps.
      const ids = together.ids().filter((id) => rows.get(id)!.scope === scope);
      if (ids.length > 0) await put(own, new Map(ids.map((id) => [id, rows.get(id)!])));
      await own.buildLexical(1.2, 0.6);
      for (let i = 0; i < 6; i++) {
        const query = `${any(WORDS)} ${any(WORDS)} ${any(WORDS)} unheard`;
        const expected = await asked(own, query, scope);
        expect(await asked(together, query, scope)).toEqual(expected);
        expect(await asked(later.open("together"), query, scope)).toEqual(expected);
        // A second condition chooses rows; the weights are the partition's.
        const path = any(PATHS);
        expect(await asked(together, query, scope, path)).toEqual(await asked(own, query, scope, path));
      }
    }
  };

  await change(some(120, 0));
  await together.buildLexical(1.2, 0.6);
  await expectAlone("in the base");
  await change(some(120, 60));
  await expectAlone("in base and delta");
  const gone = together.ids().filter(() => next() < 0.3);
  await together.delete(gone);
  await expectAlone("after deletes");
  await together.compact();
  await expectAlone("compacted");
  await together.delete(together.ids({ where: { column: "scope", value: "y" } }));
  await change(new Map([["new", { text: "green green tea pot", scope: "y", path: "src/b" }]]));
  await expectAlone("in the delta alone");
});

test("a word that no row of the partition has is unknown there", async () => {
  const collection = create("c");
  await put(
    collection,
    new Map([
      ["a", { text: "green tea", scope: "x", path: "src/a" }],
      ["b", { text: "black rum", scope: "y", path: "src/a" }],
    ]),
  );
  await collection.buildLexical(1.2, 0.6);
  expect(await asked(collection, "rum", "x")).toEqual([]);
  expect((await asked(collection, "rum", "y"))[0]!.terms!.map(({ term }) => term)).toEqual(["rum"]);
});
