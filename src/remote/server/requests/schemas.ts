/** The arguments of the operations in wire/PROTOCOL.md. `wire/vectors.ts` reads the vectors. */
import * as z from "zod/mini";
import { readIds } from "../../../checks/ids.ts";
import { isObject } from "../../../checks/kinds.ts";
import { readMetadata } from "../../../checks/metadata.ts";
import { readPartitionKey, readScope } from "../../../checks/names.ts";
import { COUNT, clampTopK, POSITIVE, TOP_K_DEFAULT_SDK } from "../../../checks/numbers.ts";
import { checked, flag, number, string } from "../../../checks/schema.ts";
import { readChoice, readString, readStrings } from "../../../checks/strings.ts";
import { readTexts } from "../../../checks/texts.ts";
import type { Where } from "../../../checks/values.ts";
import { readWhere } from "../../../checks/where.ts";
import { ROWS_PER_CALL_MAX } from "../../../limits.ts";
import { ORIGIN_FIELD_LENGTH_MAX } from "../../../origin.ts";
import { SECRET_POLICIES } from "../../../secrets/policy.ts";
import type { Op } from "../../wire/protocol.ts";

const anything = () => checked<unknown>((value) => value);
/** Checked here, but passed as it is: nothing large crosses from the decoder's thread. */
const where = () =>
  z.optional(
    checked((value, name) => {
      readWhere(value, name);
      return value as Where;
    }),
  );
const ids = () => checked(readIds);
const details = {
  ids: z.optional(ids()),
  metadata: z.optional(checked(readMetadata)),
};

/** What a client says of itself is cut, as `svc mcp` does it: the history has room for so much. */
const originField = () =>
  checked((value, name) => readString(value, name).slice(0, ORIGIN_FIELD_LENGTH_MAX).toWellFormed());

/** Which state to read. */
const state = { at_least: z.optional(number(COUNT, "")) };

const none = z.strictObject({});
const vectors = z.strictObject({ vectors: anything(), ...details });
const texts = z.strictObject({ texts: checked(readTexts), ...details });
const how = {
  top_k: z._default(checked(clampTopK), TOP_K_DEFAULT_SDK),
  where: where(),
  explain: z._default(flag(), false),
  with_metadata: z._default(flag(), false),
  ...state,
};

const parts = {
  with_text: z._default(flag(), true),
  with_metadata: z._default(flag(), true),
  ...state,
};

/** By operation. A process that serves needs nearly all of them, so they are built at once. */
export const ARGUMENTS = {
  auth: z.strictObject({ token: string() }),
  ping: none,
  collections: none,
  create_collection: z.strictObject({
    // Beside an embedder any number: the store checks it.
    dim: z.optional(checked<number>((value) => value as number)),
    partition_by: z.optional(checked(readPartitionKey)),
    filter_columns: z.optional(checked(readStrings)),
    dtype: z.optional(string()),
    metric: z.optional(string()),
    embedder: z.optional(string()),
  }),
  open_collection: none,
  add: vectors,
  upsert: vectors,
  add_texts: texts,
  upsert_texts: texts,
  search: z.strictObject({ vector: anything(), ...how }),
  search_text: z.strictObject({ text: string(), ...how }),
  search_hits: z.strictObject({
    text: string(),
    top_k: how.top_k,
    where: where(),
    text_bytes: z.optional(number(POSITIVE, "")),
    ...parts,
  }),
  get: z.strictObject({
    ids: checked((value, name) => readIds(value, name, { max: ROWS_PER_CALL_MAX })),
    ...parts,
  }),
  call_tool: z.strictObject({
    name: string(),
    arguments: z.optional(anything()),
    text_bytes: z.optional(number(POSITIVE, "")),
    days: z._default(flag(), false),
    weak_texts: z._default(flag(), false),
    project: z.optional(checked(readScope)),
    secrets: z.optional(checked((value, name) => readChoice(value, name, SECRET_POLICIES))),
    client: z.optional(originField()),
    version: z.optional(originField()),
    session: z.optional(originField()),
  }),
  ids: z.strictObject({ where: where(), ...state }),
  delete: z.strictObject({ ids: ids() }),
  compact: none,
  save: z.strictObject({ with_generation: z._default(flag(), false) }),
  stats: none,
} satisfies Record<Op, z.ZodMiniObject>;

export type ArgumentsOf<O extends Op> = z.infer<(typeof ARGUMENTS)[O]>;

/**
 * The arguments of nearly all searches: known names, the right types, no `where`. Undefined for anything else, which
 * the schema checks. A search takes 3 ms and finds this code cold: the schema takes 86 us then, this 5.
 */
export function plainSearch(args: unknown): ArgumentsOf<"search"> | undefined {
  if (!isObject(args) || args.vector === undefined || args.vector === null) return undefined;
  const plain = { vector: args.vector, top_k: TOP_K_DEFAULT_SDK, explain: false, with_metadata: false };
  for (const name in args) {
    const value = args[name];
    if (name === "vector") continue;
    if (name === "top_k" && Number.isInteger(value)) plain.top_k = clampTopK(value, name);
    else if ((name === "explain" || name === "with_metadata") && typeof value === "boolean") plain[name] = value;
    else return undefined;
  }
  return plain;
}
