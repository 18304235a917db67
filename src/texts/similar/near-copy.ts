/**
 * Whether one of two texts is a near copy of the other: reworded, updated in numbers and dates, or extended. Two texts
 * about the same thing are not.
 */

/** How much two texts have in common. */
export interface Likeness {
  /** The share of the first one's words, by their weight in the collection, that the second one has: 0 to 1. */
  firstShare: number;
  /** The share of the second one's words that the first one has. */
  secondShare: number;
}

/**
 * The limits. Of 60 near copies 54 to 58 are within them, by how many other rows there are, and none of 60 pairs of
 * related notes: docs/ranking.md, "Near copies", has the figures.
 */
const REWORDED_SHARE = 0.67;
/** Texts with their words in the same order may differ more: an update replaces the words that weigh most. */
const UPDATED_SHARE = 0.5;
const UPDATED_ORDER = 0.6;
/** One text contains the other: nearly all of its words, in its order, and they are this much of the longer text. */
const CONTAINED_SHARE = 0.9;
const CONTAINED_ORDER = 0.85;
const CONTAINING_SHARE = 0.3;
/** Texts of fewer words are in many others: "Take care!". */
const WORDS_LEAST = 4;

/** Whether the limits can be met, by one share alone: to find the other one takes longer. */
export function mayBeNear(share: number): boolean {
  return share >= CONTAINING_SHARE;
}

export function isNearCopy(first: string, second: string, { firstShare, secondShare }: Likeness): boolean {
  const [least, most] = [Math.min(firstShare, secondShare), Math.max(firstShare, secondShare)];
  if (least < CONTAINING_SHARE || (least < UPDATED_SHARE && most < CONTAINED_SHARE)) return false;
  const [a, b] = [wordsOf(first), wordsOf(second)];
  if (Math.min(a.length, b.length) < WORDS_LEAST) return false;
  if (least >= REWORDED_SHARE) return true;
  const common = commonPairs(a, b);
  const [shorter, longer] = [Math.min(a.length, b.length) - 1, Math.max(a.length, b.length) - 1];
  if (least >= UPDATED_SHARE && (2 * common) / (shorter + longer) >= UPDATED_ORDER) return true;
  return most >= CONTAINED_SHARE && common / shorter >= CONTAINED_ORDER;
}

/** Words, or the characters of scripts that are written without spaces. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+/gu;
const HAS_DIGIT = /\p{N}/u;

/** The words of a text in its order. All numbers are the same word, so that an updated one keeps its place. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(WORD) ?? []).map((word) => (HAS_DIGIT.test(word) ? "0" : word));
}

/** How many pairs of neighbouring words two texts have in common. */
function commonPairs(a: readonly string[], b: readonly string[]): number {
  const counts = new Map<string, number>();
  for (let i = 1; i < a.length; i++) {
    const pair = `${a[i - 1]} ${a[i]}`;
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  let common = 0;
  for (let i = 1; i < b.length; i++) {
    const pair = `${b[i - 1]} ${b[i]}`;
    const left = counts.get(pair) ?? 0;
    if (left === 0) continue;
    counts.set(pair, left - 1);
    common++;
  }
  return common;
}
