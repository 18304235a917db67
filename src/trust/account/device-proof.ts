/**
 * A device's proof that it has its key, for one secret that it presents: an enrolment key or an access token. The
 * signature names the device and the secret, so that it is of no use for another of either.
 */
import type { Device } from "./device.ts";

/** What a proof is for: one is not the other. */
export type ProofPurpose = "enroll" | "onboard";

/** A proof as it travels. */
export interface DeviceProof {
  readonly device_id: string;
  readonly key_thumbprint: string;
  /** The raw 32 bytes as base64url. */
  readonly public_key: string;
  /** Ed25519 (RFC 8032) over `proofMessage`, as base64url. */
  readonly signature: string;
}

/** How every message begins that is signed for a purpose: no nonce of a server may. */
export const PROOF_PREFIX = "svc-";

/** `svc-<purpose>:v1:<device id>:<base64url(sha256(secret))>` */
export function proofMessage(purpose: ProofPurpose, deviceId: string, secret: string): Uint8Array {
  const digest = new Bun.CryptoHasher("sha256").update(secret).digest("base64url");
  return new TextEncoder().encode(`${PROOF_PREFIX}${purpose}:v1:${deviceId}:${digest}`);
}

/** This device's proof for a secret. */
export async function proveDevice(purpose: ProofPurpose, device: Device, secret: string): Promise<DeviceProof> {
  const signature = await device.sign(proofMessage(purpose, device.id, secret));
  return {
    device_id: device.id,
    key_thumbprint: device.thumbprint,
    public_key: Buffer.from(device.publicKey).toString("base64url"),
    signature: Buffer.from(signature).toString("base64url"),
  };
}
