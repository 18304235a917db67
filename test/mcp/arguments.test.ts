/** What each verb accepts and how it refuses. One line of a table is one truth. */
import { describe, expect, test } from "bun:test";
import { errorLine } from "../../src/errors.ts";
import { listTools } from "../../src/mcp/tools.ts";
import { parseArguments } from "../../src/memory/arguments.ts";
import { VERBS, type VerbName } from "../../src/memory/requests.ts";
import { CHUNK_DEFAULTS } from "../../src/repo/chunk.ts";

/** The least that each verb accepts. */
const LEAST: Record<VerbName, Record<string, unknown>> = {
  search: { collection: "c", query: "q" },
  add: { collection: "c", texts: ["t"] },
  create_collection: { name: "c" },
  list_collections: {},
  stats: { collection: "c" },
  upsert: { collection: "c", texts: ["t"], ids: ["1"] },
  update: { collection: "c", texts: ["t"], ids: ["1"] },
  delete: { collection: "c", ids: ["1"] },
  ids: { collection: "c" },
  count: { collection: "c" },
  get: { collection: "c", ids: ["1"] },
  search_lexical: { collection: "c", query: "q" },
  compact: { collection: "c" },
  build_ivf: { collection: "c" },
  build_lexical: { collection: "c" },
  tune: { collection: "c" },
  index_repo: {},
  repo_search: { query: "q" },
  workspace_info: {},
};

/** What the least becomes, where something is added to it. */
const DEFAULTS: Partial<Record<VerbName, Record<string, unknown>>> = {
  search: { top_k: 5, with_text: false },
  create_collection: { partition_by: "scope", filter_columns: [], lexical: false },
  upsert: { partition_by: "scope" },
  get: { with_metadata: true, with_text: true },
  search_lexical: { top_k: 5, explain: false, with_text: false },
  build_ivf: { min_rows: 20000, target_recall: 0.98 },
  index_repo: {
    collection: "repo_symbols",
    mode: CHUNK_DEFAULTS.mode,
    window_lines: CHUNK_DEFAULTS.windowLines,
    window_overlap_lines: CHUNK_DEFAULTS.windowOverlapLines,
    max_file_bytes: 0,
    max_files: 0,
    max_seconds: 0,
    force: false,
  },
  repo_search: { top_k: 5, with_text: false, max_seconds: 0 },
};

function refusal(verb: VerbName, raw: unknown): string {
  try {
    parseArguments(verb, raw);
  } catch (error) {
    return errorLine(error);
  }
  return "accepted";
}

describe.each([...VERBS])("svc_%s", (verb) => {
  const least = LEAST[verb];

  test("fills in the defaults", () => {
    expect(parseArguments(verb, least)).toEqual({ ...DEFAULTS[verb], ...least } as never);
  });

  test("refuses an unknown argument and names the known ones", () => {
    for (const name of ["bogus", "__proto__", "constructor", "toString"]) {
      const raw = JSON.parse(
        `{${JSON.stringify(least).slice(1, -1)}${Object.keys(least).length ? "," : ""}"${name}":{}}`,
      );
      const line = refusal(verb, raw);
      expect(line).toStartWith(`ValueError: unknown argument '${name}' of svc_${verb}: it takes `);
      for (const known of Object.keys(least)) expect(line).toContain(known);
    }
  });

  test("misses every required argument by name", () => {
    const required = Object.keys(least);
    for (const name of required) {
      const { [name]: _, ...rest } = least;
      expect(refusal(verb, rest)).toBe(`TypeError: missing required argument '${name}'`);
    }
  });

  test("refuses every argument of a wrong type by name", () => {
    const all = { ...DEFAULTS[verb], ...least };
    for (const name of Object.keys(all)) {
      expect(refusal(verb, { ...least, [name]: { odd: 1 } })).toStartWith(`TypeError: argument '${name}' must be `);
    }
  });

  test("takes null for an optional argument as omitted", () => {
    const nulls = Object.fromEntries(Object.keys(DEFAULTS[verb] ?? {}).map((name) => [name, null]));
    expect(parseArguments(verb, { ...nulls, ...least })).toEqual({ ...DEFAULTS[verb], ...least } as never);
  });

  test("refuses arguments that are no object", () => {
    expect(refusal(verb, [])).toBe(`TypeError: the arguments of svc_${verb} must be an object, got an array`);
    expect(refusal(verb, "x")).toBe(`TypeError: the arguments of svc_${verb} must be an object, got the string 'x'`);
  });
});

