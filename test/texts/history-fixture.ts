/** A collection of texts whose rows are told apart by their words, for tests of its history. */
import type { Rows } from "../../src/store/pack.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore } from "../fixture.ts";
import { random } from "../random.ts";

const WORDS = "blue green deploy retro friday runbook canary rollback pager schema index vector memory agent".split(
  " ",
);
const textOf = (next: () => number) =>
  Array.from({ length: 6 }, () => WORDS[Math.floor(next() * WORDS.length)]!).join(" ");

export async function textCollection(dtype = "f32", metric = "inner_product") {
  const store = await openStore();
  const embedder = new MultigramEmbedder((await native()).kernel);
  const { dimension: dim } = embedder.profile;
  const embedderProfile = { ...embedder.profile, distance: metric };
  const c = store.create("c", { dim, dtype: dtype as "f32", filterColumns: ["kind"], lexical: true, embedderProfile });
  const next = random(7);
  const rows = (ids: readonly string[]): Rows => ({
    ids,
    texts: ids.map(() => textOf(next)),
    metadata: ids.map((id, i) => (i % 4 === 3 ? undefined : { kind: id.charCodeAt(id.length - 1) % 3, scope: "s" })),
    defaultPartition: "default",
    model: embedder.kernelModel,
  });
  return { store, c, rows, model: embedder.kernelModel };
}

/** Compacts as a process does by itself. */
export async function compactAside(c: { compactAside(signal: AbortSignal, patientMs: number): Promise<boolean> }) {
  if (!(await c.compactAside(new AbortController().signal, 60_000))) throw new Error("it was not compacted");
}
