/** What is right about the answers of a call. */
import type { Outcome } from "./agent.ts";
import { type DayCall, showsRight } from "./data.ts";

/** The marks of a call. */
export interface Marks {
  what: string;
  isQuestion: boolean;
  /** A search in all collections. */
  isEverywhere: boolean;
  /** Of a search: a right hit is the first of its list. Of another call: the answer contains what it has to. */
  isRight: boolean;
  /** A right hit is among the first five of its list. */
  isInFive: boolean;
  /** The first answer already has the right words of a right note. */
  isAtOneCall: boolean;
  /** The answers together have them. */
  isAnswered: boolean;
  /** Hits that are not right, of all lists. */
  noise: number;
  /** Answers that were needed. */
  calls: number;
  /** All answers. */
  bytes: number;
  tokens: number;
}

const FIVE = 5;
const EVERYWHERE = "*";

/** Judges a call by its rule. */
export function judge(call: DayCall, outcome: Outcome, countTokens: (text: string) => number): Marks {
  const { answers, lists } = outcome;
  const sum = (of: (text: string) => number) => answers.reduce((total, text) => total + of(text), 0);
  const marks = {
    what: call.what,
    isQuestion: call.isQuestion,
    isEverywhere: call.arguments.collection === EVERYWHERE,
    calls: answers.length,
    bytes: sum(Buffer.byteLength),
    tokens: sum(countTokens),
  };
  if (!call.right) {
    const isRight = call.contains!.every((words) => answers[0]!.includes(words));
    return { ...marks, isRight, isInFive: false, isAtOneCall: isRight, isAnswered: isRight, noise: 0 };
  }
  const isRightId = (id: string | undefined) => id !== undefined && Object.hasOwn(call.right!, id);
  const shows = (text: string) => showsRight(call, text);
  return {
    ...marks,
    isRight: lists.some(([hit]) => isRightId(hit?.id)),
    isInFive: lists.some((hits) => hits.slice(0, FIVE).some(({ id }) => isRightId(id))),
    isAtOneCall: !outcome.isRefused && shows(answers[0]!),
    isAnswered: answers.some(shows),
    noise: lists.flat().filter(({ id }) => !isRightId(id)).length,
  };
}
