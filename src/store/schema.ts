/** Types of `collection.json`. The native side writes it and alone validates its file list. */

import type { ProgramVersion } from "../build-info.ts";
import { checkColumn, DEFAULT_PARTITION_KEY } from "../checks/names.ts";
import { DIM, readNumber } from "../checks/numbers.ts";
import { readChoice } from "../checks/strings.ts";
import { OSError, ValueError } from "../errors.ts";
import { FILTER_COLUMNS_MAX } from "../limits.ts";

/** Element types that a collection may store. */
export const DTYPES = ["f32", "f16", "int8", "int4"] as const;
export type Dtype = (typeof DTYPES)[number];

/** How a collection may rank its rows. */
export const METRICS = ["inner_product", "cosine", "l2"] as const;
export type Metric = (typeof METRICS)[number];

/** What identifies an embedder, in the order in which the hash of its space takes them. */
export const PROFILE_FIELDS = [
  "provider",
  "model_id",
  "model_version",
  "dimension",
  "dtype",
  "normalization",
  "distance",
  "pooling",
  "tokenizer_hash",
  "projection_version",
] as const;

/** The properties fixed when a collection is created. */
export interface Schema {
  dim: number;
  dtype: Dtype;
  metric: Metric;
  /** The partition key: always the first filter column. */
  keyName: string;
  filterColumns: readonly string[];
  /** Queries by words alone are allowed once the lexical index is built, and tokens are kept of texts that are not. */
  lexical: boolean;
  /** Identifies the embedder to attach on open; null for raw vectors. */
  embedderProfile: object | null;
}

/** A manifest as saved. */
export interface Manifest extends Schema {
  name: string;
  writerVersion: string;
  defaultTargetRecall: number;
  appliedTuner: unknown;
  generation: number;
  liveRows: number;
  totalRows: number;
  /** The caller's, by name: see `Transaction.note`. */
  notes: Readonly<Record<string, unknown>>;
  /** What it is for, as a person wrote it. */
  description: string | undefined;
}

/** A caller's schema for a new collection; absent properties have defaults. */
export interface SchemaInput {
  dim: number;
  dtype?: string | undefined;
  /** With an embedder it is the embedder's own and may be omitted. */
  metric?: string | undefined;
  partitionBy?: string;
  filterColumns?: readonly string[];
  lexical?: boolean;
  embedderProfile?: object | null;
}

/** The partition of a row whose metadata has no partition key. */
export const DEFAULT_PARTITION = "default";

/** The note in the manifest of a collection of which a row had `superseded_by` once: FORMAT.md, "Notes". */
export const SUPERSEDED_NOTE = "superseded";

/** Completes and checks a schema. */
export function completeSchema(input: SchemaInput): Schema {
  const keyName = input.partitionBy ?? DEFAULT_PARTITION_KEY;
  const filterColumns = [...new Set([keyName, ...(input.filterColumns ?? [])])];
  const dim = readNumber(input.dim, "dim", DIM);
  if (filterColumns.length > FILTER_COLUMNS_MAX) {
    throw new ValueError(
      `filter_columns has ${filterColumns.length} with the partition key; the limit is ${FILTER_COLUMNS_MAX}`,
    );
  }
  filterColumns.forEach(checkColumn);
  const dtype = readChoice(input.dtype ?? "f32", "dtype", DTYPES);
  const embedderProfile = input.embedderProfile ?? null;
  const own = metricOf(embedderProfile);
  const metric = readChoice(input.metric ?? own, "metric", METRICS);
  if (embedderProfile && metric !== own) {
    throw new ValueError(`metric is '${metric}' but the embedder's vectors are compared by '${own}': leave metric out`);
  }
  return { dim, dtype, metric, keyName, filterColumns, lexical: input.lexical ?? false, embedderProfile };
}

/**
 * The metric of an embedder's profile; an unknown name is the inner product, as on the native side.
 */
function metricOf(profile: object | null): Metric {
  const distance = (profile as { distance?: unknown } | null)?.distance;
  return METRICS.find((metric) => metric === distance) ?? "inner_product";
}

/**
 * Provider in the profile of a collection without an embedder: the manifest's keys are fixed, so a profile holds its
 * metric.
 */
const RAW_VECTORS = "vectors";

/** The value of `embedder_profile` in the manifest. */
function storedProfile({ embedderProfile, metric }: Schema): object | null {
  return embedderProfile ?? (metric === "inner_product" ? null : { provider: RAW_VECTORS, distance: metric });
}

/** What a collection that takes another one's place keeps of its manifest. */
export interface CarriedOver extends Pick<Manifest, "defaultTargetRecall" | "appliedTuner" | "notes"> {
  /** Keys that this program does not know, and the description, in their order. */
  others: Readonly<Record<string, unknown>>;
}

/** A reserved manifest key that other versions preserve: the build of `telys_version` that made the collection. */
const BUILD_KEY = "telys_build";
/** The most further keys: TY_OTHER_KEYS_MAX. */
const OTHER_KEYS_MAX = 64;

