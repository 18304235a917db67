/**
 * The RELEASE key, compiled in or replaced by the environment (rotation, air gap), and the check of its signatures:
 * RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2) over the exact bytes of the manifest; the signature is raw
 * bytes.
 *
 * WebCrypto needs no import: importing `node:crypto` costs more than the verification.
 */
import { keyInEnvironment } from "../account/anchors.ts";
import { buildInfo } from "../build-info.ts";
import { RuntimeError, ValueError } from "../errors.ts";
import { RUNTIME_SIGNATURE_BYTES_MAX } from "../limits.ts";
import type { Env } from "../paths.ts";

/** Shorter RSA keys are breakable; our own have 3072 bits. */
const MODULUS_BITS_MIN = 2048;

/** A public key and its source. */
export interface ReleaseAnchor {
  pem: string;
  /** The variable that replaces the built-in key, or null. */
  override: "SVC_RELEASE_PUBKEY" | "SVC_RELEASE_PUBKEY_FILE" | null;
}

/**
 * The release key in force: SVC_RELEASE_PUBKEY, then SVC_RELEASE_PUBKEY_FILE, then the built-in one.
 * @throws ValueError where the environment's file cannot be used
 */
export function releaseAnchor(env: Env): ReleaseAnchor {
  const given = keyInEnvironment(env, "SVC_RELEASE_PUBKEY");
  return given ? { pem: given.pem, override: given.source } : { pem: buildInfo().releasePublicKey, override: null };
}

/**
 * Checks that a manifest was signed by the release key.
 * @throws RuntimeError where it was not; ValueError where the key is no RSA public key of at least 2048 bits
 */
export async function requireSignature(
  manifest: Uint8Array,
  signature: Uint8Array,
  anchor: ReleaseAnchor,
): Promise<void> {
  const publicKey = await importKey(anchor);
  const possible = signature.length > 0 && signature.length <= RUNTIME_SIGNATURE_BYTES_MAX;
  const [sig, data] = [asBuffer(signature), asBuffer(manifest)];
  if (possible && (await crypto.subtle.verify("RSASSA-PKCS1-v1_5", publicKey, sig, data))) return;
  const key = anchor.override ? `the key in ${anchor.override}` : "the release key of this svc";
  throw new RuntimeError(`telys_manifest.sig does not fit telys_manifest.json under ${key}`);
}

async function importKey(anchor: ReleaseAnchor): Promise<CryptoKey> {
  const source = anchor.override ?? "the built-in release key";
  const body = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(anchor.pem)?.[1];
  if (!body) throw new ValueError(`${source} is not one public key in PEM (BEGIN PUBLIC KEY)`);
  let key: CryptoKey;
  try {
    const der = Buffer.from(body, "base64");
    key = await crypto.subtle.importKey("spki", der, { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, false, ["verify"]);
  } catch {
    throw new ValueError(`${source} is not an RSA public key`);
  }
  const { modulusLength } = key.algorithm as unknown as { modulusLength: number };
  if (modulusLength < MODULUS_BITS_MIN)
    throw new ValueError(`${source} has ${modulusLength} bits; at least 2048 are needed`);
  return key;
}

/** WebCrypto's types exclude memory shared between threads; ours never is. */
function asBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
