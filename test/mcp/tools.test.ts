/** The table of tools against the schemas and the generated file. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { GENERATED_FILE, generateToolSchemas, SAID_BY_NAME } from "../../src/build/tool-schemas.ts";
import { instructionsFor } from "../../src/mcp/instructions.ts";
import { findTool, listTools, TOOL_SETS, TOOLS, toolsOf } from "../../src/mcp/tools.ts";
import { parseArguments } from "../../src/memory/arguments.ts";
import { isLocalVerb, VERBS } from "../../src/memory/requests.ts";
import { READING_TOOLS } from "../../src/remote/wire/protocol.ts";

test("there are exactly 19 tools, one for each verb, in the same order", () => {
  expect(TOOLS.map(({ verb }) => verb)).toEqual(VERBS);
  expect(new Set(listTools().map(({ name }) => name)).size).toBe(19);
});

test("a tool that may be called again on a served memory is one that says it only reads, and no other", () => {
  const reading = TOOLS.filter(({ verb, annotations }) => annotations.readOnlyHint && !isLocalVerb(verb));
  expect([...READING_TOOLS].toSorted()).toEqual(reading.map(({ verb }) => `svc_${verb}`).toSorted());
});

test("tools.gen.json is what the schemas say (repair it with: bun src/build/tool-schemas.ts)", () => {
  expect(readFileSync(GENERATED_FILE, "utf8")).toBe(generateToolSchemas());
});

test.each(listTools().map((tool) => [tool.name, tool] as const))("%s is complete", (name, tool) => {
  expect(name).toMatch(/^svc_[a-z_]+$/);
  expect(tool.title).toBeString();
  expect(tool.description!.length).toBeGreaterThan(18);
  // Clients pay for every word in every session.
  expect(tool.description!.length).toBeLessThan(420);
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;
  for (const hint of hints) if (tool.annotations?.[hint] !== undefined) expect(tool.annotations[hint]).toBeBoolean();
  expect(tool.annotations?.openWorldHint).toBe(false);
  // What a client shows a person before a call is never left to the protocol's default.
  expect(tool.annotations?.readOnlyHint ?? tool.annotations?.destructiveHint).toBeBoolean();
  expect(tool.inputSchema.type).toBe("object");
  expect(tool.inputSchema.additionalProperties).toBe(false);
  for (const [argument, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
    const { description } = schema as { description?: string };
    if (description !== undefined || !SAID_BY_NAME.has(argument))
      expect([argument, description]).toEqual([argument, expect.any(String)]);
  }
});

test("the schemas hold nothing that models get wrong; what it expressed is accepted and refused all the same", () => {
  const text = JSON.stringify(listTools().map(({ inputSchema }) => inputSchema));
  for (const word of ["anyOf", "oneOf", "allOf", "null", "exclusiveMinimum", "exclusiveMaximum", "$ref"]) {
    expect([word, text.includes(`"${word}"`)]).toEqual([word, false]);
  }
  const upsert = { collection: "c", texts: ["t"], ids: null, metadata: [null] };
  expect(parseArguments("upsert", upsert)).toMatchObject({ ids: null, metadata: [null] });
  const recall = (target_recall: number) => parseArguments("build_ivf", { collection: "c", target_recall });
  expect(() => recall(0)).toThrow("target_recall must be a number above 0 and at most 1, got 0");
  expect(recall(1e-9).target_recall).toBe(1e-9);
});

test("required arguments", () => {
  const required = Object.fromEntries(listTools().map(({ name, inputSchema }) => [name, inputSchema.required ?? []]));
  expect(required).toEqual({
    svc_search: ["collection", "query"],
    svc_add: ["collection", "texts"],
    svc_create_collection: ["name"],
    svc_list_collections: [],
    svc_stats: ["collection"],
    svc_upsert: ["collection", "texts", "ids"],
    svc_update: ["collection", "texts", "ids"],
    svc_delete: ["collection", "ids"],
    svc_ids: ["collection"],
    svc_count: ["collection"],
    svc_get: ["collection", "ids"],
    svc_search_lexical: ["collection", "query"],
    svc_compact: ["collection"],
    svc_build_ivf: ["collection"],
    svc_build_lexical: ["collection"],
    svc_tune: ["collection"],
    svc_index_repo: [],
    svc_repo_search: ["query"],
    svc_workspace_info: [],
  });
});

test.each([o200k, cl100k])(
  "what every session pays: below 4,000 tokens for all tools and the instructions, below 1,900 for the core",
  (count) => {
    const all = JSON.stringify({ tools: listTools() });
    expect(count(all) + count(instructionsFor(TOOLS))).toBeLessThan(4_000);
    for (const set of TOOL_SETS) {
      const instructions = instructionsFor(toolsOf(set));
      expect(count(instructions)).toBeLessThan(300);
      expect(instructions.split(/\s+/).length).toBeLessThan(200);
    }
    expect(count(JSON.stringify({ tools: listTools("core") }))).toBeLessThan(1_900);
  },
);

test("sets of tools: core, and those that change nothing that is stored", () => {
  const core = toolsOf("core").map(({ verb }) => verb);
  expect(core.join(" ")).toBe("search add list_collections upsert update delete get repo_search");
  const reads = toolsOf("read");
  expect(reads.length).toBe(9);
  for (const { annotations } of reads) expect(annotations.destructiveHint).toBe(false);
  expect(toolsOf("all")).toHaveLength(19);
});

test("the instructions name only tools that are offered, and forbid what a set cannot do", () => {
  for (const set of TOOL_SETS) {
    const offered = new Set(listTools(set).map(({ name }) => name));
    const named = instructionsFor(toolsOf(set)).match(/svc_[a-z_]+/g) ?? [];
    expect(named.filter((name) => !offered.has(name))).toEqual([]);
  }
  expect(instructionsFor(toolsOf("read"))).toContain("only reads");
});

test("names of Object.prototype are not tools", () => {
  for (const name of ["constructor", "__proto__", "search", "svc_", ""]) expect(findTool(name)).toBeUndefined();
});