const many = Array.from({ length: 10_001 }, () => "x");

const REFUSED: [verb: VerbName, change: Record<string, unknown>, line: string][] = [
  ["search", { top_k: 0 }, "ValueError: argument 'top_k' must be at least 1, got 0"],
  ["search", { top_k: -3 }, "ValueError: argument 'top_k' must be at least 1, got -3"],
  ["search", { top_k: 100_001 }, "ValueError: argument 'top_k' must be at most 100000, got 100001"],
  ["search", { top_k: 2.5 }, "TypeError: argument 'top_k' must be an integer, got 2.5"],
  ["search", { top_k: "5" }, "TypeError: argument 'top_k' must be an integer, got the string '5'"],
  ["search", { top_k: true }, "TypeError: argument 'top_k' must be an integer, got true"],
  ["search", { top_k: Number.POSITIVE_INFINITY }, "ValueError: argument 'top_k' is too large for a number"],
  ["search", { query: null }, "TypeError: argument 'query' must be a string, got null"],
  ["search", { query: 7 }, "TypeError: argument 'query' must be a string, got 7"],
  ["search", { query: "\ud800" }, "ValueError: argument 'query' is not valid Unicode"],
  ["search", { with_text: "yes" }, "TypeError: argument 'with_text' must be true or false, got the string 'yes'"],
  ["search", { where: { a: 1, b: 2 } }, "ValueError: 'where' must have exactly one key, got 2 ('a', 'b')"],
  ["search", { where: [] }, "TypeError: argument 'where' must be an object with one key"],
  ["search", { where: "scope=x" }, "TypeError: argument 'where' must be an object with one key"],
  [
    "search",
    { where: { a: [1] } },
    "ValueError: the value of 'a' in 'where' must be a string, a number, true, false or null, got an array",
  ],
  ["ids", { where: { a: {} } }, "ValueError: the value of 'a' in 'where' must be"],
  [
    "count",
    { where: { a: Number.POSITIVE_INFINITY } },
    "ValueError: the number for 'a' in 'where' cannot be kept exactly",
  ],
  ["count", { where: { a: 2 ** 53 } }, "ValueError: the number for 'a' in 'where' cannot be kept exactly"],
  ["add", { texts: [] }, "ValueError: argument 'texts' is empty: give at least 1"],
  [
    "add",
    { texts: "one" },
    "TypeError: argument 'texts' must be an array of strings (one text is written [\"…\"]), got the string 'one'",
  ],
  ["add", { texts: ["a", 1] }, "TypeError: argument 'texts[1]' must be a string, got 1"],
  [
    "add",
    { texts: many },
    "ValueError: argument 'texts' has 10001 entries, at most 10000 are allowed in one call: split it",
  ],
  ["add", { ids: ["1", "2"] }, "ValueError: 'ids' has 2 entries but 'texts' has 1 entry"],
  ["add", { metadata: [] }, "ValueError: 'metadata' has 0 entries but 'texts' has 1 entry"],
  ["add", { metadata: [[]] }, "TypeError: argument 'metadata[0]' must be an object or null, got an array"],
  [
    "add",
    { metadata: {} },
    "TypeError: argument 'metadata' must be an array with one object or null per text, got an object",
  ],
  ["upsert", { ids: ["1", "2"] }, "ValueError: 'ids' has 2 entries but 'texts' has 1 entry"],
  [
    "upsert",
    { ids: [1.5] },
    "TypeError: argument 'ids[0]' must be a string, or an integer that stands for one, got 1.5",
  ],
  [
    "get",
    { ids: ["a", true] },
    "TypeError: argument 'ids[1]' must be a string, or an integer that stands for one, got true",
  ],
  [
    "get",
    { ids: [null] },
    "TypeError: argument 'ids[0]' must be a string, or an integer that stands for one, got null",
  ],
  [
    "delete",
    { ids: [{}] },
    "TypeError: argument 'ids[0]' must be a string, or an integer that stands for one, got an object",
  ],
  ["delete", { ids: 7 }, "TypeError: argument 'ids' must be an array of strings (one id is written [\"…\"]), got 7"],
  // What JSON.parse makes of 9007199254740993.
  [
    "add",
    { ids: [2 ** 53] },
    "ValueError: argument 'ids[0]' is an integer beyond 2^53 - 1, which arrived as 9007199254740992: send it as a string",
  ],
  ["update", { ids: [-(2 ** 53)] }, "ValueError: argument 'ids[0]' is an integer beyond 2^53 - 1"],
  ["delete", { ids: [1e300] }, "ValueError: argument 'ids[0]' is an integer beyond 2^53 - 1"],
  ["delete", { ids: [Number.NEGATIVE_INFINITY] }, "ValueError: argument 'ids[0]' is an integer beyond 2^53 - 1"],
  ["ids", { after: 0.5 }, "TypeError: argument 'after' must be a string, or an integer that stands for one, got 0.5"],
  ["ids", { after: 2 ** 60 }, "ValueError: argument 'after' is an integer beyond 2^53 - 1"],
  [
    "create_collection",
    { partition_by: [] },
    "ValueError: argument 'partition_by' is a list of 0; rows are grouped by one column",
  ],
  [
    "upsert",
    { partition_by: ["a", "b"] },
    "ValueError: argument 'partition_by' is a list of 2; rows are grouped by one column",
  ],
  [
    "upsert",
    { partition_by: [7] },
    "TypeError: argument 'partition_by' must be a string or a list of one, got a list with a number",
  ],
  [
    "upsert",
    { partition_by: [["a"]] },
    "TypeError: argument 'partition_by' must be a string or a list of one, got a list with an array",
  ],
  ["update", { ids: null }, "TypeError: argument 'ids' must be an array of strings"],
  ["delete", { ids: "1" }, "TypeError: argument 'ids' must be an array of strings (one id is written [\"…\"])"],
  ["delete", { ids: many }, "ValueError: argument 'ids' has 10001 entries"],
  ["get", { ids: ["\udc00"] }, "ValueError: argument 'ids[0]' is not valid Unicode"],
  ["ids", { limit: 0 }, "ValueError: argument 'limit' must be at least 1, got 0"],
  [
    "create_collection",
    { filter_columns: Array(33).fill("c") },
    "ValueError: argument 'filter_columns' has 33 entries, at most 32",
  ],
  ["build_ivf", { target_recall: 0 }, "ValueError: argument 'target_recall' must be above 0, got 0"],
  ["build_ivf", { target_recall: 1.1 }, "ValueError: argument 'target_recall' must be at most 1, got 1.1"],
  ["build_ivf", { min_rows: 1e300 }, "ValueError: argument 'min_rows' must be at most 9007199254740991"],
  ["build_lexical", { b: 2 }, "ValueError: argument 'b' must be at most 1, got 2"],
  ["build_lexical", { k1: -1 }, "ValueError: argument 'k1' must be at least 0, got -1"],
  ["tune", { dry_run: 1 }, "TypeError: argument 'dry_run' must be true or false, got 1"],
  ["index_repo", { mode: "lines" }, "ValueError: argument 'mode' must be one of 'windowed', 'file', got 'lines'"],
  ["index_repo", { mode: 1 }, "TypeError: argument 'mode' must be a string, got 1"],
  ["index_repo", { max_seconds: -1 }, "ValueError: argument 'max_seconds' must be at least 0, got -1"],
  ["repo_search", { query: "q", max_seconds: -1 }, "ValueError: argument 'max_seconds' must be at least 0, got -1"],
];

