/** What `svc mem` takes on a command line, and the arguments of the tools that it becomes. */
import { shown } from "../../checks/kinds.ts";
import { DEFAULT_PARTITION_KEY } from "../../checks/names.ts";
import { readWrittenValue } from "../../checks/where.ts";
import { ENGINE } from "../access/engine.ts";
import { REMOTE } from "../access/remote.ts";
import {
  type Arg,
  type Args,
  type Invocation,
  number,
  string,
  strings,
  UsageError,
  type Values,
} from "../terminal/command.ts";
import { readSource } from "../terminal/input.ts";
import { isTerminal } from "../terminal/output.ts";
import { withMissing } from "../terminal/shell-words.ts";

/** The positional that nearly every verb begins with. */
export const COLLECTION = { type: "positional", description: "name of the collection" } as const;

/** Argument of the verbs about the named collections, or about all. */
export const ONLY_COLLECTIONS = {
  type: "positional",
  required: false,
  repeatable: true,
  completes: "collection",
  description: "only these collections",
} as const satisfies Arg;

/** A flag's number. @throws UsageError where it is not a whole number from `least` */
export function whole(value: number | undefined, name: string, least: number): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return value;
  throw new UsageError(`--${name}: '${value}' must be a whole number from ${least}`);
}

const ID_FLAGS = {
  id: strings("ID", "id of a row, in the order of the rows"),
  ids: string("ID,ID", "several ids, separated by commas"),
} as const satisfies Args;

/** Arguments of the verbs that take ids. */
export const ID_ARGS = {
  collection: COLLECTION,
  "row-id": {
    type: "positional",
    required: false,
    repeatable: true,
    description: "ids of the rows; - reads one a line from stdin",
  },
  ...ID_FLAGS,
} as const satisfies Args;

/** Arguments of the verbs that take texts. */
export const TEXT_ARGS = {
  collection: COLLECTION,
  text: {
    type: "positional",
    required: false,
    repeatable: true,
    description: "each argument is one text; - takes one from stdin",
  },
  file: strings("FILE", "take the text from a file"),
  lines: { type: "boolean", description: "files and stdin hold one text per line" },
  ...ID_FLAGS,
  metadata: strings("JSON", "one object for all texts, or an array with one object per text"),
} as const satisfies Args;

/** The positional of the verbs that search. */
export const QUERY = { type: "positional", description: "what to look for, in plain words" } as const;

/** Flag of the verbs that filter. */
export const WHERE = strings(
  "COLUMN=VALUE",
  'only rows whose column equals the value; numbers, true, false and null as in JSON, "1" for the text 1',
);

/** Flags of a search that prefers newer rows. */
export const RECENCY_FLAGS = {
  "recency-field": string("FIELD", "prefer newer rows by updated, created, or a metadata field that holds times"),
  "recency-half-life-days": number("N", "age at which a row keeps half of the preference"),
  "recency-weight": number("N", "what a new row gains in score, at most 0.3"),
  "recency-now": string("TIME", "ages are measured at this time (time of the newest candidate)"),
} as const satisfies Args;

/** Flags of the verbs that list rows by when they were updated. */
export const TIME_FLAGS = {
  since: string("TIME", "only rows updated then or later: 2026-11-22, 2026-11-22T14:30Z, or milliseconds since 1970"),
  until: string("TIME", "only rows updated before this time"),
  newest: number("N", "only the N last updated rows, the latest first"),
} as const satisfies Args;

/** The column that rows of a new collection are grouped by. */
const PARTITION_BY = string(
  "COLUMN",
  `metadata column that rows of a new collection are grouped by (${DEFAULT_PARTITION_KEY})`,
);

/** Everything that is fixed when a collection is made. */
export const SCHEMA_FLAGS = {
  "partition-by": PARTITION_BY,
  "filter-column": strings("COLUMN", "a further metadata column that --where may name"),
  "filter-columns": string("A,B", "several such columns, separated by commas"),
  lexical: { type: "boolean", description: "allow search by word alone (svc mem build-lexical)" },
} as const satisfies Args;

/** Flag of the commands that make or alter a collection. */
export const MEANING = {
  type: "enum",
  options: ["on", "off"],
  description: "on: search by meaning as well; off: by words only, and delete the vectors of meaning",
} as const satisfies Arg;

/** Its value; undefined where it is not given. */
export function isOn(written: string | undefined): boolean | undefined {
  return written === undefined ? undefined : written === "on";
}

/** What is written, as arguments of the tool: each under its own name, but for the flags that are not arguments. */
export function toolArguments(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { path, json, workspace, where, pager, ...further } = args;
  const named = Object.entries(further).filter(([name]) => !(name in REMOTE) && !(name in ENGINE));
  const renamed = named.map(([name, value]) => [name.replaceAll("-", "_"), value]);
  return { ...Object.fromEntries(renamed), where: readWhere(where as readonly string[] | undefined) };
}

