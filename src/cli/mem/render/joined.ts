/** One answer from the answers to several calls. */
import type { SameTexts } from "../../../answers/duplicates.ts";
import type { SimilarTexts } from "../../../answers/similar.ts";
import { ROWS_PER_CALL_MAX } from "../../../limits.ts";

/**
 * Joins the answers to calls that carried the rows of one command line side by side: numbers are added up, lists and
 * different notices follow each other, and everything else is as in the first answer that has it.
 */
export function joinAnswers<P extends object>(answers: readonly P[]): P {
  const joined: Record<string, unknown> = {};
  const notices = new Set<unknown>();
  for (const [call, answer] of answers.entries()) {
    for (const [name, value] of Object.entries(inPlace(answer, call))) {
      const before = joined[name];
      if (name === "notice") notices.add(value);
      if (before === undefined) joined[name] = value;
      else if (Array.isArray(value)) joined[name] = (before as unknown[]).concat(value);
      else if (typeof value === "number") joined[name] = (before as number) + value;
      else if (name === "notice") joined[name] = [...notices].join("; ");
    }
  }
  return joined as P;
}

/** An answer whose texts have their place on the command line, not among the texts of their call. */
function inPlace(answer: SameTexts & SimilarTexts, call: number): object {
  const { duplicates, similar } = answer;
  const shifted = <T extends { index: number }>(one: T) => ({ ...one, index: one.index + call * ROWS_PER_CALL_MAX });
  return {
    ...answer,
    ...(duplicates && { duplicates: duplicates.map(shifted) }),
    ...(similar && { similar: similar.map(shifted) }),
  };
}