test.each(REFUSED)("svc_%s refuses %p", (verb, change, line) => {
  expect(refusal(verb, { ...LEAST[verb], ...change })).toStartWith(line);
});

/** JSON as it arrives, and what it stands for. */
const STANDS_FOR: [verb: VerbName, json: string, meant: Record<string, unknown>][] = [
  [
    "add",
    '{"texts":["a","b","c","d"],"ids":[7,"7",-3,9007199254740991]}',
    { ids: ["7", "7", "-3", "9007199254740991"] },
  ],
  ["upsert", '{"texts":["a","b","c"],"ids":[-0,1e3,2.0]}', { ids: ["0", "1000", "2"] }],
  ["update", '{"ids":[-9007199254740991]}', { ids: ["-9007199254740991"] }],
  ["delete", '{"ids":[0,"00"]}', { ids: ["0", "00"] }],
  ["get", '{"ids":[12]}', { ids: ["12"] }],
  ["ids", '{"after":41}', { after: "41" }],
  ["ids", '{"where":{},"after":null}', {}],
  ["search", '{"where":{}}', {}],
  ["search_lexical", '{"where":{}}', {}],
  ["count", '{"where":{}}', {}],
  ["create_collection", '{"partition_by":["scope"]}', { partition_by: "scope" }],
  ["create_collection", '{"partition_by":["tenant"]}', { partition_by: "tenant" }],
  ["upsert", '{"partition_by":["tenant"]}', { partition_by: "tenant" }],
];

