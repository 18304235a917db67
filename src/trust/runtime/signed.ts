/**
 * The trusted parts of a bundle or an install: a manifest with a valid signature, and bytes with a hash in the
 * manifest. Each is a type that only its check makes, so that it is passed on and the same bytes are not checked again.
 */
import { readCapped } from "../../durable.ts";
import { RuntimeError, SvcError } from "../../errors.ts";
import { RUNTIME_MANIFEST_BYTES_MAX, RUNTIME_SIGNATURE_BYTES_MAX } from "../../limits.ts";
import { type PlatformTag, platformTag } from "../../paths.ts";
import { type ReleaseAnchors, type ReleaseKey, requireSignature } from "./anchor.ts";
import { type Artifact, parseManifest, type RuntimeManifest, sha256 } from "./bundle-manifest.ts";

declare const verified: unique symbol;

/** A manifest with a verified signature; only `verifyManifest` makes one. */
export interface SignedManifest {
  readonly [verified]: "signature";
  readonly manifest: RuntimeManifest;
  /** The exact signed bytes, their signature, and the key that verified it, of those in force. */
  readonly bytes: Uint8Array;
  readonly signature: Uint8Array;
  readonly key: ReleaseKey;
  readonly anchors: ReleaseAnchors;
}

/** An artifact's bytes, size and hash verified; only `verifyArtifact` makes one. */
export interface VerifiedArtifact {
  readonly [verified]: "hash";
  readonly artifact: Artifact;
  readonly bytes: Uint8Array;
}

/**
 * Verifies a manifest's signature, then parses it. It has to name the key that signed it.
 * @param known one that this process has verified: returned where bytes, signature and keys are the same
 * @throws RuntimeError where the signature does not fit or the manifest cannot be used, of reason "runtime_key_unknown"
 *   where it names another key; ValueError for an anchor that is not a key
 */
export async function verifyManifest(
  bytes: Uint8Array,
  signature: Uint8Array,
  anchors: ReleaseAnchors,
  known?: SignedManifest,
): Promise<SignedManifest> {
  if (
    known?.anchors.keys.every(({ id }, index) => id === anchors.keys[index]?.id) &&
    Buffer.compare(known.bytes, bytes) === 0 &&
    Buffer.compare(known.signature, signature) === 0
  ) {
    return known;
  }
  const key = await requireSignature(bytes, signature, anchors);
  const manifest = parseManifest(bytes);
  if (manifest.key_id !== key.id)
    throw new RuntimeError("telys_manifest.json cannot be used: key_id is not that of the key which signed it");
  return { manifest, bytes, signature, key, anchors } as SignedManifest;
}

/** Verifies an artifact's size and hash; undefined where they differ. */
export function verifyArtifact(artifact: Artifact, bytes: Uint8Array): VerifiedArtifact | undefined {
  const fits = bytes.length === artifact.size_bytes && sha256(bytes) === artifact.sha256;
  return fits ? ({ artifact, bytes } as VerifiedArtifact) : undefined;
}

/** This machine's platform. @throws RuntimeError where no runtime is built for it */
export function requirePlatform(): PlatformTag {
  const tag = platformTag();
  if (!tag) throw new RuntimeError(`there is no native runtime for ${process.platform} on ${process.arch}`);
  return tag;
}

/**
 * The manifest of the install in `dir`, read and verified.
 * @param known as for `verifyManifest`
 * @throws RuntimeError where nothing is installed ("runtime_missing"), or it is not signed or of another platform
 *   ("runtime_invalid"), or signed by a key that is not in force ("runtime_key_unknown")
 */
export async function readSigned(
  dir: string,
  tag: PlatformTag,
  anchors: ReleaseAnchors,
  known?: SignedManifest,
): Promise<SignedManifest> {
  const bytes = readPart(dir, "telys_manifest.json", RUNTIME_MANIFEST_BYTES_MAX);
  const signature = readPart(dir, "telys_manifest.sig", RUNTIME_SIGNATURE_BYTES_MAX);
  if (!bytes && !signature)
    throw new RuntimeError("the native runtime is not installed: run 'svc runtime install'", "runtime_missing");
  if (!bytes || !signature) throw notVerified(`telys_manifest.${bytes ? "sig" : "json"} is missing`);
  let signed: SignedManifest;
  try {
    signed = await verifyManifest(bytes, signature, anchors, known);
  } catch (error) {
    if (error instanceof RuntimeError && error.reason === "runtime_key_unknown") throw unknownKey(anchors);
    throw error instanceof RuntimeError ? notVerified(error.message) : error;
  }
  const { platform } = signed.manifest;
  if (platform !== tag) throw notVerified(`telys_manifest.json is for ${platform}, not ${tag}`);
  return signed;
}

/** The verified bytes of an installed artifact, read once. @throws RuntimeError naming the file */
export function readArtifact(dir: string, artifact: Artifact): VerifiedArtifact {
  const bytes = readPart(dir, artifact.name, artifact.size_bytes);
  if (!bytes) throw notVerified(`${artifact.name} is missing`);
  const found = verifyArtifact(artifact, bytes);
  if (!found) throw notVerified(`${artifact.name} is not the file that was signed`);
  return found;
}

/** A file of the install, never through a link; one that is too large or no regular file does not verify. */
function readPart(dir: string, name: string, maxBytes: number): Uint8Array | undefined {
  try {
    return readCapped(`${dir}/${name}`, maxBytes, { noFollow: true });
  } catch (error) {
    if (error instanceof SvcError) throw notVerified(error.message);
    throw error;
  }
}

/** An install from before a change of keys, or of another svc: it is replaced without further questions. */
function unknownKey({ override }: ReleaseAnchors): RuntimeError {
  const key = override ? `another key than the one in ${override}` : "a key that this svc does not know";
  return new RuntimeError(
    `the installed native runtime is signed by ${key}: 'svc login' or 'svc runtime install' replaces it`,
    "runtime_key_unknown",
  );
}

function notVerified(what: string): RuntimeError {
  return new RuntimeError(
    `the native runtime is not verified: ${what}; run 'svc runtime install' again`,
    "runtime_invalid",
  );
}
