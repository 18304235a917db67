/** Flags that say what a collection is like, on commands that put rows into one: it is made by them, or has to be so. */
import { shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import type { StatsPayload } from "../../memory/requests.ts";
import type { Values } from "../terminal/command.ts";
import { type SCHEMA_FLAGS, schemaArguments } from "./flags.ts";
import { type MemoryWork, prepare } from "./verb.ts";

/**
 * What makes the collection as the flags say where it is absent, in memory until rows are saved; undefined without flags.
 * It throws a ValueError for one that is there and has not what the flags ask for; what it has beside that stays.
 */
export function madeAs(collection: string, args: Values<typeof SCHEMA_FLAGS>): MemoryWork<void> | undefined {
  const schema = schemaArguments(args);
  if (Object.values(schema).every((value) => value === undefined)) return undefined;
  const create = prepare("create_collection", { name: collection, ...schema });
  const stats = prepare("stats", { collection });
  return async (verbs, context) => {
    const { collections } = await verbs.list_collections({ max_bytes: 0 });
    if (collections.includes(collection)) checkSchema(await stats(verbs, context), schema);
    else await create(verbs, context);
  };
}

function checkSchema({ collection, stats }: StatsPayload, wanted: ReturnType<typeof schemaArguments>): void {
  const { partition_by, filter_columns = [], lexical } = wanted;
  const { key_name } = stats;
  const columns = stats.filter_columns as readonly string[];
  if (partition_by !== undefined && partition_by !== key_name) {
    throw new ValueError(
      `collection ${shown(collection)} exists already and is partitioned by ${shown(key_name)}: ` +
        "leave --partition-by out, or name another collection",
    );
  }
  const missing = filter_columns.filter((column) => !columns.includes(column));
  const lacks = [
    ...(lexical && !stats.lexical ? ["lexical search"] : []),
    ...missing.map((column) => `filter column ${shown(column)}`),
  ];
  if (lacks.length === 0) return;
  const flags = [...(lexical && !stats.lexical ? ["--lexical"] : []), ...missing.map((c) => `--filter-column ${c}`)];
  throw new ValueError(
    `collection ${shown(collection)} exists already, without ${lacks.join(" and ")}: ` +
      `'svc mem alter ${collection} ${flags.join(" ")}' adds it; nothing was written`,
  );
}
