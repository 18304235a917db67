/**
 * The door where a stranger's JSON becomes typed arguments. Every refusal is one of ours and names the argument, what came
 * and what is wanted; past this door nobody checks shapes again.
 *
 * What it does not judge is what only the store can: whether a collection exists, the bytes of an id, a text or a row's metadata.
 */
import type * as z from "zod/mini";
import { filtersNothing, toId, toIds, toPartitionKey } from "../checks/accepted.ts";
import { isObject } from "../checks/kinds.ts";
import { ArgumentTypeError, type SvcError, ValueError } from "../errors.ts";
import { ROWS_PER_CALL_MAX } from "../limits.ts";
import { type ArgumentsOf, SCHEMAS, type VerbName } from "./requests.ts";

type Shape = Record<string, z.ZodMiniType>;

/**
 * Parses the arguments of a verb: defaults are filled in, JSON `null` for an optional argument counts as omitted, and so does an empty `where`.
 *
 * @throws ValueError for an unknown argument or a value outside its domain
 * @throws ArgumentTypeError for a wrong JSON type or a missing argument
 */
export function parseArguments<V extends VerbName>(verb: V, raw: unknown): ArgumentsOf<V> {
  return parseBy(SCHEMAS[verb](), `svc_${verb}`, raw, ROWS_PER_CALL_MAX) as ArgumentsOf<V>;
}

/**
 * The same for any schema of an object.
 * @param owner what messages say the arguments belong to
 * @param rowsMax entries that an array may have
 */
export function parseBy<S extends z.ZodMiniObject>(
  schema: S,
  owner: string,
  raw: unknown,
  rowsMax = Number.POSITIVE_INFINITY,
): z.infer<S> {
  const shape: Shape = schema.shape as Shape;
  const given = readKnown(owner, shape, raw ?? {}, rowsMax);
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw translate(parsed.error.issues[0] as Issue, given, shape);
  checkText(given);
  checkLengths(given);
  if (given.where !== undefined) checkWhere(given.where as Record<string, unknown>);
  return parsed.data;
}

/**
 * Copies the arguments that the schema knows. Asked by name of the schema's own keys, so that an argument called `__proto__` or
 * `constructor` is refused like any other unknown one.
 */
function readKnown(owner: string, shape: Shape, raw: unknown, rowsMax: number): Record<string, unknown> {
  if (!isObject(raw)) throw new ArgumentTypeError(`the arguments of ${owner} must be an object, got ${describe(raw)}`);
  const given: Record<string, unknown> = {};
  for (const name of Object.keys(raw)) {
    const value = raw[name];
    if (!Object.hasOwn(shape, name)) {
      const known = Object.keys(shape);
      const hint = known.length > 0 ? `it takes ${known.join(", ")}` : "it takes none";
      throw new ValueError(`unknown argument ${quote(name)} of ${owner}: ${hint}`);
    }
    if (value === null && unwrap(shape[name]!).isOptional) continue;
    // Counted before the elements are looked at: one refusal instead of millions.
    if (Array.isArray(value) && value.length > rowsMax) {
      throw new ValueError(
        `argument '${name}' has ${value.length} entries, at most ${rowsMax} are allowed in one call: split it`,
      );
    }
    const meant = ACCEPTED[name] ? ACCEPTED[name](value) : value;
    if (meant !== undefined) given[name] = meant;
  }
  return given;
}

/** Arguments that may come in another form than their schema says, by name: a name means the same to all verbs and operations. */
const ACCEPTED: Record<string, (value: unknown) => unknown> = {
  ids: (value) => (Array.isArray(value) ? toIds(value, (at) => `argument 'ids[${at}]'`) : value),
  after: (value) => toId(value, "argument 'after'"),
  partition_by: (value) => toPartitionKey(value, "argument 'partition_by'"),
  where: (value) => (isObject(value) && filtersNothing(value) ? undefined : value),
};

/** What stands below the wrappers of an argument's schema. */
function unwrap(schema: z.ZodMiniType): { isOptional: boolean; isInteger: boolean } {
  let def = schema.def as { type: string; innerType?: z.ZodMiniType; format?: string };
  const isOptional = def.type === "optional" || def.type === "default";
  while (def.innerType) def = def.innerType.def as typeof def;
  return { isOptional, isInteger: def.format === "safeint" };
}

/** The fields of zod's issues that are read here. */
interface Issue {
  code: string;
  path: PropertyKey[];
  expected?: string;
  received?: string;
  minimum?: number;
  maximum?: number;
  inclusive?: boolean;
  origin?: string;
  values?: unknown[];
  params?: { expected?: string };
}

