/** What of a question is searched for. */
import { QUERY_BYTES_MAX } from "../limits.ts";

/** A question, cut where it is too long. */
export interface Question {
  text: string;
  /** A sentence for the caller where the rest of the question was left out. */
  notice: string | undefined;
}

/** Units in which the beginning of a cut word is looked for; what is longer is not a word. */
const WORD_UNITS_MAX = 128;
const WORD_AT_END = /[\p{L}\p{N}\p{M}]+$/u;
const WORD_AT_START = /^[\p{L}\p{N}\p{M}]/u;

const encoder = new TextEncoder();

/**
 * The first QUERY_BYTES_MAX bytes of a text, cut between words where a word ends near, else between characters. Both
 * rankings see the same text. Embedding and tokenising all of 6 MB would take a second, on the event loop where the
 * embedder is a function.
 */
export function questionOf(text: string): Question {
  // A UTF-16 unit becomes at most three bytes.
  if (text.length * 3 <= QUERY_BYTES_MAX) return { text, notice: undefined };
  const { read } = encoder.encodeInto(text, new Uint8Array(QUERY_BYTES_MAX));
  if (read === text.length) return { text, notice: undefined };
  const notice =
    `the query is longer than ${QUERY_BYTES_MAX} bytes, and only its first ${QUERY_BYTES_MAX} bytes were searched: ` +
    "ask a shorter one";
  return { text: text.slice(0, wordEnd(text, read)), notice };
}

/** Where the last whole word before `end` ends, if `end` falls into a word. */
function wordEnd(text: string, end: number): number {
  if (!WORD_AT_START.test(text.slice(end, end + 2))) return end;
  const word = WORD_AT_END.exec(text.slice(Math.max(0, end - WORD_UNITS_MAX), end));
  return word && word.index > 0 ? end - word[0].length : end;
}
