/** The requests after the token: an API key, the device's registration, the licence. */
import { PermissionError, RuntimeError } from "../errors.ts";
import { platformTag } from "../paths.ts";
import type { Device } from "./device.ts";
import { type HttpAnswer, httpRequest, jsonObject, printableField } from "./http.ts";

const PEER = "the api server";

/**
 * Exchanges the access token for this device's API key. A repetition replaces the key.
 * @throws PermissionError if the token is refused; and what httpRequest throws.
 */
export async function onboard(api: string, token: string, device: Device, signal?: AbortSignal): Promise<string> {
  const answer = await post(api, "/v1/svc/onboard", token, { device_id: device.id }, signal);
  if (answer.status === 401)
    throw new PermissionError("the token is refused: run 'svc login' without one to get another");
  return printableField(accepted(answer), "api_key", PEER);
}

/**
 * Registers the device and returns its licence, not yet verified. The device proves possession of its key by signing
 * the server's nonce, which is valid once, for this id and this thumbprint.
 * @throws PermissionError if the API key or the device is refused; and what httpRequest throws.
 */
export async function registerDevice(
  api: string,
  apiKey: string,
  device: Device,
  signal?: AbortSignal,
): Promise<string> {
  const identity = { device_id: device.id, key_thumbprint: device.thumbprint };
  const issued = await post(api, "/v1/device/nonce", apiKey, identity, signal);
  const nonce = printableField(accepted(issued), "nonce", PEER, 256);
  const signature = await device.sign(new TextEncoder().encode(nonce));
  const answer = await post(
    api,
    "/v1/device/register",
    apiKey,
    {
      ...identity,
      public_key: Buffer.from(device.publicKey).toString("base64url"),
      platform: platformTag() ?? `${process.platform}-${process.arch}`,
      host_hash: device.hostHash,
      nonce,
      signature: Buffer.from(signature).toString("base64url"),
    },
    signal,
  );
  return printableField(accepted(answer), "license", PEER);
}

function post(api: string, path: string, bearer: string, json: unknown, signal?: AbortSignal): Promise<HttpAnswer> {
  return httpRequest(api, path, { peer: PEER, method: "POST", json, bearer, signal });
}

function accepted(answer: HttpAnswer): Record<string, unknown> {
  const { status } = answer;
  if (status === 200 || status === 201) return jsonObject(answer, PEER);
  if (status === 401) throw new PermissionError("the API key is refused: run 'svc login' again", "unauthorized");
  if (status === 403) throw new PermissionError("the authority refuses to license this device", "denied");
  if (status === 409) {
    throw new PermissionError("the device id is registered with another key: run 'svc logout', then 'svc login'");
  }
  throw new RuntimeError(`${PEER} answered with status ${status}: try again later`);
}
