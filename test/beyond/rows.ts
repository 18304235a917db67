/** Rows whose vector and text follow from their id and version, and queries that they answer. */
import type { Rows } from "../../src/store/pack.ts";
import { random, unitVectors } from "../random.ts";

export const DIM = 16;

/** A row as the model knows it. */
export interface Version {
  id: string;
  /** Which of the id's contents it has. */
  version: number;
}

const WORDS = "anchor basin cedar delta ember fjord grove harbor inlet jetty kelp lagoon marsh north ocean pier".split(
  " ",
);

/** A text of four words, which names the row and its version. */
export function textOf({ id, version }: Version): string {
  const next = random(Bun.hash.crc32(`${id} ${version}`));
  const words = Array.from({ length: 4 }, () => WORDS[Math.floor(next() * WORDS.length)]);
  return `${id} v${version} ${words.join(" ")}`;
}

export function rowsOf(versions: readonly Version[]): Rows {
  const vectors = new Float32Array(versions.length * DIM);
  for (const [i, { id, version }] of versions.entries())
    vectors.set(unitVectors(1, DIM, random(Bun.hash.crc32(`${version} ${id}`))), i * DIM);
  return { ids: versions.map(({ id }) => id), vectors, texts: versions.map(textOf) };
}

/** Two words each. */
export const QUESTIONS: readonly string[] = Array.from(
  { length: 25 },
  (_, i) => `${WORDS[i % WORDS.length]} ${WORDS[(i * 7 + 3) % WORDS.length]}`,
);

export const QUERY_VECTORS: readonly Float32Array[] = Array.from({ length: 25 }, (_, i) =>
  unitVectors(1, DIM, random(i + 1)),
);
