/** A list of collections in at most so many bytes: the names first, then what each one is for, then what is in it. */
import { cut, jsonBytes } from "./sizes.ts";

/** What a list says of a collection. */
export interface CollectionDetail {
  name: string;
  /** Live rows, as last saved. */
  rows?: number | undefined;
  /** The column of `scopes`, where it is not `scope`. */
  partition_by?: string | undefined;
  /** Rows by scope, most rows first. */
  scopes?: Record<string, number> | undefined;
  /** Scopes that are not listed. */
  scopes_omitted?: number | undefined;
  /** When it was last saved, ISO 8601. */
  last_write?: string | undefined;
  description?: string | undefined;
}

/** A collection in a list. */
export interface Listed {
  name: string;
  /** Whether it is among the collections: one without a manifest is not. */
  isSaved: boolean;
  description?: string | undefined;
  /** Why it cannot be read. */
  unreadable?: string | undefined;
  /** What is in it. It is called only where there is room. */
  lookInside?: (() => CollectionDetail) | undefined;
}

/** What a list of collections answers. */
export interface ListedCollections {
  /** Where some were left out: to be passed as `after`. */
  next?: string;
  /** Names, sorted. */
  collections: string[];
  /**
   * Those that have a description, and beside them as many of the first ones as there is room for. One that the room is too
   * small for has no scopes, or nothing but its description.
   */
  details?: CollectionDetail[];
  /**
   * What cannot be read, by name, with the reason and what helps: damaged collections, those of another format, and, in
   * this field only, folders without a `collection.json`.
   */
  unreadable?: Record<string, string>;
}

/** Bytes of a detail beside the name, rows, scopes and times: where less is left, none is looked for. */
const DETAIL_BYTES_LEAST = 100;

/**
 * The names that fit, at least one, each with its description and why it cannot be read, and `next` where some do not.
 * Those names only are looked at; what is said of a single name is cut where it alone is too long.
 * @param maxBytes 0: no bound
 */
export function fitCollections(
  maxBytes: number,
  names: readonly string[],
  lookAt: (name: string) => Listed,
): ListedCollections {
  const given: Listed[] = [];
  const details = new Map<string, CollectionDetail>();
  const answerOf = (): ListedCollections => {
    const reasons = given.flatMap(({ name, unreadable }) => (unreadable === undefined ? [] : [[name, unreadable]]));
    return {
      ...(given.length < names.length ? { next: given.at(-1)!.name } : {}),
      collections: given.filter(({ isSaved }) => isSaved).map(({ name }) => name),
      ...(details.size > 0 ? { details: [...details.values()] } : {}),
      ...(reasons.length > 0 ? { unreadable: Object.fromEntries(reasons) } : {}),
    };
  };
  const describe = () => {
    details.clear();
    for (const { name, description } of given) if (description !== undefined) details.set(name, { name, description });
  };
  const room = maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes;
  let left = room - jsonBytes({ collections: [], details: [] });
  for (const name of names) {
    const one = lookAt(name);
    // With a comma after each, and a colon.
    left -= jsonBytes(name) + 1;
    if (one.description !== undefined) left -= jsonBytes({ name, description: one.description }) + 1;
    if (one.unreadable !== undefined) left -= jsonBytes(name) + jsonBytes(one.unreadable) + 2;
    if (left < 0 && given.length > 0) break;
    given.push(one);
    if (left < 0) break;
  }
  describe();
  // `next` takes the place of a name or two.
  for (; given.length > 1 && jsonBytes(answerOf()) > room; describe()) given.pop();
  const [one] = given;
  for (const field of ["description", "unreadable"] as const) {
    const over = one === undefined || maxBytes === 0 ? 0 : jsonBytes(answerOf()) - maxBytes;
    const text = one?.[field];
    if (over > 0 && text !== undefined) one![field] = cut(text, Math.max(0, jsonBytes(text) - 2 - over));
    describe();
  }
  addInsides(given, details, room - jsonBytes(answerOf()));
  return answerOf();
}

/** Adds what is in the collections, one after the other, while there is room. */
function addInsides(given: readonly Listed[], details: Map<string, CollectionDetail>, room: number): void {
  const described = new Map(details);
  details.clear();
  let left = room - ',"details":[]'.length;
  for (const { name, lookInside } of given) {
    const plain = described.get(name);
    const before = plain === undefined ? 0 : jsonBytes(plain) + 1;
    if (lookInside !== undefined && left >= DETAIL_BYTES_LEAST) {
      const whole = lookInside();
      const { scopes: _, scopes_omitted: __, ...short } = whole;
      const fitting = [whole, short].find((detail) => jsonBytes(detail) + 1 - before <= left);
      if (fitting !== undefined) {
        left -= jsonBytes(fitting) + 1 - before;
        details.set(name, fitting);
        continue;
      }
    }
    if (plain !== undefined) details.set(name, plain);
  }
}