/** The error for the first thing that is wrong. */
function translate(issue: Issue, given: Record<string, unknown>, shape: Shape): SvcError {
  const path = issue.path.map(String);
  const value = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], given);
  const name = path.slice(1).reduce((text, key) => `${text}[${key}]`, path[0] ?? "");
  if (value === undefined && path.length === 1) return new ArgumentTypeError(`missing required argument '${name}'`);
  switch (issue.code) {
    case "too_small":
    case "too_big":
      return outOfRange(issue, name, value);
    case "invalid_value":
      if (typeof value === "string") {
        return new ValueError(
          `argument '${name}' must be one of ${issue.values?.map(quote).join(", ")}, got ${quote(value)}`,
        );
      }
      return new ArgumentTypeError(`argument '${name}' must be a string, got ${describe(value)}`);
    default: {
      if (issue.received === "Infinity") return new ValueError(`argument '${name}' is too large for a number`);
      let expected = issue.expected ?? issue.params?.expected ?? "";
      // Of a value that is no number at all zod says that a number was expected, of 2.5 that an integer was.
      if (path.length === 1 && unwrap(shape[name]!).isInteger) expected = "int";
      const want = WANTED[name] ?? WANTED[`${path[0]}[]`] ?? KINDS[expected] ?? expected;
      return new ArgumentTypeError(`argument '${name}' must be ${want}, got ${describe(value)}`);
    }
  }
}

const KINDS: Record<string, string> = {
  string: "a string",
  int: "an integer",
  number: "a number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
};

/** Where more can be said than the kind. */
const WANTED: Record<string, string> = {
  texts: 'an array of strings (one text is written ["…"])',
  ids: 'an array of strings (one id is written ["…"])',
  filter_columns: "an array of column names",
  metadata: "an array with one object or null per text",
  "metadata[]": "an object or null",
  where: 'an object with one key, as in {"column": "value"}',
};

function outOfRange(issue: Issue, name: string, value: unknown): ValueError {
  if (Array.isArray(value)) {
    if (value.length === 0) return new ValueError(`argument '${name}' is empty: give at least ${issue.minimum}`);
    return new ValueError(`argument '${name}' has ${value.length} entries, at most ${issue.maximum} are allowed`);
  }
  const [bound, side] = issue.code === "too_small" ? [issue.minimum, "least"] : [issue.maximum, "most"];
  const range = issue.inclusive === false ? `${side === "least" ? "above" : "below"} ${bound}` : `at ${side} ${bound}`;
  return new ValueError(`argument '${name}' must be ${range}, got ${value}`);
}

/** A lone surrogate would silently become U+FFFD on its way to disk, and two ids might become one. */
function checkText(given: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "string") refuseLoneSurrogate(name, value);
    if (!Array.isArray(value)) continue;
    value.forEach((item, index) => {
      if (typeof item === "string") refuseLoneSurrogate(`${name}[${index}]`, item);
    });
  }
}

function refuseLoneSurrogate(name: string, value: string): void {
  if (value.isWellFormed()) return;
  throw new ValueError(`argument '${name}' is not valid Unicode: it holds half of a surrogate pair, remove it`);
}

function checkLengths(given: Record<string, unknown>): void {
  if (!Array.isArray(given.texts)) return;
  for (const name of ["ids", "metadata"]) {
    const list = given[name];
    if (!Array.isArray(list) || list.length === given.texts.length) continue;
    throw new ValueError(
      `'${name}' has ${count(list.length)} but 'texts' has ${count(given.texts.length)}: give one entry of '${name}' per text`,
    );
  }
}

function checkWhere(where: Record<string, unknown>): void {
  const keys = Object.keys(where);
  const key = keys[0]!;
  if (keys.length > 1) {
    const named = keys.slice(0, 8).map(quote).join(", ") + (keys.length > 8 ? ", …" : "");
    throw new ValueError(
      `'where' must have exactly one key, got ${keys.length} (${named}): to combine conditions, store a composite value in one column`,
    );
  }
  const value = where[key];
  if (typeof value === "object" && value !== null) {
    throw new ValueError(
      `the value of ${quote(key)} in 'where' must be a string, a number, true, false or null, got ${describe(value)}`,
    );
  }
  // 1e999 arrives as Infinity, and an integer above 2^53 as its neighbour: neither is what the caller wrote.
  if (
    typeof value === "number" &&
    (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
  ) {
    throw new ValueError(
      `the number for ${quote(key)} in 'where' cannot be kept exactly: store and send it as a string`,
    );
  }
  refuseLoneSurrogate("where", key);
  if (typeof value === "string") refuseLoneSurrogate("where", value);
}

function count(length: number): string {
  return length === 1 ? "1 entry" : `${length} entries`;
}

/** A string in quotes, shortened so that an error stays one line. */
function quote(value: unknown): string {
  const text = String(value).toWellFormed();
  const short = text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text;
  return `'${short.replace(/\p{Cc}/gu, " ")}'`;
}

/** What came, in words. */
function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return `the string ${quote(value)}`;
    case "object":
      return "an object";
    case "undefined":
      return "nothing";
    default:
      return String(value);
  }
}