/** Keys of the manifest that this program writes: all but the description. */
const OWN_KEYS = new Set([
  ...["name", "dim", "dtype", "key_name", "filter_columns", "id_map", "telys_version", "default_target_recall"],
  ...["applied_tuner", "lexical", "embedder_profile", "notes", "format_version", "generation", "live_rows"],
  ...["total_rows", "superseded", "files", "crc32c", BUILD_KEY],
]);

/** What is to be kept of manifest JSON that the native side has validated. */
export function keptOf(text: string): CarriedOver {
  const { defaultTargetRecall, appliedTuner, notes } = parseManifest(text);
  const others = Object.entries(JSON.parse(text) as object).filter(([key]) => !OWN_KEYS.has(key));
  return { defaultTargetRecall, appliedTuner, notes, others: Object.fromEntries(others) };
}

/**
 * The manifest's keys of a new collection, for the native side.
 * @param writer the version of this program, and where it is known which build of that version it is
 */
export function schemaJson(name: string, schema: Schema, writer: string | ProgramVersion, kept?: CarriedOver): string {
  const { version, build } = typeof writer === "string" ? { version: writer } : writer;
  const hasRoom = Object.keys(kept?.others ?? {}).length < OTHER_KEYS_MAX;
  return JSON.stringify({
    name,
    dim: schema.dim,
    dtype: schema.dtype,
    key_name: schema.keyName,
    filter_columns: schema.filterColumns,
    telys_version: version,
    default_target_recall: kept?.defaultTargetRecall ?? 1.0,
    applied_tuner: kept?.appliedTuner ?? null,
    lexical: schema.lexical,
    embedder_profile: storedProfile(schema),
    ...(kept && Object.keys(kept.notes).length > 0 ? { notes: kept.notes } : {}),
    ...(build !== undefined && hasRoom ? { [BUILD_KEY]: build } : {}),
    ...kept?.others,
  });
}

/** Reads manifest JSON that the native side has validated. */
export function parseManifest(text: string): Manifest {
  const m = JSON.parse(text) as Record<string, unknown>;
  const columns = m.filter_columns;
  if (typeof m.name !== "string" || !Array.isArray(columns)) {
    throw new OSError("collection.json lacks name or filter_columns: restore the collection from a copy");
  }
  const profile = (m.embedder_profile ?? null) as { provider?: unknown; model_id?: unknown } | null;
  const isRaw = profile?.provider === RAW_VECTORS && profile.model_id === undefined;
  return {
    name: m.name,
    dim: Number(m.dim),
    dtype: m.dtype as Dtype,
    metric: metricOf(profile),
    keyName: String(m.key_name),
    filterColumns: columns.map(String),
    lexical: m.lexical === true,
    embedderProfile: isRaw ? null : profile,
    writerVersion: String(m.telys_version),
    defaultTargetRecall: Number(m.default_target_recall ?? 1),
    appliedTuner: m.applied_tuner ?? null,
    generation: Number(m.generation ?? 0),
    liveRows: Number(m.live_rows ?? 0),
    totalRows: Number(m.total_rows ?? 0),
    notes: (m.notes ?? {}) as Record<string, unknown>,
    description: typeof m.description === "string" ? m.description : undefined,
  };
}

/** A manifest, and the files that it names. */
export interface SavedManifest {
  manifest: Manifest;
  files: { name: string; bytes: number }[];
}

/** Reads manifest JSON that may be damaged: files may have any name. @throws Error where it is not a manifest */
export function parseSaved(text: string): SavedManifest {
  const { files } = JSON.parse(text) as Pick<SavedManifest, "files">;
  return { manifest: parseManifest(text), files: files.map(({ name, bytes }) => ({ name: String(name), bytes })) };
}

/** How an existing schema differs from a requested one, as a sentence; undefined where they agree. */
export function schemaDifference(existing: Schema, requested: Schema): string | undefined {
  const pairs: [string, unknown, unknown][] = [
    ["dim", existing.dim, requested.dim],
    ["dtype", existing.dtype, requested.dtype],
    ["metric", existing.metric, requested.metric],
    ["partition_by", existing.keyName, requested.keyName],
    ["filter_columns", existing.filterColumns.join(", "), requested.filterColumns.join(", ")],
    ["lexical", existing.lexical, requested.lexical],
    ["embedder", embedderName(existing.embedderProfile), embedderName(requested.embedderProfile)],
  ];
  const different = pairs.find(([, a, b]) => a !== b);
  if (different === undefined) return undefined;
  const [field, before, after] = different;
  const remedy = field === "filter_columns" || field === "lexical" ? ": 'svc mem alter' changes that" : "";
  return `its ${field} is ${JSON.stringify(before)}, not ${JSON.stringify(after)}${remedy}`;
}

/** An embedder's model and version, for messages. */
function embedderName(profile: object | null): string | null {
  if (profile === null) return null;
  const { model_id, model_version } = profile as { model_id?: unknown; model_version?: unknown };
  return `${model_id} version ${model_version}`;
}
