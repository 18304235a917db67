/**
 * What every collection does. `local.test.ts` runs these cases on a store of this process, `remote.test.ts` on a served
 * one: a program gets the same answers and the same errors from both.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { CollectionApi, StoreApi } from "../../src/api/api.ts";
import { LocalStore } from "../../src/api/local-store.ts";
import { type ErrorType, SvcError } from "../../src/errors.ts";
import { native, scratchDir } from "../fixture.ts";
import { HITS } from "./hits.cases.ts";
import { QUESTIONS } from "./questions.cases.ts";
import { ROWS } from "./rows.cases.ts";
import { SAVING } from "./saving.cases.ts";
import { STORES } from "./stores.cases.ts";
import { TEXTS } from "./texts.cases.ts";
import { TYPES } from "./types.cases.ts";

/** What a case works on: a fresh store. */
export interface Subject {
  store: StoreApi;
  /** The memory directory. */
  dir: string;
  /** Another store on the same directory, as another process has it. The case closes it. */
  other(): Promise<LocalStore>;
}

/** Cases by what they show. */
export type Cases = Readonly<Record<string, (subject: Subject) => Promise<void>>>;

/** Numbers in the vectors of the cases. */
export const DIM = 4;

/** Runs every case against the stores that `open` opens; `close` of a store ends all that was started for it. */
export function collectionContract(kind: string, open: (dir: string) => Promise<StoreApi>): void {
  let subject: Subject;
  beforeEach(async () => {
    const dir = scratchDir();
    subject = { store: await open(dir), dir, other: async () => new LocalStore(dir, await native(), "0.0.0-test") };
  });
  afterEach(() => subject.store.close());

  for (const [group, cases] of Object.entries({ ROWS, QUESTIONS, TEXTS, HITS, SAVING, STORES, TYPES })) {
    describe(`${kind}: ${group.toLowerCase()}`, () => {
      for (const [name, run] of Object.entries(cases)) test(name, () => run(subject));
    });
  }
}

/** A collection of raw vectors with the filter column `kind`. */
export function vectorCollection(store: StoreApi, name = "c"): Promise<CollectionApi> {
  return store.createCollection(name, { dim: DIM, filterColumns: ["kind"] });
}

/** The unit vector along an axis. */
export function axis(at: number): number[] {
  return Array.from({ length: DIM }, (_, i) => (i === at ? 1 : 0));
}

/** That a call fails with one of the types, and with a sentence that has a certain word in it. */
export async function fails(call: Promise<unknown>, type: ErrorType, sentence: RegExp | string): Promise<void> {
  const error = await call.then(
    (value) => new Error(`nothing failed; the answer was ${JSON.stringify(value)}`),
    (failure) => failure,
  );
  expect(error).toBeInstanceOf(SvcError);
  expect(`${error.type}: ${error.message}`).toStartWith(`${type}: `);
  expect(error.message).toMatch(sentence);
}
