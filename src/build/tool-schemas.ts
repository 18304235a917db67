/**
 * Makes `src/mcp/tools.gen.json` from the schemas that parse the arguments: `bun src/build/tool-schemas.ts`. A test
 * compares the two, so that `tools/call` accepts what `tools/list` publishes.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { isObject } from "../checks/kinds.ts";
import { TOP_K_MAX } from "../limits.ts";
import { SCHEMAS, VERBS } from "../memory/requests.ts";

/** Path of the generated file. */
export const GENERATED_FILE = join(import.meta.dir, "../mcp/tools.gen.json");

/**
 * Verbs whose answer is one short line. They take `max_bytes` as all do, but it is not published: a client would pay
 * for it in each of them.
 */
export const SHORT_ANSWERS: ReadonlySet<string> = new Set([
  "create_collection",
  "update",
  "delete",
  "count",
  "compact",
  "build_ivf",
  "build_lexical",
]);

/** The text of `tools.gen.json`: one JSON Schema a verb. */
export function generateToolSchemas(): string {
  const schemas = Object.fromEntries(VERBS.map((verb) => [verb, inputSchema(verb)]));
  return `${JSON.stringify(schemas, null, 1)}\n`;
}

function inputSchema(verb: (typeof VERBS)[number]): unknown {
  const { $schema: _, ...schema } = z.toJSONSchema(SCHEMAS[verb](), {
    // As a client sends it: arguments with a default are optional.
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // JavaScript's own bound of integers says nothing, and a model does not need that of top_k: each costs a
      // client tokens.
      if (jsonSchema.type === "integer" && (jsonSchema.maximum ?? 0) >= TOP_K_MAX) delete jsonSchema.maximum;
    },
  });
  if (SHORT_ANSWERS.has(verb)) delete schema.properties?.max_bytes;
  return plain(schema);
}

/**
 * Removes constructs that make some clients' models write wrong arguments, or no call at all. A nullable argument is
 * published as its other type, and an exclusive bound as an inclusive one, with the exclusion in its description. The
 * parser accepts what it did.
 */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain);
  if (!isObject(schema)) return schema;
  const { anyOf, exclusiveMinimum, ...rest } = schema as Record<string, unknown> & { anyOf?: { type?: string }[] };
  const one = anyOf?.filter(({ type }) => type !== "null");
  if (one && one.length > 1) return schema;
  const bound = exclusiveMinimum === undefined ? {} : { minimum: exclusiveMinimum };
  return mapValues({ ...one?.[0], ...rest, ...bound }, plain);
}

function mapValues(values: object, by: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, by(value)]));
}

if (import.meta.main) await Bun.write(GENERATED_FILE, generateToolSchemas());
