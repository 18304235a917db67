/** Rows of the client's project come first where they fit as well, and rows that others replaced come last. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { Collection } from "../../src/store/collection.ts";
import { Put } from "../../src/store/writer.ts";
import { putDated } from "../../src/texts/dated.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { searchTexts, searchWords } from "../../src/texts/search.ts";
import { native, openStore } from "../fixture.ts";

const OURS = "host/acme/shop";
const THEIRS = "host/acme/billing";

let embedder: MultigramEmbedder;
beforeAll(async () => {
  embedder = new MultigramEmbedder((await native()).kernel);
});

type Note = [id: string, text: string, metadata?: Record<string, unknown>, updated?: number];

async function collectionOf(notes: readonly Note[], partitionBy = "scope"): Promise<Collection> {
  const { profile } = embedder;
  const schema = { dim: profile.dimension, partitionBy, embedderProfile: profile, lexical: true };
  const collection = (await openStore()).create("c", schema);
  await collection.change(async (t) => {
    for (const [id, text, metadata, time] of notes) {
      const times = { created: [time], updated: [time] };
      const row = { ids: [id], texts: [text], metadata: [metadata], defaultPartition: "default" };
      await putDated(t, Put.ADD, { ...row, ...times, model: embedder.kernelModel! });
    }
  });
  await collection.buildLexical(1.2, 0.6);
  return collection;
}

const scoped = (scope: string) => ({ scope });

/** Ids in the order of an answer, with a project and without. */
async function found(collection: Collection, query: string, project: string | undefined = OURS, topK = 20) {
  const { rows } = await searchTexts(collection, embedder, query, { topK, project });
  return rows.map(({ id }) => id);
}

const DEPLOYS: Note[] = [
  ["theirs", "We deploy with the button in Jenkins.", scoped(THEIRS)],
  ["bare", "We deploy with a script on the laptop."],
  ["default", "We deploy with care and never on Fridays.", scoped("default")],
  ["ours", "We deploy with make ship from main.", scoped(OURS)],
  ["cats", "Cats sleep for sixteen hours a day.", scoped(OURS)],
  ["tea", "Green tea is made with water of 70 degrees.", scoped("default")],
];

describe("the project", () => {
  test("comes first, then the default scope, then others; nothing is left out", async () => {
    const collection = await collectionOf(DEPLOYS);
    const order = await found(collection, "how do we deploy");
    expect(order[0]).toBe("ours");
    expect(order.slice(1, 3).sort()).toEqual(["bare", "default"]);
    expect(order[3]).toBe("theirs");
    expect(order.slice(4).sort()).toEqual(["cats", "tea"]);
    expect((await found(collection, "how do we deploy", THEIRS))[0]).toBe("theirs");
    const { rows } = await searchWords(collection, "how do we deploy", { topK: 20, project: OURS });
    expect(rows.map(({ id }) => id)[0]).toBe("ours");
    expect(rows.map(({ id }) => id).indexOf("theirs")).toBe(3);
  });

  test("does not hide the right note of another scope behind unrelated ones of its own", async () => {
    const others = ["Logs are kept for a week.", "The cart is owned by Lena.", "Prices are integers of cents."];
    const collection = await collectionOf([
      ...others.map((text, i): Note => [`ours ${i}`, text, scoped(OURS)]),
      ["certificate", "The mobile app pins the certificate of the API by its public key.", scoped(THEIRS)],
      ["ours app", "The app of the shop has four tabs.", scoped(OURS)],
    ]);
    const question = "which certificate does the mobile app pin";
    expect((await found(collection, question))[0]).toBe("certificate");
    const { rows } = await searchWords(collection, question, { topK: 5, project: OURS });
    expect(rows[0]!.id).toBe("certificate");
  });

  test("changes nothing where rows are grouped by another key", async () => {
    const byAuthor = await collectionOf(DEPLOYS, "author");
    expect(await found(byAuthor, "how do we deploy")).toEqual(await found(byAuthor, "how do we deploy", undefined));
  });

  test("answers with the detail that was asked for, and as many rows", async () => {
    const collection = await collectionOf(DEPLOYS);
    const ask = { topK: 2, project: OURS };
    const bare = await searchTexts(collection, embedder, "deploy", ask);
    expect(bare.rows).toHaveLength(2);
    expect(bare.rows[0]).toMatchObject({ id: "ours", metadata: undefined, text: undefined, times: undefined });
    const full = await searchTexts(collection, embedder, "deploy", { ...ask, metadata: true, text: true, times: true });
    expect(full.rows[0]).toMatchObject({ metadata: { scope: OURS }, text: DEPLOYS[3]![1] });
    expect(full.rows[0]!.times!.updated).toBeGreaterThan(0);
    expect((await searchTexts(collection, embedder, "qqq", { topK: 20, project: OURS })).rows).toHaveLength(6);
  });

  test("keeps the newer of two notes first, and a preference for newer rows", async () => {
    const [old, now] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1)];
    const collection = await collectionOf([
      ["old", "Payments of the shop go through Stripe, the provider for cards.", scoped(OURS), old],
      [
        "new",
        "Payments of the shop go through Adyen now, no longer Stripe, the provider for cards.",
        scoped(OURS),
        now,
      ],
      ["theirs", "Payments of billing go through the bank.", scoped(THEIRS), now],
    ]);
    const question = "which provider do payments of the shop go through";
    expect((await found(collection, question)).slice(0, 2)).toEqual(["new", "old"]);
    const recency = { field: "updated", halfLifeDays: 1, weight: 0.3 };
    const answer = await searchTexts(collection, embedder, question, { topK: 3, project: THEIRS, recency });
    expect(answer.recencyShares).toHaveLength(3);
  });
});

describe("superseded rows", () => {
  test("come after all others, with a project and without, and by words too", async () => {
    const replaced = DEPLOYS.map(([id, text, metadata]): Note => {
      return [id, text, id === "ours" ? { ...metadata, superseded_by: "theirs" } : metadata];
    });
    const collection = await collectionOf(replaced);
    for (const project of [OURS, undefined]) {
      const order = await found(collection, "how do we deploy with make ship", project);
      expect(order).toHaveLength(6);
      expect(order.at(-1)).toBe("ours");
      const { rows } = await searchWords(collection, "deploy make ship", { topK: 20, project });
      expect(rows.at(-1)!.id).toBe("ours");
    }
    expect(await found(collection, "how do we deploy with make ship", undefined, 1)).not.toEqual(["ours"]);
  });

  test("are looked for after any row had the field", async () => {
    const collection = await collectionOf(DEPLOYS);
    const before = await found(collection, "make ship from main", undefined);
    expect(before[0]).toBe("ours");
    expect(collection.note("superseded")).toBeUndefined();
    const row = { ids: ["ours"], texts: [DEPLOYS[3]![1]], model: embedder.kernelModel! };
    await collection.upsert({ ...row, metadata: [{ scope: OURS, superseded_by: "x" }] });
    expect(collection.note("superseded")).toBe(true);
    expect((await found(collection, "make ship from main", undefined)).at(-1)).toBe("ours");
    for (const superseded_by of [undefined, null, 7]) {
      await collection.upsert({ ...row, metadata: [{ scope: OURS, superseded_by }] });
      expect((await found(collection, "make ship from main", undefined))[0]).toBe("ours");
    }
  });
});
