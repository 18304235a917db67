/**
 * The RELEASE keys, compiled in or replaced by the environment (an organisation's own, air gap), and the check of their
 * signatures: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2) over the exact bytes of the manifest; the signature
 * is raw bytes.
 *
 * An executable knows two keys, the current one and the next: a release that the next one signed is taken by the
 * executables before it, and can end the key before.
 *
 * WebCrypto needs no import: importing `node:crypto` costs more than the verification.
 */

import { buildInfo } from "../../build-info.ts";
import { importRsaKey, spkiOf } from "../../checks/rsa-key.ts";
import { RuntimeError, ValueError } from "../../errors.ts";
import { RSA_BITS_MIN, RUNTIME_SIGNATURE_BYTES_MAX } from "../../limits.ts";
import type { Env } from "../../paths.ts";
import { keyInEnvironment } from "../account/trusted/anchors.ts";
import { claimedKeyId } from "./bundle-manifest.ts";

/** A public key, SPKI in PEM, and its id. */
export interface ReleaseKey {
  readonly pem: string;
  readonly id: string;
}

/** The public keys that releases are believed by, and their source. */
export interface ReleaseAnchors {
  /** Built in: the current one and the next. Of the environment: one. */
  readonly keys: readonly ReleaseKey[];
  /** The variable that replaces the built-in keys, or null. */
  readonly override: "SVC_RELEASE_PUBKEY" | "SVC_RELEASE_PUBKEY_FILE" | null;
}

/**
 * The release keys in force: SVC_RELEASE_PUBKEY, then SVC_RELEASE_PUBKEY_FILE, then the built-in ones.
 * @throws PermissionError in an authority's own build, whose keys are fixed; ValueError where the environment's file
 *   cannot be used, or is not a public key in PEM
 */
export function releaseAnchors(env: Env): ReleaseAnchors {
  const given = keyInEnvironment(env, "SVC_RELEASE_PUBKEY");
  if (!given) return builtInAnchors();
  return { keys: [{ pem: given.pem, id: keyId(given.pem, given.source) }], override: given.source };
}

/** The keys of this executable: the current one, then the next. */
export function builtInAnchors(): ReleaseAnchors {
  return { keys: buildInfo().releasePublicKeys.map((pem) => ({ pem, id: keyId(pem) })), override: null };
}

/**
 * The id of a release key: the first 32 hex digits of SHA-256 over its SPKI in DER. 128 bits are enough against a key
 * that is made for the id of another (a second preimage); what is believed is the signature and never the id.
 * @param source the variable that has it, for the error; null for a built-in key
 * @throws ValueError where it is not a public key in PEM
 */
export function keyId(pem: string, source: ReleaseAnchors["override"] = null): string {
  return new Bun.CryptoHasher("sha256").update(derOf(pem, source)).digest("hex").slice(0, 32);
}

/**
 * The key that signed a manifest, of those in force.
 * @param name of the manifest's file and that of its signature, without `.json` and `.sig`
 * @throws RuntimeError where none of them did, of reason "runtime_key_unknown" where the manifest names another key;
 *   ValueError where a key is not an RSA public key of at least 3072 bits
 */
export async function requireSignature(
  manifest: Uint8Array,
  signature: Uint8Array,
  anchors: ReleaseAnchors,
  name = "telys_manifest",
): Promise<ReleaseKey> {
  const possible = signature.length > 0 && signature.length <= RUNTIME_SIGNATURE_BYTES_MAX;
  const [sig, data] = [asBuffer(signature), asBuffer(manifest)];
  for (const key of anchors.keys) {
    const publicKey = await importKey(key.pem, anchors.override);
    if (possible && (await crypto.subtle.verify("RSASSA-PKCS1-v1_5", publicKey, sig, data))) return key;
  }
  const claimed = claimedKeyId(manifest);
  if (claimed !== undefined && !anchors.keys.some(({ id }) => id === claimed)) {
    const known = anchors.override ? `is not the one in ${anchors.override}` : "this svc does not know";
    throw new RuntimeError(`${name}.json names a release key that ${known} (${claimed})`, "runtime_key_unknown");
  }
  const key = anchors.override ? `the key in ${anchors.override}` : "the release keys of this svc";
  throw new RuntimeError(`${name}.sig does not fit ${name}.json under ${key}`);
}

async function importKey(pem: string, override: ReleaseAnchors["override"]): Promise<CryptoKey> {
  const der = derOf(pem, override);
  const { key, bits } = await importRsaKey(der).catch(() => {
    throw new ValueError(`${named(override)} is not an RSA public key`);
  });
  if (bits < RSA_BITS_MIN)
    throw new ValueError(`${named(override)} has ${bits} bits; at least ${RSA_BITS_MIN} are needed`);
  return key;
}

function derOf(pem: string, override: ReleaseAnchors["override"]): Uint8Array<ArrayBuffer> {
  const der = spkiOf(pem);
  if (!der) throw new ValueError(`${named(override)} is not one public key in PEM (BEGIN PUBLIC KEY)`);
  return der;
}

function named(override: ReleaseAnchors["override"]): string {
  return override ?? "a built-in release key";
}

/** WebCrypto's types exclude memory shared between threads; ours never is. */
function asBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
