/** The arguments of the operations in wire/PROTOCOL.md. Vectors pass as they came: `wire/vectors.ts` reads them. */
import * as z from "zod/mini";
import { isObject } from "../checks/kinds.ts";
import type { FilterValue, Metadata } from "../checks/values.ts";
import type { Op } from "../wire/protocol.ts";

const object = <T>() => z.custom<T>(isObject, { params: { expected: "object" } });
const anything = () => z.custom<unknown>((value) => value !== undefined, { params: { expected: "a vector" } });
const where = () => z.optional(object<Record<string, FilterValue>>());
const ids = () => z.optional(z.array(z.string()));
const metadata = () => z.optional(z.array(z.nullable(object<Metadata>())));

const none = z.strictObject({});
const vectors = z.strictObject({ vectors: anything(), ids: ids(), metadata: metadata() });
const texts = z.strictObject({ texts: z.array(z.string()), ids: ids(), metadata: metadata() });
const how = {
  // Any whole number, for it is clamped: what a client calls "all" may be beyond 2^53.
  top_k: z._default(z.number().check(z.refine(Number.isInteger, { params: { expected: "int" } })), 10),
  where: where(),
  explain: z._default(z.boolean(), false),
  with_metadata: z._default(z.boolean(), false),
};

/** By operation. A process that serves needs nearly all of them, so they are built at once. */
export const ARGUMENTS = {
  auth: z.strictObject({ token: z.string() }),
  ping: none,
  collections: none,
  create_collection: z.strictObject({
    dim: z.optional(z.int()),
    partition_by: z.optional(z.string()),
    filter_columns: z.optional(z.array(z.string())),
    dtype: z.optional(z.string()),
    metric: z.optional(z.string()),
    embedder: z.optional(z.string()),
  }),
  open_collection: none,
  add: vectors,
  upsert: vectors,
  add_texts: texts,
  upsert_texts: texts,
  search: z.strictObject({ vector: anything(), ...how }),
  search_text: z.strictObject({ text: z.string(), ...how }),
  ids: z.strictObject({ where: where() }),
  delete: z.strictObject({ ids: z.array(z.string()) }),
  compact: none,
  save: none,
  stats: none,
} satisfies Record<Op, z.ZodMiniObject>;

export type ArgumentsOf<O extends Op> = z.infer<(typeof ARGUMENTS)[O]>;

/**
 * The arguments of a search as nearly all of them come: nothing but what is known, of the right type, without `where`. Undefined for
 * anything else, which the schema judges. A search is over in 3 ms and finds this code cold: the schema takes 86 us then, this 5.
 */
export function plainSearch(args: unknown): ArgumentsOf<"search"> | undefined {
  if (!isObject(args) || args.vector === undefined || args.vector === null) return undefined;
  const plain = { vector: args.vector, top_k: 10, explain: false, with_metadata: false };
  for (const name in args) {
    const value = args[name];
    if (name === "vector") continue;
    if (name === "top_k" && Number.isInteger(value)) plain.top_k = value as number;
    else if ((name === "explain" || name === "with_metadata") && typeof value === "boolean") plain[name] = value;
    else return undefined;
  }
  return plain;
}
