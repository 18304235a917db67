/**
 * Every wrong value that a caller may give, and the one sentence that each has, whichever way it comes. A row that a
 * transport cannot carry says why; whatever no rule and no row excludes is sent.
 */
import type { ErrorType } from "../../src/errors.ts";

/** The ways in: tools, `svc mem`, a collection of this process, raw frames, the client, the Python client. */
export const TRANSPORTS = ["mcp", "terminal", "sdk", "wire", "client", "python"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** What a value is given as. */
export type Kind = keyof typeof ARGUMENTS;

/** By kind, how each transport calls the argument; a transport that does not take it is left out. */
export const ARGUMENTS = {
  /** Rows to add, of four numbers. */
  vectors: { sdk: "vectors", wire: "vectors", client: "vectors", python: "vectors" },
  /** A question of four numbers. */
  vector: { sdk: "vector", wire: "vector", client: "vector", python: "vector" },
  texts: all("texts", { terminal: undefined }),
  text: { mcp: "query", sdk: "text", wire: "text", client: "text", python: "text" },
  /** Of rows to delete. */
  ids: all("ids", { terminal: undefined }),
  /** Beside one row. */
  idsOfRow: all("ids"),
  /** Beside two rows. */
  twice: all("ids"),
  metadata: all("metadata"),
  where: all("where"),
  topK: { mcp: "top_k", terminal: "--top-k", sdk: "topK", wire: "top_k", client: "topK", python: "top_k" },
  /** A collection's name. */
  name: { mcp: "collection", sdk: "name", wire: "collection", client: "name", python: "name" },
  dim: { sdk: "dim", wire: "dim", client: "dim", python: "dim" },
  dtype: { sdk: "dtype", wire: "dtype", client: "dtype", python: "dtype" },
  metric: { sdk: "metric", wire: "metric", client: "metric", python: "metric" },
  partitionBy: {
    mcp: "partition_by",
    sdk: "partitionBy",
    wire: "partition_by",
    client: "partitionBy",
    python: "partition_by",
  },
  filterColumns: {
    mcp: "filter_columns",
    sdk: "filterColumns",
    wire: "filter_columns",
    client: "filterColumns",
    python: "filter_columns",
  },
  minRows: { mcp: "min_rows", terminal: "--min-rows", sdk: "minRows" },
  targetRecall: { mcp: "target_recall", terminal: "--target-recall", sdk: "targetRecall" },
  k1: { mcp: "k1", terminal: "--k1", sdk: "k1" },
  b: { mcp: "b", terminal: "--b", sdk: "b" },
  limit: { mcp: "limit", terminal: "--limit" },
  flag: { mcp: "with_text", wire: "explain" },
} satisfies Record<string, Partial<Record<Transport, string | undefined>>>;

/** One wrong value. */
export interface WrongValue {
  kind: Kind;
  value: unknown;
  type: ErrorType;
  /** What the message says; `{name}` is what the transport calls the argument. */
  sentence: string;
  /** Where the value cannot come, or is not wrong, and why. */
  unless: Partial<Record<Transport, string>>;
  /** The value in Python, where it is not what stands in JSON. */
  python?: string;
}

const rows: WrongValue[] = [];

/** Values of one kind that have one type and, but for what came, one sentence. */
function wrong(
  kind: Kind,
  type: ErrorType,
  sentence: string,
  values: readonly (readonly [value: unknown, came?: string, unless?: WrongValue["unless"], python?: string])[],
): void {
  for (const [value, came = "", unless = {}, python] of values) {
    rows.push({ kind, value, type, sentence: sentence.replace("{came}", came), unless, python });
  }
}

const PACKED = { wire: "an object is a vector or matrix in base64 there, and its own members are named" };
const HOLE = [undefined, [1, 2, 3, 4]];
const NOT_FINITE = "is NaN or infinite; a vector holds numbers that are finite in single precision";

wrong("vectors", "TypeError", "{name} must be an array of vectors, got {came}", [
  ["x", "the string 'x'"],
  [7, "7"],
  [true, "true"],
  [null, "null"],
  [{}, "an object", PACKED],
]);
wrong("vectors", "TypeError", "{name}[0] must be an array of numbers, got {came}", [
  [[1, 2, 3, 4], "1"],
  [[null], "null"],
  [["ab"], "the string 'ab'"],
  [[true], "true"],
  [[{}], "an object", PACKED],
  [HOLE, "nothing"],
]);
wrong("vectors", "TypeError", "{name}[0][1] must be a number, got {came}", [
  [[[1, "2", 3, 4]], "the string '2'"],
  [[[1, null, 3, 4]], "null"],
  [[[1, [2], 3, 4]], "an array"],
  [[[1, {}, 3, 4]], "an object"],
  [[[1, true, 3, 4]], "true", { python: "True is a number" }],
  [[[1, 2n, 3, 4]], "a bigint"],
]);
wrong("vectors", "ValueError", "{name}[{came} numbers; the dimension is 4", [
  [[[1, 2, 3]], "0] has 3"],
  [[[]], "0] has 0"],
  [[[1, 2, 3, 4], [1]], "1] has 1"],
  [[[1], [1, 2, 3, 4]], "0] has 1"],
  [[new Float32Array(5)], "0] has 5"],
]);
wrong("vectors", "ValueError", "{name} holds 5 numbers, which is not a multiple of the dimension 4", [
  [new Float32Array(5), "", { python: "a flat buffer without ids is one row" }],
]);
wrong("vectors", "ValueError", `{name}[0][1] ${NOT_FINITE}`, [
  [[[1, Number.NaN, 3, 4]]],
  [[[1, Number.POSITIVE_INFINITY, 3, 4]]],
  [[[1, -1e39, 3, 4]]],
  [Float32Array.of(1, Number.NaN, 3, 4)],
  [[Float32Array.of(1, Number.NEGATIVE_INFINITY, 3, 4)]],
]);

wrong("vector", "TypeError", "{name} must be an array of numbers, got {came}", [
  ["x", "the string 'x'"],
  [7, "7"],
  [true, "true"],
  [null, "null"],
  [{}, "an object", PACKED],
]);
wrong("vector", "TypeError", "{name}[{came}", [
  [[1, "2", 3, 4], "1] must be a number, got the string '2'"],
  [[1, null, 3, 4], "1] must be a number, got null"],
  [[1, 2, true, 4], "2] must be a number, got true", { python: "True is a number" }],
  [
    [
      [1, 2],
      [3, 4],
    ],
    "0] must be a number, got an array",
  ],
  [[undefined, 2, 3, 4], "0] must be a number, got nothing"],
]);
wrong("vector", "ValueError", "{name} has {came} numbers; the dimension is 4", [
  [[1, 2, 3], "3"],
  [[[1, 2, 3]], "3"],
  [[], "0"],
  [new Float32Array(5), "5"],
]);
wrong("vector", "ValueError", `{name}[1] ${NOT_FINITE}`, [
  [[1, Number.NaN, 3, 4]],
  [[1, Number.POSITIVE_INFINITY, 3, 4]],
  [[1, 1e39, 3, 4]],
  [[[1, 1e39, 3, 4]]],
  [Float32Array.of(1, Number.NaN, 3, 4)],
]);

const STRINGS = '{name} must be an array of strings, as in ["a", "b"], got {came}';
wrong("texts", "TypeError", STRINGS, [
  ["x", "the string 'x'"],
  [7, "7"],
  [null, "null"],
  [{}, "an object"],
]);
wrong("texts", "TypeError", "{name}[0] must be a string, got {came}", [
  [[7], "7"],
  [[null], "null"],
  [[true], "true"],
  [[["a"]], "an array"],
  [[undefined, "a"], "nothing"],
]);
const HALF = "holds half of a surrogate pair, which UTF-8 cannot hold: remove it";
wrong("texts", "ValueError", `{name}[1] ${HALF}`, [[["a", "b\ud800"]]]);
wrong("texts", "ValueError", "{name}[0] has 16777217 bytes of UTF-8; the limit is 16777216: store it in parts", [
  [["x".repeat(2 ** 24 + 1)], "", {}, '["x" * (2**24 + 1)]'],
]);

wrong("text", "TypeError", "{name} must be a string, got {came}", [
  [7, "7"],
  [null, "null"],
  [true, "true"],
  [["a"], "an array"],
  [{}, "an object"],
]);
wrong("text", "ValueError", `{name} ${HALF}`, [["\udc00"]]);

wrong("ids", "TypeError", STRINGS, [
  ["a", "the string 'a'"],
  [7, "7"],
  [{}, "an object"],
  [true, "true"],
]);
wrong("ids", "TypeError", "{name}[1] must be a string, or an integer that stands for one, got {came}", [
  [["a", null], "null"],
  [["a", true], "true"],
  [["a", 1.5], "1.5"],
  [["a", Number.NaN], "NaN"],
  [["a", ["a"]], "an array"],
  [["a", {}], "an object"],
  [["a", undefined], "nothing"],
  [["a", 7n], "a bigint"],
]);
wrong("ids", "ValueError", "{name}[0] is an integer beyond 2^53 - 1, which arrived as {came}: send it as a string", [
  [[2 ** 53], "9007199254740992"],
  [[-(2 ** 53)], "-9007199254740992"],
  [[1e300], "1e+300", { python: "1e300 is a float, and no integer" }],
  [[Number.POSITIVE_INFINITY], "Infinity"],
]);
wrong("ids", "ValueError", "{name}[0] {came}", [
  [[""], "is empty: an id has 1 to 512 bytes"],
  [["a\0b"], "holds a NUL character, which an id cannot hold: remove it"],
  [["\ud800"], HALF],
  [["x".repeat(513)], "has 513 bytes of UTF-8; the limit is 512"],
  [["é".repeat(257)], "has 514 bytes of UTF-8; the limit is 512"],
]);
wrong("idsOfRow", "ValueError", "{name} has {came}: give one for each row", [[["a", "b"], "2 entries for 1 row"]]);
wrong("idsOfRow", "ValueError", "{name}[0] has 513 bytes of UTF-8; the limit is 512", [[["x".repeat(513)]]]);
wrong("idsOfRow", "TypeError", "{name}[0] must be a string, or an integer that stands for one, got {came}", [
  [[true], "true", { terminal: "ids are words there" }],
]);
wrong("idsOfRow", "KeyError", "this id exists already or stands twice in the call, nothing was added: '{came}'", [
  [["seed"], "seed", { terminal: "the rows lie in another process" }],
]);
wrong("twice", "ValueError", "{name} has {came}: give one for each row", [[["a"], "1 entry for 2 rows"]]);
wrong("twice", "KeyError", "this id exists already or stands twice in the call, nothing was added: '{came}'", [
  [["a", "a"], "a"],
  [[7, "7"], "7"],
]);

const ONE_GOES_TO_ALL = { terminal: "what is not an array goes to every text there" };
wrong("metadata", "TypeError", "{name} must be an array with one object or null for each row, got {came}", [
  ["x", "the string 'x'", ONE_GOES_TO_ALL],
  [7, "7", ONE_GOES_TO_ALL],
  [{}, "an object", ONE_GOES_TO_ALL],
]);
wrong("metadata", "TypeError", "{name}[0] must be an object or null, got {came}", [
  [["x"], "the string 'x'"],
  [[7], "7"],
  [[[]], "an array"],
  [[true], "true"],
]);
wrong("metadata", "ValueError", "{name} has {came}: give one for each row", [
  [[], "0 entries for 1 row"],
  [[{}, {}], "2 entries for 1 row"],
]);
wrong("metadata", "ValueError", "{name}[0].{came}; JSON has no such number", [
  [[{ a: Number.NaN }], "a is NaN"],
  [[{ a: { b: [0, Number.POSITIVE_INFINITY] } }], "a.b[1] is Infinity"],
]);
const DIGITS = "beyond 2^53, where integers lose digits: write it as a string";
wrong("metadata", "ValueError", `{name}[0].a is {came}, ${DIGITS}`, [
  [[{ a: 2 ** 53 }], "9007199254740992"],
  [[{ a: -1e300 }], "-1e+300"],
]);
wrong("metadata", "ValueError", "{name}[0]{came} is nested deeper than 16 levels", [
  [[JSON.parse(`${'{"a":'.repeat(17)}1${"}".repeat(17)}`)], ".a".repeat(16)],
]);
wrong("metadata", "ValueError", "{name}[0] has {came} bytes as JSON; the limit is 65536", [
  [[{ scope: "s", text: "x".repeat(2 ** 16) }], "65559"],
]);
wrong("metadata", "TypeError", "{name}[0].a is a {came}, which JSON does not have: write it as a string", [
  [[{ a: 1n }], "bigint"],
  [[{ a: () => 1 }], "function"],
]);

wrong("where", "TypeError", '{name} must be an object with one key, as in {"scope": "work"}, got {came}', [
  ["x", "the string 'x'", { terminal: "COLUMN=VALUE is read there" }],
  [7, "7", { terminal: "COLUMN=VALUE is read there" }],
  [true, "true", { terminal: "COLUMN=VALUE is read there" }],
  [[], "an array", { terminal: "COLUMN=VALUE is read there" }],
]);
wrong(
  "where",
  "ValueError",
  "{name} has {came}: give one; to combine conditions, store a composite value in one column",
  [
    [{ kind: 1, scope: 2 }, "2 keys ('kind', 'scope')"],
    [new Map([["kind", 1]]), "0 keys ()"],
  ],
);
wrong("where", "ValueError", "{name}.kind must be a string, a number, true, false or null, got {came}", [
  [{ kind: [1] }, "an array", { terminal: "a list is a word there" }],
  [{ kind: {} }, "an object", { terminal: "an object is a word there" }],
  [{ kind: 1n }, "a bigint"],
]);
wrong("where", "ValueError", "{name}.kind is {came}; JSON has no such number", [
  [{ kind: Number.NaN }, "NaN"],
  [{ kind: Number.NEGATIVE_INFINITY }, "-Infinity"],
]);
wrong("where", "ValueError", `{name}.kind is {came}, ${DIGITS}`, [[{ kind: 2 ** 53 }, "9007199254740992"]]);
wrong("where", "ValueError", `{name}.kind ${HALF}`, [[{ kind: "\ud800" }]]);
wrong("where", "ValueError", `a key of {name} ${HALF}`, [[{ "\ud800": 1 }]]);
wrong("where", "ValueError", "column 'other' is not a filter column of this collection; it has 'scope', 'kind'", [
  [{ other: 1 }],
]);

const A_NUMBER = { terminal: "what is not a number is wrong usage there" };
const HITS = "{name} must be an integer from 1 to 100000, got {came}";
const CLAMPED = { sdk: "clamped", wire: "clamped", client: "clamped", python: "clamped" };
wrong("topK", "TypeError", HITS, [
  ["5", "the string '5'", A_NUMBER],
  [true, "true", A_NUMBER],
  [[], "an array", A_NUMBER],
  [2.5, "2.5"],
]);
wrong("topK", "ValueError", HITS, [
  [Number.NaN, "NaN"],
  [0, "0", CLAMPED],
  [100_001, "100001", CLAMPED],
  [Number.POSITIVE_INFINITY, "Infinity", { ...CLAMPED, ...A_NUMBER }],
]);

wrong("name", "TypeError", "{name} must be a string, got {came}", [
  [7, "7"],
  [null, "null", { wire: "it counts as left out, and the operation says that it needs one" }],
  [[], "an array"],
]);
wrong("name", "ValueError", `{name} ${HALF}`, [["\ud800"]]);
wrong("name", "ValueError", "collection name '{came}", [
  ["", "' is empty: give it a name of 1 to 128 bytes"],
  [".hidden", ".hidden' starts with a dot: choose another first character"],
  ["a/b", "a/b' holds a path separator: a name is one path component"],
  ["a\0b", "a\\u0000b' holds a control character"],
  ["x".repeat(129), `${"x".repeat(77)}...' is longer than 128 bytes of UTF-8`],
]);

wrong("dim", "TypeError", "{name} must be an integer from 1 to 65536, got {came}", [
  ["8", "the string '8'"],
  [true, "true"],
  [[], "an array"],
  [2.5, "2.5"],
]);
wrong("dim", "ValueError", "{name} must be an integer from 1 to 65536, got {came}", [
  [0, "0"],
  [-1, "-1"],
  [65_537, "65537"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "Infinity"],
]);
for (const [kind, words] of [
  ["dtype", "f32, f16, int8, int4"],
  ["metric", "inner_product, cosine, l2"],
] as const) {
  wrong(kind, "TypeError", "{name} must be a string, got {came}", [
    [7, "7"],
    [["f32"], "an array"],
  ]);
  wrong(kind, "ValueError", `{name} must be one of ${words}, got {came}`, [
    ["f64", "'f64'"],
    ["", "''"],
  ]);
}
wrong("partitionBy", "TypeError", "{name} must be a string, got {came}", [
  [7, "7"],
  [{}, "an object"],
]);
wrong("partitionBy", "TypeError", "{name}[0] must be a string, got {came}", [[[7], "7"]]);
wrong("partitionBy", "ValueError", "{name} is a list of {came}; rows are grouped by one column: give one name", [
  [[], "0"],
  [["a", "b"], "2"],
]);
const COLUMN = "column name '{came}' must have 1 to 128 bytes of UTF-8 and no control character";
wrong("partitionBy", "ValueError", COLUMN, [
  ["", ""],
  ["a\nb", "a\\nb"],
]);
wrong("filterColumns", "TypeError", STRINGS, [
  ["a", "the string 'a'"],
  [7, "7"],
  [{}, "an object"],
]);
wrong("filterColumns", "TypeError", "{name}[0] must be a string, got {came}", [
  [[7], "7"],
  [[null], "null"],
]);
wrong("filterColumns", "ValueError", COLUMN, [[["x".repeat(129)], `${"x".repeat(77)}...`]]);

wrong("flag", "TypeError", "{name} must be true or false, got {came}", [
  [1, "1"],
  ["yes", "the string 'yes'"],
]);

for (const [kind, words, tooLow] of [
  ["minRows", "an integer of at least 0", -1],
  ["limit", "an integer of at least 1", 0],
  ["targetRecall", "a number above 0 and at most 1", 0],
  ["k1", "a number of at least 0", -0.5],
  ["b", "a number from 0 to 1", -0.5],
] as const) {
  const sentence = `{name} must be ${words}, got {came}`;
  wrong(kind, "TypeError", sentence, [
    ["1", "the string '1'", A_NUMBER],
    [true, "true", A_NUMBER],
    [[1], "an array", A_NUMBER],
  ]);
  if (kind === "minRows" || kind === "limit") wrong(kind, "TypeError", sentence, [[1.5, "1.5"]]);
  else wrong(kind, "ValueError", sentence, [[Number.NaN, "NaN"]]);
  wrong(kind, "ValueError", sentence, [
    [tooLow, String(tooLow)],
    [Number.POSITIVE_INFINITY, "Infinity", A_NUMBER],
  ]);
}
wrong("targetRecall", "ValueError", "{name} must be a number above 0 and at most 1, got {came}", [[1.1, "1.1"]]);
wrong("b", "ValueError", "{name} must be a number from 0 to 1, got {came}", [[2, "2"]]);

/** The table. */
export const WRONG_VALUES: readonly WrongValue[] = rows;

/** Why a transport cannot carry a row; undefined where it can. */
export function excluded(transport: Transport, { kind, value, unless }: WrongValue): string | undefined {
  const names: Partial<Record<Transport, string | undefined>> = ARGUMENTS[kind];
  if (names[transport] === undefined) return "it takes no such argument";
  if (unless[transport] !== undefined) return unless[transport];
  if (transport === "sdk" || transport === "client") return undefined;
  if (holds(value, (one) => one === undefined)) return "only JavaScript has undefined";
  if (holds(value, (one) => typeof one === "bigint" || typeof one === "function" || one instanceof Map)) {
    return "the value is of JavaScript's own kind";
  }
  if (transport === "python") return undefined;
  if (holds(value, (one) => Number.isNaN(one))) return "JSON has no NaN";
  if (transport !== "terminal") return undefined;
  if (holds(value, (one) => typeof one === "string" && (one.includes("\0") || !one.isWellFormed()))) {
    return "no word of a command line holds it";
  }
  return undefined;
}

/** The row's sentence as a transport says it. */
export function expected(transport: Transport, { kind, type, sentence }: WrongValue): string {
  const names: Partial<Record<Transport, string | undefined>> = ARGUMENTS[kind];
  return `${type}: ${sentence.replaceAll("{name}", names[transport]!)}`;
}

/** A value as JSON writes it: infinities as numbers that no double holds, floats in base64. */
export function toJson(value: unknown): string {
  if (value instanceof Float32Array) {
    return JSON.stringify({ f32: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") });
  }
  if (typeof value === "number" && !Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${toJson(item)}`)}}`;
}

/** A value as Python writes it. */
export function toPython(value: unknown): string {
  if (value instanceof Float32Array) return `array("f", ${toPython(Array.from(value))})`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" && !Number.isFinite(value)) return `float("${value}")`;
  if (Array.isArray(value)) return `[${value.map(toPython).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${toPython(item)}`)}}`;
}

function all<T extends object>(name: string, others: T = {} as T) {
  return { mcp: name, terminal: name, sdk: name, wire: name, client: name, python: name, ...others };
}

function holds(value: unknown, is: (value: unknown) => boolean): boolean {
  if (is(value)) return true;
  if (Array.isArray(value)) return Array.from(value).some((one) => holds(one, is));
  if (typeof value !== "object" || value === null || value instanceof Map) return false;
  return Object.entries(value).some(([key, one]) => is(key) || holds(one, is));
}
