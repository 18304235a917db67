/** What a new collection is like, as flags: shared by the commands that may make one. */
import type { ArgsDef, Invocation } from "../command.ts";
import type { RawArguments } from "./verb.ts";

/** The column that rows of a new collection are grouped by. */
export const PARTITION_BY = {
  type: "string",
  valueHint: "COLUMN",
  description: "metadata column that rows are grouped by, where the collection is made by this call (scope)",
} as const;

/** Everything that is fixed when a collection is made. */
export const SCHEMA_FLAGS = {
  "partition-by": PARTITION_BY,
  "filter-column": {
    type: "string",
    valueHint: "COLUMN",
    description: "a further metadata column that --where may name",
  },
  "filter-columns": { type: "string", valueHint: "A,B", description: "the same, with commas between" },
  lexical: { type: "boolean", description: "allow an index for search by word (svc mem build-lexical)" },
} as const satisfies ArgsDef;

/** The flags as arguments of create_collection. */
export function schemaArguments({ args, all }: Invocation<typeof SCHEMA_FLAGS>): RawArguments {
  const listed = args["filter-columns"]?.split(",").map((column) => column.trim()) ?? [];
  const filter_columns = [...all("filter-column"), ...listed];
  return {
    partition_by: args["partition-by"],
    filter_columns: filter_columns.length > 0 ? filter_columns : undefined,
    lexical: args.lexical,
  };
}
