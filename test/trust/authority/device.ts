/** A device that enrols by hand; imports nothing of the test runner, as load is made with it too. */
import { createPrivateKey, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { keyThumbprint } from "../../../src/trust/account/device.ts";
import { type ProofPurpose, proofMessage } from "../../../src/trust/account/device-proof.ts";

/** A device whose requests are made by hand. */
export class Device {
  readonly id = randomUUID().replaceAll("-", "");
  readonly #key: string;
  readonly publicKey: string;
  readonly thumbprint: string;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    this.#key = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
    this.publicKey = publicKey.export({ format: "jwk" }).x!;
    this.thumbprint = keyThumbprint(Buffer.from(this.publicKey, "base64url"));
  }

  /** Ed25519 as base64url. */
  sign(message: Uint8Array): string {
    return sign(null, message, createPrivateKey(this.#key)).toString("base64url");
  }

  proof(purpose: ProofPurpose, secret: string, deviceId = this.id) {
    const signature = this.sign(proofMessage(purpose, deviceId, secret));
    return { device_id: deviceId, key_thumbprint: this.thumbprint, public_key: this.publicKey, signature };
  }

  /** The body of an enrolment. */
  enrollment(key: string, more: Record<string, unknown> = {}): Record<string, unknown> {
    const hostHash = `sha256:${"0".repeat(64)}`;
    return { ...this.proof("enroll", key), platform: "linux-x86_64", host_hash: hostHash, ...more };
  }

  enroll(url: string, key: string, more: Record<string, unknown> = {}): Promise<Response> {
    return post(`${url}/v1/svc/enroll`, key, this.enrollment(key, more));
  }

  /** A registration with a nonce, as after an onboarding. */
  async register(url: string, apiKey: string): Promise<Response> {
    const { signature: _, ...identity } = this.enrollment("");
    const issued = await post(`${url}/v1/device/nonce`, apiKey, identity);
    const { nonce } = (await issued.json()) as { nonce: string };
    const signature = this.sign(new TextEncoder().encode(nonce));
    return post(`${url}/v1/device/register`, apiKey, { ...identity, nonce, signature });
  }
}

export function post(url: string, bearer: string | undefined, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", ...(bearer && { authorization: `Bearer ${bearer}` }) };
  return fetch(url, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
}

/** The status and the code of an error, as `403 enroll_key_used`; of an answer without one the status alone. */
export async function outcome(answer: Promise<Response> | Response): Promise<string> {
  const response = await answer;
  const { error } = (await response.json()) as { error?: string };
  return error === undefined ? `${response.status}` : `${response.status} ${error}`;
}
