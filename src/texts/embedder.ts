/** The interface of embedders, text to vector: the kernel's own two, and those of SDK users. */
import type { ModelCode } from "../../ffi/ame_kernel.ts";
import { ValueError } from "../errors.ts";
import { PROFILE_FIELDS } from "../store/schema.ts";
import type { SentenceEncoder } from "./meaning/encoder.ts";

/** Identifies a vector space: two embedders with equal profiles make comparable vectors. */
export type EmbedderProfile = { dimension: number } & Record<Exclude<ProfileField, "dimension">, string>;

type ProfileField = (typeof PROFILE_FIELDS)[number];

/** The embedder of a collection of texts. Matrices are row-major, one row of `profile.dimension` floats a text. */
export interface Embedder {
  readonly profile: EmbedderProfile;
  /**
   * Whether a collection weighs this embedder's queries by its rows' values in each dimension
   * (ffi/ty_runtime/rows/weights.h). For hashed features, of which the common ones tell little: mean nDCG@10 rises from
   * .646 to .659 on eight sets, on 21 others from .558 to .583. Off for trained models, which have learned such weights.
   */
  readonly weightedQueries?: boolean;
  /**
   * The model, where the kernel embeds by itself: a collection is then asked with the text alone, and rows are put
   * without vectors.
   */
  readonly kernelModel?: ModelCode;
  /** What makes vectors of meaning beside this embedder's, where this process has it. */
  readonly encoder?: SentenceEncoder | undefined;
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array>;
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array>;
}

/** Every call of texts compares profiles, which are few and do not change: hashing one takes longer than a short query. */
const spaceIds = new WeakMap<EmbedderProfile, string>();

/** `sha256:` and the first 16 hex digits of the hash over the profile's fields in order, joined by `|`. */
export function spaceId(profile: EmbedderProfile): string {
  const known = spaceIds.get(profile);
  if (known !== undefined) return known;
  const joined = PROFILE_FIELDS.map((field) => String(profile[field])).join("|");
  const id = `sha256:${new Bun.CryptoHasher("sha256").update(joined).digest("hex").slice(0, 16)}`;
  spaceIds.set(profile, id);
  return id;
}

/** Whether a stored profile is this embedder's, without the hashes of `checkSpace`. */
export function isOurSpace(stored: object, { profile }: Embedder): boolean {
  const theirs = stored as Partial<Record<ProfileField, unknown>>;
  return PROFILE_FIELDS.every((field) => String(theirs[field]) === String(profile[field]));
}

/** Whether a stored profile is an earlier version of this embedder's. */
export function isOlderSpace(stored: object | null, embedder: Embedder): boolean {
  const { provider, model_id, model_version } = (stored ?? {}) as Partial<EmbedderProfile>;
  const ours = embedder.profile;
  const isSame = provider === ours.provider && model_id === ours.model_id;
  return isSame && Number(model_version) < Number(ours.model_version);
}

/** Compares a collection's stored profile with an embedder. @throws ValueError for another vector space */
export function checkSpace(collection: string, stored: object | null, embedder: Embedder): void {
  if (stored === null) {
    throw new ValueError(`collection '${collection}' holds raw vectors without an embedder: search it by vector`);
  }
  const [theirs, ours] = [spaceId(stored as EmbedderProfile), spaceId(embedder.profile)];
  if (theirs === ours) return;
  const { model_id, model_version } = stored as EmbedderProfile;
  const own = embedder.profile;
  throw new ValueError(
    `collection '${collection}' was embedded by ${model_id} version ${model_version} (${theirs}), ` +
      `this is ${own.model_id} version ${own.model_version} (${ours}): ` +
      "export it with 'svc mem export' and import it into a new collection",
  );
}
