/**
 * Makes `src/mcp/tools.gen.json` from the schemas that parse the arguments: `bun src/build/tool-schemas.ts`. A test compares the two, so that
 * what `tools/list` promises is what `tools/call` accepts.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { isObject } from "../checks/kinds.ts";
import { SCHEMAS, VERBS } from "../memory/requests.ts";

/** Where the generated file lies. */
export const GENERATED_FILE = join(import.meta.dir, "../mcp/tools.gen.json");

/** The text of `tools.gen.json`: one JSON Schema a verb. */
export function generateToolSchemas(): string {
  const schemas = Object.fromEntries(VERBS.map((verb) => [verb, inputSchema(verb)]));
  return `${JSON.stringify(schemas, null, 1)}\n`;
}

function inputSchema(verb: (typeof VERBS)[number]): unknown {
  const { $schema: _, ...schema } = z.toJSONSchema(SCHEMAS[verb](), {
    // As a client sends it: what has a default may be left out.
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // The bound of every integer in JavaScript says nothing and costs a client tokens.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return plain(schema);
}

/**
 * Without what makes models of some clients write wrong arguments, or no call at all. An argument that may be null is published as what it is
 * otherwise, and an excluded bound as a bound, which its description says is not reached: what is accepted stays as it was.
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
