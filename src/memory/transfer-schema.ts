/** The collection that an import goes into: what of it has to agree, what a new one is like, whose vectors it takes. */

import { DEFAULT_PARTITION_KEY } from "../checks/names.ts";
import { ValueError } from "../errors.ts";
import type { ForeignSchema } from "../formats/input/row.ts";
import type { Collection } from "../store/collection.ts";
import type { Schema, SchemaInput } from "../store/schema.ts";
import { type Embedder, type EmbedderProfile, spaceId } from "../texts/embedder.ts";

/** What a caller wants of a collection that an import makes, or requires of one that is there. */
export interface WantedSchema {
  readonly partition_by?: string | undefined;
  readonly filter_columns?: readonly string[] | undefined;
  readonly lexical?: boolean | undefined;
}

/**
 * What the caller requires of a collection that is there; what it has beside that stays.
 * @throws ValueError where it differs, with the command that changes what can be changed
 */
export function agreeing(
  existing: Collection,
  { partition_by, filter_columns = [], lexical }: WantedSchema,
): Collection {
  const { schema, name } = existing;
  const differs = (how: string, remedy: string) =>
    new ValueError(`collection '${name}' exists already, ${how}: ${remedy}`, "collection_differs");
  if (partition_by !== undefined && partition_by !== schema.keyName)
    throw differs(`partitioned by '${schema.keyName}'`, "leave --partition-by out, or name another collection");
  const missing = filter_columns.filter((column) => !schema.filterColumns.includes(column));
  const lacksLexical = lexical === true && !schema.lexical;
  if (missing.length === 0 && !lacksLexical) return existing;
  const lacks = [...(lacksLexical ? ["lexical search"] : []), ...missing.map((column) => `filter column '${column}'`)];
  const flags = [...(lacksLexical ? ["--lexical"] : []), ...missing.map((column) => `--filter-column ${column}`)];
  throw differs(`without ${lacks.join(" and ")}`, `'svc mem alter ${name} ${flags.join(" ")}' adds it`);
}

/** The part of an import that decides what its new collection is like. */
interface NewRows {
  readonly rows: readonly { readonly text?: string | undefined; readonly vector?: Float32Array | undefined }[];
  readonly schema: WantedSchema;
  /** The collection that the rows were exported from, as far as the file tells. */
  readonly source?: ForeignSchema | undefined;
}

/** A collection like the one that was exported, as far as that is known and its vectors can be had. */
export function newSchema(embedder: Embedder, { rows, schema, source = {} }: NewRows): SchemaInput {
  const [first] = rows;
  const vector = first?.vector;
  const common = {
    partitionBy: schema.partition_by ?? source.partition_by ?? DEFAULT_PARTITION_KEY,
    filterColumns: schema.filter_columns ?? source.filter_columns ?? [],
    lexical: schema.lexical ?? source.lexical ?? false,
    dtype: source.dtype,
  };
  const ours = { ...common, dim: embedder.profile.dimension, embedderProfile: embedder.profile };
  const isForeign = source.embedder !== undefined && !areOfOneSpace(source.embedder, embedder.profile);
  const isRaw = source.embedder === undefined && vector !== undefined && first?.text === undefined;
  if (!isForeign && !isRaw) return ours;
  // Without their vectors, texts of another embedder are embedded by this one.
  const dim = vector?.length ?? (rows.length === 0 ? source.dim : undefined);
  if (dim === undefined) return ours;
  const profile = source.embedder ?? null;
  return { ...common, dim, metric: profile === null ? source.metric : undefined, embedderProfile: profile };
}

/** Whether vectors of the source are vectors of the collection. */
export function usesVectors({ embedderProfile }: Schema, source: ForeignSchema | undefined): boolean {
  // Raw vectors are the caller's: only their length can be wrong.
  if (embedderProfile === null) return true;
  return areOfOneSpace(source?.embedder, embedderProfile);
}

function areOfOneSpace(theirs: object | null | undefined, ours: object): boolean {
  return theirs ? spaceId(theirs as EmbedderProfile) === spaceId(ours as EmbedderProfile) : false;
}