test.each(STANDS_FOR)("svc_%s takes %s", (verb, json, meant) => {
  const { where: _, ...given } = { ...LEAST[verb], ...JSON.parse(json) };
  const parsed = parseArguments(verb, { ...LEAST[verb], ...JSON.parse(json) });
  const expected = { ...DEFAULTS[verb], ...given, after: undefined, ...meant };
  expect(parsed).toEqual(expected as never);
});

test("the schemas still say that an id is a string, and where has at most one key", () => {
  for (const { name, inputSchema } of listTools()) {
    const { ids, after, where, partition_by } = inputSchema.properties as Record<string, Record<string, unknown>>;
    if (ids) expect([name, ids.items]).toEqual([name, { type: "string" }]);
    if (where) expect([name, where]).toEqual([name, expect.objectContaining({ type: "object", maxProperties: 1 })]);
    for (const one of [after, partition_by]) if (one) expect([name, one.type]).toEqual([name, "string"]);
  }
});

test("an error quotes a long value shortened and on one line", () => {
  const line = refusal("search", { ...LEAST.search, top_k: `a\nb${"x".repeat(1000)}` });
  expect(line).toStartWith("TypeError: argument 'top_k' must be an integer, got the string 'a bxxx");
  expect(line.length).toBeLessThan(160);
});

test("a __proto__ key in metadata or a filter stays plain data and pollutes nothing", () => {
  const raw = JSON.parse('{"collection":"c","texts":["t"],"metadata":[{"__proto__":{"polluted":1},"a":2}]}');
  const [row] = parseArguments("add", raw).metadata!;
  expect(JSON.stringify(row)).toBe('{"__proto__":{"polluted":1},"a":2}');
  expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  const where = parseArguments("count", JSON.parse('{"collection":"c","where":{"__proto__":"x"}}')).where!;
  expect(Object.entries(where)).toEqual([["__proto__", "x"]]);
});

test("ids: null lets svc_upsert generate them; null metadata rows are kept", () => {
  const parsed = parseArguments("upsert", { collection: "c", texts: ["t"], ids: null, metadata: [null] });
  expect(parsed).toEqual({ collection: "c", texts: ["t"], ids: null, metadata: [null], partition_by: "scope" });
});
