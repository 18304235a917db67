/**
 * Makes `src/mcp/tools.gen.json` from the schemas that parse the arguments: `bun src/build/tool-schemas.ts`. A test
 * compares the two, so that `tools/call` accepts what `tools/list` publishes.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { isObject } from "../checks/kinds.ts";
import { jsonOf } from "../checks/schema.ts";
import { TOP_K_MAX } from "../limits.ts";
import { SCHEMAS, VERBS, type VerbName } from "../memory/requests.ts";

/** Path of the generated file. */
export const GENERATED_FILE = join(import.meta.dir, "../mcp/tools.gen.json");

/**
 * Verbs whose answer is short. They take `max_bytes` as all do, but it is not published: a client would pay
 * for it in each of them.
 */
export const SHORT_ANSWERS: ReadonlySet<string> = new Set([
  "add",
  "create_collection",
  "upsert",
  "update",
  "delete",
  "count",
  "compact",
  "build_ivf",
  "build_lexical",
  "index_repo",
  "workspace_info",
]);

/** Arguments whose names say it. `max_bytes` is described once, where a client's model meets it first. */
export const SAID_BY_NAME: ReadonlySet<string> = new Set([
  "collection",
  "query",
  "name",
  "top_k",
  "max_bytes",
  "with_times",
  "with_metadata",
  "with_score",
  "explain",
]);
const DESCRIBES_ALL = "search";

/** A schema of an object. */
interface InputSchema {
  properties: Record<string, unknown>;
  required?: string[];
}

/** The text of `tools.gen.json`: one JSON Schema a verb. */
export function generateToolSchemas(): string {
  const schemas = Object.fromEntries(VERBS.map((verb) => [verb, publishedSchema(verb)]));
  return `${JSON.stringify(schemas, null, 1)}\n`;
}

/** The schema that a client gets: without what it would pay for in each session and a model knows. */
function publishedSchema(verb: VerbName): unknown {
  const schema = inputSchema(verb);
  const { max_bytes: _, ...others } = schema.properties;
  const shown = SHORT_ANSWERS.has(verb) ? others : schema.properties;
  const properties = mapValues(shown, (property, name) => {
    const isSaid = SAID_BY_NAME.has(name) && !(verb === DESCRIBES_ALL && name === "max_bytes");
    if (!isSaid) return property;
    const { description: _, ...rest } = property as { description?: string };
    return rest;
  });
  return { ...schema, properties };
}

/** The JSON Schema of a verb's arguments, with a description of each. */
export function inputSchema(verb: VerbName): InputSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(SCHEMAS[verb](), {
    // As a client sends it: arguments with a default are optional.
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      Object.assign(jsonSchema, jsonOf(zodSchema));
      // JavaScript's own bound of integers says nothing, and a model does not need that of top_k: each costs a
      // client tokens.
      if (jsonSchema.type === "integer" && (jsonSchema.maximum ?? 0) >= TOP_K_MAX) delete jsonSchema.maximum;
    },
  });
  return plain(schema) as InputSchema;
}

/**
 * Removes constructs that make some clients' models write wrong arguments, or no call at all. A nullable argument is
 * published as its other type, and an exclusive bound as an inclusive one, with the exclusion in its description. The
 * parser accepts what it did.
 */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((one) => plain(one));
  if (!isObject(schema)) return schema;
  const { anyOf, exclusiveMinimum, ...rest } = schema as Record<string, unknown> & { anyOf?: { type?: string }[] };
  const one = anyOf?.filter(({ type }) => type !== "null");
  if (one && one.length > 1) return schema;
  const bound = exclusiveMinimum === undefined ? {} : { minimum: exclusiveMinimum };
  return mapValues({ ...one?.[0], ...rest, ...bound }, (value) => plain(value));
}

function mapValues(values: object, by: (value: unknown, key: string) => unknown): object {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, by(value, key)]));
}

if (import.meta.main) await Bun.write(GENERATED_FILE, generateToolSchemas());
