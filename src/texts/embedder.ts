/** Text → vector. Small interface, several embedders: the kernel's own two, and whatever an SDK user brings. */
import { ValueError } from "../errors.ts";

/** Identifies a vector space: two embedders with equal profiles make comparable vectors. */
export interface EmbedderProfile {
  provider: string;
  model_id: string;
  model_version: string;
  dimension: number;
  dtype: string;
  normalization: string;
  distance: string;
  pooling: string;
  tokenizer_hash: string;
  projection_version: string;
}

/** What a collection with texts needs. Answers are row-major, one row of `profile.dimension` floats a text. */
export interface Embedder {
  readonly profile: EmbedderProfile;
  /**
   * Whether a collection weighs this embedder's questions by what its rows hold, dimension by dimension (ffi/ty_runtime/rows/weights.h). For hashed
   * features, where what most texts have tells nothing: mean nDCG@10 rises from .646 to .659 on eight sets, on 21 others from .558 to .583. Trained models have learned
   * as much, and have it off.
   */
  readonly weightedQueries?: boolean;
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array>;
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array>;
}

const FIELDS = [
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
] as const satisfies readonly (keyof EmbedderProfile)[];

/** `sha256:` and the first 16 hex digits of the hash over the profile's fields in order, joined by `|`. */
export function spaceId(profile: EmbedderProfile): string {
  const joined = FIELDS.map((field) => String(profile[field])).join("|");
  return `sha256:${new Bun.CryptoHasher("sha256").update(joined).digest("hex").slice(0, 16)}`;
}

/** Whether a stored profile is an earlier version of this embedder's. */
export function isOlderSpace(stored: object | null, embedder: Embedder): boolean {
  const { provider, model_id, model_version } = (stored ?? {}) as Partial<EmbedderProfile>;
  const ours = embedder.profile;
  const isSame = provider === ours.provider && model_id === ours.model_id;
  return isSame && Number(model_version) < Number(ours.model_version);
}

/** Refuses to mix vector spaces: a collection's stored profile against the embedder that is about to be used on it. */
export function checkSpace(collection: string, stored: object | null, embedder: Embedder): void {
  if (stored === null) {
    throw new ValueError(`collection '${collection}' holds raw vectors without an embedder: search it by vector`);
  }
  const [theirs, ours] = [spaceId(stored as EmbedderProfile), spaceId(embedder.profile)];
  if (theirs === ours) return;
  const { model_id, model_version } = stored as EmbedderProfile;
  throw new ValueError(
    `collection '${collection}' was embedded by ${model_id} version ${model_version} (${theirs}), this is ${embedder.profile.model_id} ` +
      `version ${embedder.profile.model_version} (${ours}): export it with 'svc mem export' and import it into a new collection`,
  );
}
