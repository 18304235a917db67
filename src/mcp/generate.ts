/**
 * Makes `tools.gen.json` from the schemas that parse the arguments: `bun src/mcp/generate.ts`. A test compares the two, so that
 * what `tools/list` promises is what `tools/call` accepts.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { SCHEMAS, VERBS } from "../memory/schemas.ts";

/** Where the generated file lies. */
export const GENERATED_FILE = join(import.meta.dir, "tools.gen.json");

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
  return schema;
}

if (import.meta.main) await Bun.write(GENERATED_FILE, generateToolSchemas());
