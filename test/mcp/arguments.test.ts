/** What each verb accepts and how it refuses, one case a line. */
import { describe, expect, test } from "bun:test";
import { errorLine } from "../../src/errors.ts";
import { listTools } from "../../src/mcp/tools.ts";
import { parseArguments } from "../../src/memory/arguments.ts";
import { VERBS, type VerbName } from "../../src/memory/requests.ts";

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
  search: { top_k: 5, with_text: false, with_times: false, with_neighbours: false, with_score: false },
  create_collection: { partition_by: "scope", filter_columns: [], lexical: false },
  upsert: { partition_by: "scope" },
  get: { with_metadata: true, with_text: true, offset: 0 },
  search_lexical: { top_k: 5, explain: false, with_text: false, with_times: false, with_neighbours: false },
  build_ivf: { min_rows: 20000, target_recall: 0.98 },
  index_repo: {
    collection: "repo_symbols",
    max_files: 0,
    max_seconds: 0,
    force: false,
    dry_run: false,
  },
  repo_search: {
    collection: "repo_symbols",
    top_k: 5,
    form: "lines",
    per_file: 1,
    with_text: false,
    with_times: false,
    max_seconds: 0,
    max_bytes: 6000,
  },
};
for (const verb of VERBS) DEFAULTS[verb] = { max_bytes: 24_000, ...DEFAULTS[verb] };

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
      expect(refusal(verb, { ...least, [name]: { odd: 1 } })).toStartWith(`TypeError: ${name} must be `);
    }
  });

  test("takes null for an optional argument as omitted", () => {
    const nulls = Object.fromEntries(Object.keys(DEFAULTS[verb] ?? {}).map((name) => [name, null]));
    expect(parseArguments(verb, { ...nulls, ...least })).toEqual({ ...DEFAULTS[verb], ...least } as never);
  });

  test("refuses arguments that are not an object", () => {
    expect(refusal(verb, [])).toBe(`TypeError: the arguments of svc_${verb} must be an object, got an array`);
    expect(refusal(verb, "x")).toBe(`TypeError: the arguments of svc_${verb} must be an object, got the string 'x'`);
  });
});

const many = Array.from({ length: 10_001 }, () => "x");