/** SCHEMA_FLAGS as arguments of create_collection. */
export function schemaArguments(args: Values<typeof SCHEMA_FLAGS>) {
  const filter_columns = [...args["filter-column"], ...listed(args["filter-columns"])];
  return {
    partition_by: args["partition-by"],
    filter_columns: filter_columns.length > 0 ? filter_columns : undefined,
    lexical: args.lexical,
  };
}

/**
 * TEXT_ARGS as arguments of a tool; the texts are arguments, files, `-` for stdin, and stdin too where nothing else is
 * given.
 */
export async function textArguments({ args, signal, name }: Written<typeof TEXT_ARGS> & Pick<Invocation, "name">) {
  const split = args.lines === true;
  const texts: string[] = [];
  if (args.text.length === 0 && args.file.length === 0) {
    const command = withMissing(name, args.collection, "NAME", "TEXT");
    const hint = `, and ${shown(args.collection)} was taken for the collection: type ${command}, or give a text with --file or on stdin`;
    if (isTerminal(0)) throw new UsageError(`no text is given${hint}`);
    texts.push(...(await readSource("-", split, signal, hint)));
  }
  for (const word of args.text) texts.push(...(word === "-" ? await readSource("-", split, signal) : [word]));
  for (const file of args.file) texts.push(...(await readSource(file, split, signal)));
  const ids = flagIds(args);
  const metadata = readMetadata(args.metadata, texts.length);
  return { collection: args.collection, texts, ids: ids.length > 0 ? ids : undefined, metadata };
}

/** The ids in ID_ARGS: arguments, then flags; `-` reads one a line from stdin. */
export async function readIds({ args, signal }: Written<typeof ID_ARGS>): Promise<string[]> {
  const ids: string[] = [];
  for (const word of args["row-id"]) ids.push(...(word === "-" ? await readSource("-", true, signal) : [word]));
  ids.push(...flagIds(args));
  if (ids.length === 0) {
    const what = `no id in collection ${shown(args.collection)}`;
    throw new UsageError(`${what}: give ids as arguments, or - to read one a line from stdin`);
  }
  return ids;
}

/** The filter as a tool takes it. More than one column is passed on, to be refused with the tool's own words. */
export function readWhere(values: readonly string[] = []): Record<string, unknown> | undefined {
  if (values.length === 0) return undefined;
  const pairs = values.map((value): [string, unknown] => {
    const equals = value.indexOf("=");
    if (equals < 1) throw new UsageError(`--where: '${value}' is not COLUMN=VALUE`);
    return [value.slice(0, equals), readWrittenValue(value.slice(equals + 1))];
  });
  const columns = new Set(pairs.map(([column]) => column));
  if (columns.size < pairs.length) throw new UsageError("--where names a column twice");
  return Object.fromEntries(pairs);
}

/** RECENCY_FLAGS as the argument of a tool; undefined where none of them is given. */
export function recencyArgument(args: Values<typeof RECENCY_FLAGS>): Record<string, unknown> | undefined {
  const [field, half_life_days] = [args["recency-field"], args["recency-half-life-days"]];
  const recency = { field, half_life_days, weight: args["recency-weight"], now: time(args["recency-now"]) };
  return Object.values(recency).some((part) => part !== undefined) ? recency : undefined;
}

/** The other flags of a search. */
export function withoutRecency<T extends object>(args: T): Omit<T, keyof typeof RECENCY_FLAGS> {
  const others = Object.entries(args).filter(([name]) => !Object.hasOwn(RECENCY_FLAGS, name));
  return Object.fromEntries(others) as Omit<T, keyof typeof RECENCY_FLAGS>;
}

/** TIME_FLAGS as arguments of a tool: digits alone are milliseconds. */
export function timeArguments({ since, until, newest }: Values<typeof TIME_FLAGS>): Record<string, unknown> {
  return { since: time(since), until: time(until), newest };
}

/** A time as it is written: digits alone are milliseconds. */
export function time(written: string | undefined): number | string | undefined {
  return written !== undefined && /^\d+$/.test(written) ? Number(written) : written;
}

/** The part of an invocation that reads a command line to its end. */
interface Written<T extends Args> {
  readonly args: Values<T>;
  readonly signal: AbortSignal;
}

function listed(value: string | undefined): string[] {
  return value?.split(",").map((part) => part.trim()) ?? [];
}

function flagIds({ id, ids }: Values<typeof ID_FLAGS>): string[] {
  return [...id, ...listed(ids)];
}

/** One metadata object a text: the only one given goes to every text. */
function readMetadata(values: readonly string[], texts: number): unknown[] | undefined {
  if (values.length === 0) return undefined;
  const parsed = values.map((value): unknown => {
    try {
      return JSON.parse(value);
    } catch {
      throw new UsageError(`--metadata: '${value.slice(0, 80)}' is not JSON`);
    }
  });
  if (parsed.length > 1) return parsed;
  return Array.isArray(parsed[0]) ? parsed[0] : Array.from({ length: texts }, () => parsed[0]);
}
