/** Lists of ids in at most so many bytes. */
import { CURSOR_BYTES_MAX, isCursorOf, positionAfter, readCursor, scopeOf, toCursor } from "./cursor.ts";
import { countWithin, jsonBytes } from "./sizes.ts";

/** The arguments that bound a list. */
interface Bounds {
  max_bytes: number;
  after?: string | undefined;
  /** The list is in the order of times, in which no id says where it goes on: `next` is a cursor. */
  newest?: number | undefined;
}

/** Bytes of `,"ids_omitted":10000`. */
const OMITTED_BYTES = 20;
/** An id longer than this share of the answer is not repeated as `next`: a cursor stands for it. */
const NEXT_SHARE = 1 / 4;

/** Most ids that may fit: each takes `"a",` at least. One more shows whether any are left out. */
export function mostIds({ max_bytes }: Bounds): number | undefined {
  return max_bytes === 0 ? undefined : Math.ceil(max_bytes / 4) + 1;
}

/** The names or ids that fit beside `head`, at least one, and `next` where some do not: the last one given. */
export function fitNames<F extends string>(
  verb: string,
  args: Bounds,
  head: object,
  field: F,
  names: readonly string[],
): { next?: string } & Record<F, string[]> {
  const answerOf = (given: readonly string[], next?: string) =>
    ({ ...(next === undefined ? {} : { next }), [field]: given }) as { next?: string } & Record<F, string[]>;
  const { max_bytes } = args;
  const room = max_bytes - jsonBytes({ ...head, [field]: [] }) + 1;
  const fitting = max_bytes === 0 ? names.length : countWithin(names, room);
  if (fitting === names.length) return answerOf(names);
  let count = Math.max(1, fitting);
  const nextOf = () => {
    const last = names[count - 1]!;
    if (args.newest === undefined && jsonBytes(last) <= Math.max(CURSOR_BYTES_MAX, max_bytes * NEXT_SHARE)) return last;
    return toCursor(scopeOf(verb, args), names, count);
  };
  const isLong = () => jsonBytes({ ...head, ...answerOf(names.slice(0, count), nextOf()) }) > max_bytes;
  // `next` takes the place of one name or two, as long as names are; of a few short ones where it is long.
  while (count > 1 && isLong()) count--;
  return answerOf(names.slice(0, count), nextOf());
}

/**
 * The ids after `after`, where that is a cursor; undefined where it is an id, or absent.
 * @throws ValueError for no cursor of this list in the order of times
 */
export function behindCursor(verb: string, args: Bounds, all: () => readonly string[]): readonly string[] | undefined {
  const { after } = args;
  if (after === undefined || (args.newest === undefined && !isCursorOf(after, scopeOf(verb, args)))) return undefined;
  const cursor = readCursor(after, scopeOf(verb, args));
  const ids = all();
  return ids.slice(positionAfter(ids, cursor));
}

/** The generated ids that fit into an answer beside `head`, and how many do not. */
export function fitMadeIds(
  maxBytes: number,
  head: object,
  ids: readonly string[],
): { ids: string[]; ids_omitted?: number } {
  if (maxBytes === 0) return { ids: [...ids] };
  const count = countWithin(ids, maxBytes - jsonBytes({ ...head, ids: [] }) - OMITTED_BYTES);
  if (count === ids.length) return { ids: [...ids] };
  return { ids: ids.slice(0, count), ids_omitted: ids.length - count };
}
