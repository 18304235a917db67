/** What devices send: fields of one shape each, and proofs that they have their keys. All of it is untrusted input. */
import { createPublicKey, verify } from "node:crypto";
import { checkDeviceName } from "../../checks/device-name.ts";
import { attempt } from "../../errors.ts";
import { keyThumbprint } from "../account/device.ts";
import { type ProofPurpose, proofMessage } from "../account/device-proof.ts";
import { answerError } from "./context.ts";

export const DEVICE_ID = /^[0-9a-f]{32}$/;
export const THUMBPRINT = /^ed25519:[\w-]{43}$/;
const PUBLIC_KEY = /^[\w-]{43}$/;
const SIGNATURE = /^[\w-]{86}$/;
const PLATFORM = /^[a-z0-9_-]{1,40}$/;
const HOST_HASH = /^sha256:[0-9a-f]{64}$/;

/** A body's members, as `jsonOf` gives them. */
type Body = Record<string, unknown> | undefined;

/** A device and the key that it has proved to have. */
export interface ProvenDevice {
  readonly deviceId: string;
  readonly thumbprint: string;
  readonly publicKey: string;
}

/** A text of a shape, or undefined. */
export function textOf(body: Body, field: string, shape: RegExp): string | undefined {
  const value = body !== undefined && Object.hasOwn(body, field) ? body[field] : undefined;
  return typeof value === "string" && shape.test(value) ? value : undefined;
}

/**
 * The device of a request whose key signed `message`.
 * @returns the answer, where fields are missing or of another shape (400), or the signature or the thumbprint is not of
 *   the key (403)
 */
export function provenDevice(body: Body, message: (deviceId: string) => Uint8Array): ProvenDevice | Response {
  const deviceId = textOf(body, "device_id", DEVICE_ID);
  const thumbprint = textOf(body, "key_thumbprint", THUMBPRINT);
  const publicKey = textOf(body, "public_key", PUBLIC_KEY);
  const signature = textOf(body, "signature", SIGNATURE);
  if (!deviceId || !thumbprint || !publicKey || !signature) return answerError(400, "invalid_request");
  const raw = Buffer.from(publicKey, "base64url");
  // Of the four texts that decode alike one is the key: a device has one public key, one thumbprint, one record.
  if (raw.toString("base64url") !== publicKey) return answerError(400, "invalid_request");
  const isProof = keyThumbprint(raw) === thumbprint && signedBy(publicKey, message(deviceId), signature);
  return isProof ? { deviceId, thumbprint, publicKey } : answerError(403, "invalid_signature");
}

/** The same for a secret that the request presents (device-proof.ts). */
export function provenFor(body: Body, purpose: ProofPurpose, secret: string): ProvenDevice | Response {
  return provenDevice(body, (deviceId) => proofMessage(purpose, deviceId, secret));
}

/** What a device says of itself: not verified. */
export interface DeviceDescription {
  readonly platform: string;
  readonly hostHash: string;
  /** Empty where it is not named. */
  readonly name: string;
}

/** Undefined where a field is missing, or of another shape. */
export function describedDevice(body: Body): DeviceDescription | undefined {
  const platform = textOf(body, "platform", PLATFORM);
  const hostHash = textOf(body, "host_hash", HOST_HASH);
  const name = nameOf(body);
  return platform && hostHash && name !== undefined ? { platform, hostHash, name } : undefined;
}

function nameOf(body: Body): string | undefined {
  const name = body?.name;
  if (name === undefined) return "";
  return typeof name === "string" ? attempt(() => checkDeviceName(name)) : undefined;
}

/** Ed25519 over the message (RFC 8032 §5.1.7). */
function signedBy(publicKey: string, message: Uint8Array, signature: string): boolean {
  const jwk = { kty: "OKP", crv: "Ed25519", x: publicKey };
  const key = attempt(() => createPublicKey({ key: jwk, format: "jwk" }));
  return key !== undefined && attempt(() => verify(null, message, key, Buffer.from(signature, "base64url"))) === true;
}
