/** Where in texts the passages are that fit a query best. */
import type { PassagePlace } from "../../ffi/ty_reader.ts";
import type { Condition } from "../checks/where.ts";
import type { Collection } from "../store/collection.ts";
import { questionOf } from "./question.ts";

/** UTF-16 units of all texts in which passages are looked for, 5 ns each. */
const PASSAGE_UNITS = 4 * 1024 * 1024;

/** Finds the best passage of each of several texts, among the first units of each where they are long. */
export function passagesOf(collection: Pick<Collection, "passages">, query: string, where: Condition | undefined) {
  const question = questionOf(query).text;
  return (texts: readonly string[]): PassagePlace[] => {
    const units = Math.floor(PASSAGE_UNITS / Math.max(1, texts.length));
    const begun = texts.map((text) => text.slice(0, units));
    return collection.passages(question, where, begun);
  };
}
