/**
 * This machine's identity: a random id and an Ed25519 key (RFC 8032), both made once. Licences are bound to the key's
 * thumbprint, so a licence copied to another machine is invalid there.
 *
 * Every first tool call reads the identity: WebCrypto needs no import for it, node:crypto costs 1.4 ms of one.
 * @noble/ed25519 costs 29–54 ms for its first signature and is imported when a login makes or uses the key.
 */
import { hostname } from "node:os";
import { PermissionError } from "../../errors.ts";
import { accountPaths } from "../../paths.ts";
import { createOnce, ensurePrivateDirectory, secretText } from "./files.ts";

/** The public part of this machine's identity. */
export interface DeviceIdentity {
  /** A uuid4 as 32 hex digits. */
  readonly id: string;
  /** `ed25519:<base64url(sha256(raw public key))>`. */
  readonly thumbprint: string;
  /** The raw 32 bytes of the public key. */
  readonly publicKey: Uint8Array;
}

/** This machine's identity with its private key. */
export interface Device extends DeviceIdentity {
  /** Ed25519 over the message, 64 bytes (RFC 8032 §5.1.6). */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /**
   * The host name, hashed with a salt that only this device can derive: it identifies the machine and hides the name.
   */
  readonly hostHash: string;
  /**
   * Puts its files back where a logout has removed them: a token that a person is just approving is bound to this key.
   * An identity that was made since then stands. The caller holds the login's lock.
   */
  restore(): void;
}

/**
 * This machine's identity, made on first use: the key first, then the id, each durable before the next begins.
 * @throws PermissionError if a file is damaged or others can read it.
 */
export async function ensureDevice(home: string): Promise<Device> {
  const paths = accountPaths(home);
  ensurePrivateDirectory(home, home);
  let pem = secretText(home, paths.deviceKey);
  if (pem === undefined) {
    createOnce(paths.deviceKey, await newKeyPem());
    pem = secretText(home, paths.deviceKey);
  }
  let id = secretText(home, paths.deviceId);
  if (id === undefined) {
    createOnce(paths.deviceId, `${crypto.randomUUID().replaceAll("-", "")}\n`);
    id = secretText(home, paths.deviceId);
  }
  const { seed, publicKey } = await parseKey(pem ?? "");
  return {
    id: checkedId(id ?? ""),
    publicKey,
    thumbprint: keyThumbprint(publicKey),
    sign: async (message) => (await import("@noble/ed25519")).signAsync(message, seed),
    hostHash: hostHash(seed),
    restore: () => {
      if ([paths.deviceKey, paths.deviceId].some((path) => secretText(home, path) !== undefined)) return;
      createOnce(paths.deviceKey, `${pem}\n`);
      createOnce(paths.deviceId, `${id}\n`);
    },
  };
}

/**
 * The identity on disk, or `undefined` where the key or the id is missing.
 * @throws PermissionError if a file is damaged or others can read it.
 */
export async function readDevice(home: string): Promise<DeviceIdentity | undefined> {
  const paths = accountPaths(home);
  const pem = secretText(home, paths.deviceKey);
  const id = secretText(home, paths.deviceId);
  if (pem === undefined || id === undefined) return undefined;
  const { publicKey } = await parseKey(pem);
  return { id: checkedId(id), publicKey, thumbprint: keyThumbprint(publicKey) };
}

/** The thumbprint that licences hold for a device key, in the manner of RFC 7638 and RFC 9449's `jkt`. */
export function keyThumbprint(rawPublicKey: Uint8Array): string {
  return `ed25519:${new Bun.CryptoHasher("sha256").update(rawPublicKey).digest("base64url")}`;
}

/** The bytes before the 32-byte seed in the PKCS #8 form of an Ed25519 key (RFC 8410 §7). */
const PKCS8_PREFIX = "302e020100300506032b657004220420";
/** The label of its PEM form (RFC 7468 §10). */
const LABEL = "PRIVATE KEY";

async function newKeyPem(): Promise<string> {
  const { secretKey } = await (await import("@noble/ed25519")).keygenAsync();
  const body = Buffer.concat([Buffer.from(PKCS8_PREFIX, "hex"), secretKey]).toString("base64");
  return `-----BEGIN ${LABEL}-----\n${body}\n-----END ${LABEL}-----\n`;
}

async function parseKey(pem: string): Promise<{ seed: Uint8Array; publicKey: Uint8Array }> {
  const [, begin, body = "", end] =
    /^-----BEGIN ([A-Z ]+)-----([A-Za-z0-9+/=\s]+)-----END ([A-Z ]+)-----$/.exec(pem) ?? [];
  if (begin !== LABEL || end !== LABEL) throw damaged("device_key.pem");
  try {
    const key = await crypto.subtle.importKey("pkcs8", Buffer.from(body, "base64"), "Ed25519", true, ["sign"]);
    const { d, x } = await crypto.subtle.exportKey("jwk", key);
    return { seed: Buffer.from(d!, "base64url"), publicKey: new Uint8Array(Buffer.from(x!, "base64url")) };
  } catch {
    throw damaged("device_key.pem");
  }
}

function checkedId(id: string): string {
  if (!/^[0-9a-f]{32}$/.test(id)) throw damaged("device_id");
  return id;
}

function damaged(name: string): PermissionError {
  return new PermissionError(`${name} is damaged: run 'svc logout', then 'svc login'`);
}

function hostHash(seed: Uint8Array): string {
  const salt = new Bun.CryptoHasher("sha256", seed).update("svc host salt v1").digest();
  return `sha256:${new Bun.CryptoHasher("sha256", salt).update(hostname()).digest("hex")}`;
}