/** What the schemas of the verbs say beyond the kinds of values, which test/checks/wrong-values.ts lists. */
const REFUSED: [verb: VerbName, change: Record<string, unknown>, line: string][] = [
  ["search", { top_k: 0 }, "ValueError: top_k must be an integer from 1 to 100000, got 0"],
  ["search", { top_k: 100_001 }, "ValueError: top_k must be an integer from 1 to 100000, got 100001"],
  [
    "search",
    { top_k: Number.POSITIVE_INFINITY },
    "ValueError: top_k must be an integer from 1 to 100000, got Infinity",
  ],
  ["search", { query: null }, "TypeError: query must be a string, got null"],
  ["search", { with_text: "yes" }, "TypeError: with_text must be true or false, got the string 'yes'"],
  ["add", { texts: [] }, "ValueError: texts is empty: give at least 1"],
  ["add", { texts: many }, "ValueError: texts has 10001 entries; the limit is 10000 in one call: split it"],
  ["add", { ids: ["1", "2"] }, "ValueError: ids has 2 entries for 1 row: give one for each row"],
  ["add", { metadata: [] }, "ValueError: metadata has 0 entries for 1 row: give one for each row"],
  ["upsert", { ids: ["1", "2"] }, "ValueError: ids has 2 entries for 1 row: give one for each row"],
  ["upsert", { ids: [1.5] }, "TypeError: ids[0] must be a string, or an integer that stands for one, got 1.5"],
  // What JSON.parse makes of 9007199254740993.
  ["add", { ids: [2 ** 53] }, "ValueError: ids[0] is an integer beyond 2^53 - 1, which arrived as 9007199254740992"],
  ["delete", { ids: [1e300] }, "ValueError: ids[0] is an integer beyond 2^53 - 1"],
  ["ids", { after: 0.5 }, "TypeError: after must be a string, or an integer that stands for one, got 0.5"],
  ["ids", { after: 2 ** 60 }, "ValueError: after is an integer beyond 2^53 - 1"],
  [
    "create_collection",
    { partition_by: [] },
    "ValueError: partition_by is a list of 0; rows are grouped by one column",
  ],
  ["upsert", { partition_by: ["a", "b"] }, "ValueError: partition_by is a list of 2; rows are grouped by one column"],
  ["upsert", { partition_by: [7] }, "TypeError: partition_by[0] must be a string, got 7"],
  ["upsert", { partition_by: [["a"]] }, "TypeError: partition_by[0] must be a string, got an array"],
  ["update", { ids: null }, 'TypeError: ids must be an array of strings, as in ["a", "b"], got null'],
  ["delete", { ids: many }, "ValueError: ids has 10001 entries; the limit is 10000 in one call"],
  ["ids", { limit: 0 }, "ValueError: limit must be an integer of at least 1, got 0"],
  [
    "create_collection",
    { filter_columns: Array(33).fill("c") },
    "ValueError: filter_columns has 33 entries; the limit is",
  ],
  ["build_ivf", { target_recall: 0 }, "ValueError: target_recall must be a number above 0 and at most 1, got 0"],
  ["build_ivf", { min_rows: 1e300 }, "ValueError: min_rows must be an integer of at least 0, got 1e+300"],
  ["build_lexical", { b: 2 }, "ValueError: b must be a number from 0 to 1, got 2"],
  ["build_lexical", { k1: -1 }, "ValueError: k1 must be a number of at least 0, got -1"],
  ["tune", { dry_run: 1 }, "TypeError: dry_run must be true or false, got 1"],
  ["get", { max_bytes: 999 }, "ValueError: max_bytes must be from 1000 to 16777216, or 0 for no bound, got 999"],
  ["count", { max_bytes: 16777217 }, "ValueError: max_bytes must be from 1000 to 16777216, or 0 for no bound, got 1"],
  ["search", { max_bytes: -1 }, "ValueError: max_bytes must be from 1000 to 16777216, or 0 for no bound, got -1"],
  ["ids", { max_bytes: 1000.5 }, "TypeError: max_bytes must be an integer, got 1000.5"],
  ["get", { offset: -1 }, "ValueError: offset must be an integer of at least 0, got -1"],
  ["get", { after: 7 }, "TypeError: after must be a string, got 7"],
  ["index_repo", { mode: "lines" }, "ValueError: mode must be one of windowed, file, got 'lines'"],
  ["index_repo", { mode: 1 }, "TypeError: mode must be a string, got 1"],
  ["index_repo", { path: "" }, "ValueError: path is empty: name a directory, or leave it out"],
  ["index_repo", { max_seconds: -1 }, "ValueError: max_seconds must be a number of at least 0, got -1"],
  ["repo_search", { form: "snippets" }, "ValueError: form must be one of lines, files, grep, windows, got 'snippets'"],
  ["repo_search", { form: 1 }, "TypeError: form must be a string, got 1"],
  ["repo_search", { per_file: 0 }, "ValueError: per_file must be an integer of at least 1, got 0"],
  ["repo_search", { per_file: 1.5 }, "TypeError: per_file must be an integer of at least 1, got 1.5"],
  ["repo_search", { workspace: "" }, "ValueError: workspace is empty: name a directory, or leave it out"],
  [
    "repo_search",
    { form: "grep", with_text: true },
    "ValueError: with_text means form 'windows', but form is 'grep': leave one of them out",
  ],
  ["repo_search", { query: "q", max_seconds: -1 }, "ValueError: max_seconds must be a number of at least 0, got -1"],
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
  expect(line).toStartWith("TypeError: top_k must be an integer from 1 to 100000, got the string 'a\\nbxxx");
  expect(line.length).toBeLessThan(180);
});

test("a __proto__ key in metadata or a filter stays plain data and pollutes nothing", () => {
  const raw = JSON.parse('{"collection":"c","texts":["t"],"metadata":[{"__proto__":{"polluted":1},"a":2}]}');
  const [row] = parseArguments("add", raw).metadata!;
  expect(JSON.stringify(row)).toBe('{"__proto__":{"polluted":1},"a":2}');
  expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  const where = parseArguments("count", JSON.parse('{"collection":"c","where":{"__proto__":"x"}}')).where!;
  expect(where).toEqual({ column: "__proto__", value: "x" });
});

test("ids: null lets svc_upsert generate them; null metadata rows are kept", () => {
  const parsed = parseArguments("upsert", { collection: "c", texts: ["t"], ids: null, metadata: [null] });
  const { max_bytes, partition_by } = DEFAULTS.upsert as { max_bytes: number; partition_by: string };
  expect(parsed).toEqual({ collection: "c", texts: ["t"], ids: null, metadata: [null], partition_by, max_bytes });
});

test("svc_repo_search: with_text is the form windows, which has more room unless max_bytes is given", () => {
  const of = (raw: object) => {
    const { form, max_bytes } = parseArguments("repo_search", { query: "q", ...raw });
    return [form, max_bytes];
  };
  expect(of({ with_text: true })).toEqual(["windows", 24_000]);
  expect(of({ with_text: true, form: null, max_bytes: null })).toEqual(["windows", 24_000]);
  expect(of({ with_text: true, form: "windows" })).toEqual(["windows", 24_000]);
  expect(of({ form: "windows", max_bytes: 6000 })).toEqual(["windows", 6000]);
  expect(of({ with_text: true, max_bytes: 0 })).toEqual(["windows", 0]);
  expect(of({ with_text: false, form: "files" })).toEqual(["files", 6000]);
});
