/**
 * The RELEASE keys. One signs the manifest of every bundle: its holder decides what every install will load.
 * Executables know the public half of a second one, the next, so that a release which that one signed is believed by
 * those before it.
 *
 * A checkout makes development keys once (`.keys/release.pem` and `.keys/release_next.pem`, 0600, never committed); a
 * real release passes its key by --release-key, SVC_RELEASE_KEY or SVC_RELEASE_KEY_FILE and the public half of the next
 * one in SVC_NEXT_RELEASE_PUBKEY or SVC_NEXT_RELEASE_PUBKEY_FILE.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { makeDirectory, readCapped, readSecret, writeDurable } from "../durable.ts";
import { RSA_BITS_MIN, SECRET_BYTES_MAX } from "../limits.ts";
import type { Env } from "../paths.ts";
import { BuildError } from "./step.ts";

/** Where keys are given to a build. */
export interface GivenKeys {
  readonly env?: Env;
  /** The file of `--release-key`. */
  readonly file?: string | undefined;
}

/**
 * The key that signs: of `--release-key`, SVC_RELEASE_KEY, SVC_RELEASE_KEY_FILE, or the checkout's own, made on first
 * use.
 * @throws BuildError where it is not an RSA key of at least 3072 bits; PermissionError where others can read the file
 */
export function releaseKey(root: string, { env = process.env, file }: GivenKeys = {}): KeyObject {
  const read = (path: string) => readSecret(path, SECRET_BYTES_MAX, root);
  const named = file === undefined ? given(env, "SVC_RELEASE_KEY", read) : text("--release-key", file, read);
  const pem = named ?? own(root, "release");
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new BuildError("the release key is not a private key in PEM");
  }
  return strong(key, "the release key");
}

/**
 * The public half of the key that signs after this one: SVC_NEXT_RELEASE_PUBKEY, SVC_NEXT_RELEASE_PUBKEY_FILE, or of
 * the checkout's second one. A release by a key of its own needs one too: the executable would else believe a key that
 * lies in a checkout.
 * @throws BuildError where there is none, or it is not an RSA public key of at least 3072 bits, or the current one
 */
export function nextReleaseKey(
  root: string,
  current: KeyObject,
  { env = process.env, file }: GivenKeys = {},
): KeyObject {
  const pem = given(env, "SVC_NEXT_RELEASE_PUBKEY", (path) => readCapped(path, SECRET_BYTES_MAX));
  if (pem === undefined && (file !== undefined || env.SVC_RELEASE_KEY || env.SVC_RELEASE_KEY_FILE))
    throw new BuildError("a release key is given: give the next one's public half in SVC_NEXT_RELEASE_PUBKEY[_FILE]");
  if (pem?.includes("PRIVATE KEY"))
    throw new BuildError("SVC_NEXT_RELEASE_PUBKEY is a private key: only its public half belongs here");
  let key: KeyObject;
  try {
    key = createPublicKey(pem ?? own(root, "release_next"));
  } catch {
    throw new BuildError("the next release key is not a public key in PEM");
  }
  if (key.equals(createPublicKey(current))) throw new BuildError("the next release key is the current one");
  return strong(key, "the next release key");
}

/** The public half for the executable, SPKI in PEM. */
export function publicPem(key: KeyObject): string {
  const half = key.type === "private" ? createPublicKey(key) : key;
  return half.export({ type: "spki", format: "pem" }).toString();
}

/** @throws BuildError unless it is RSA with enough bits */
function strong(key: KeyObject, what: string): KeyObject {
  if (key.asymmetricKeyType === "rsa" && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN) return key;
  throw new BuildError(`${what} must be RSA with at least ${RSA_BITS_MIN} bits`);
}

/**
 * A PEM in the variable `name`, else in the file that `name`_FILE names. @throws BuildError where there is no such file
 */
function given(env: Env, name: string, read: (path: string) => Uint8Array | undefined): string | undefined {
  const pem = env[name]?.replaceAll("\\n", "\n");
  if (pem) return pem;
  const path = env[`${name}_FILE`];
  return path ? text(`${name}_FILE`, path, read) : undefined;
}

function text(name: string, path: string, read: (path: string) => Uint8Array | undefined): string {
  const bytes = read(path);
  if (!bytes) throw new BuildError(`${name} names a file that does not exist`);
  return new TextDecoder().decode(bytes);
}

/** A private key of the checkout, made on first use. */
function own(root: string, name: string): string {
  const path = join(root, ".keys", `${name}.pem`);
  const existing = readSecret(path, SECRET_BYTES_MAX, root);
  if (existing) return new TextDecoder().decode(existing);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: RSA_BITS_MIN });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  makeDirectory(join(root, ".keys"));
  writeDurable(path, pem);
  return pem;
}
