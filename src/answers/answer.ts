/** An answer or an error as the text that a caller gets, in at most so many bytes. */
import { ValueError } from "../errors.ts";
import { ANSWER_BYTES_DEFAULT, ANSWER_CHARACTERS_MAX, QUERY_ECHO_BYTES_MAX } from "../limits.ts";
import { shorten } from "./shorten.ts";
import { cut, positionOf } from "./sizes.ts";

/** Shares of an answer that the question and a notice may take, of what is left beside the least of everything else. */
const ECHO_SHARE = 3 / 8;
const NOTICE_SHARE = 1 / 8;
const OTHER_BYTES = 500;
/** What the end of a cut error says. */
const CUT_LINE = " ...";

/**
 * A payload as JSON. The verbs have cut what has pages; an answer that is still too long is shortened.
 * @param maxBytes 0: no bound but that of a message
 * @throws ValueError where it exceeds a message's limit
 */
export function answerText(payload: object, maxBytes: number): string {
  const text = stringify(payload);
  if (maxBytes > 0) {
    const fits = text !== undefined && (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes);
    return fits ? text : JSON.stringify(shorten(payload, maxBytes));
  }
  if (text === undefined || text.length > ANSWER_CHARACTERS_MAX) {
    throw new ValueError(
      `the answer has more than ${ANSWER_CHARACTERS_MAX} characters: ask for fewer rows, leave their texts out, or ` +
        "give max_bytes",
    );
  }
  return text;
}

/** An error's line in at most as many bytes as its call allows; one that gave no sensible number gets the default. */
export function boundedLine(line: string, raw: unknown): string {
  const given = (raw as { max_bytes?: unknown } | null | undefined)?.max_bytes;
  if (given === 0) return line;
  const maxBytes = typeof given === "number" && given >= 1_000 ? given : ANSWER_BYTES_DEFAULT;
  if (Buffer.byteLength(line) <= maxBytes) return line;
  return line.slice(0, positionOf(line, maxBytes - CUT_LINE.length).at) + CUT_LINE;
}

/** What an answer repeats of its question, and how much of a notice there is room for. */
export function echo(
  query: string,
  notice: string | undefined,
  maxBytes: number,
): { query: string; query_truncated?: true; notice?: string } {
  if (maxBytes === 0) return notice === undefined ? { query } : { query, notice };
  const room = maxBytes - OTHER_BYTES;
  const short = cut(query.slice(0, positionOf(query, QUERY_ECHO_BYTES_MAX).at), room * ECHO_SHARE);
  return {
    query: short,
    ...(short.length < query.length ? { query_truncated: true as const } : {}),
    ...(notice === undefined ? {} : { notice: noticeWithin(notice, maxBytes) }),
  };
}

/** As much of a notice as an answer has room for. @param maxBytes 0: no bound */
export function noticeWithin(notice: string, maxBytes: number): string {
  return maxBytes === 0 ? notice : cut(notice, (maxBytes - OTHER_BYTES) * NOTICE_SHARE);
}

/** Undefined for what is longer than the engine's longest string. */
function stringify(payload: object): string | undefined {
  try {
    return JSON.stringify(payload);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
