/** The requests after the token, or in its place: an API key, the device's registration, the licence. */
import { OSError, PermissionError, RuntimeError, TimeoutError } from "../../../errors.ts";
import { platformTag } from "../../../paths.ts";
import type { Device } from "../device.ts";
import { PROOF_PREFIX, proveDevice } from "../device-proof.ts";
import type { EnrollKeyText } from "../enroll-key.ts";
import type { Endpoints } from "../trusted/endpoints.ts";
import { httpRequest, printableField } from "../trusted/http.ts";
import type { GivenSecrets } from "./given-secrets.ts";
import { accepted, enrollKeyRefusals } from "./refusals.ts";

/** The address of the api server, and the CA of its certificate where it is not one of the system's. */
export type ApiServer = Pick<Endpoints, "api" | "ca">;

const PEER = "the api server";
/** How soon an enrolment is sent again whose answer was lost. The authority answers it again for ten minutes. */
const AGAIN_MS = 500;
/** What a proxy answers in the place of an authority that it has lost. */
const OF_A_PROXY = new Set([502, 504]);

/** How a device is asked for and what it may be called. */
export interface RequestOptions {
  /** A name for the administrator's list; the host name is never sent. */
  readonly name?: string;
  readonly signal?: AbortSignal;
}

/** What an authority gives a device. The licence is not yet verified. */
export interface Issued {
  /** Undefined where the API key was there before. */
  readonly token: string | undefined;
  readonly apiKey: string;
  readonly license: string;
}

/**
 * Has a device licensed with what there is: an enrolment key; else an API key; else a token, for which it is onboarded
 * first.
 * @throws as `enroll`, `onboard` and `registerDevice`
 */
export async function obtainLicense(
  server: ApiServer,
  { enrollKey, token, apiKey: givenKey }: GivenSecrets,
  device: Device,
  options: RequestOptions = {},
): Promise<Issued> {
  if (enrollKey !== undefined) return enroll(server, enrollKey, device, options);
  const apiKey = givenKey ?? (await onboard(server, token ?? "", device, options));
  const license = await registerDevice(server, apiKey, device, options).catch((error) => {
    // A login again would only be given the same one.
    if (givenKey === undefined || !(error instanceof PermissionError && error.reason === "unauthorized")) throw error;
    throw new PermissionError("SVC_API_KEY is refused: set another one, or unset it", "unauthorized");
  });
  return { token, apiKey, license };
}

/**
 * Enrols this device with a key: one request in place of all others. It is sent a second time where no answer came: of
 * a device that has just been enrolled with this key the authority takes it again.
 * @throws PermissionError saying why the key or the device is refused; RuntimeError where the authority cannot enrol at
 *   the moment; and what httpRequest throws.
 */
export async function enroll(
  server: ApiServer,
  key: EnrollKeyText,
  device: Device,
  { name, signal }: RequestOptions = {},
): Promise<Issued> {
  const body = { ...(await proveDevice("enroll", device, key.text)), ...describe(device), ...(name && { name }) };
  const ask = () => post(server, "/v1/svc/enroll", key.text, body, signal);
  let answer = await ask().catch((error) => {
    if (error instanceof OSError || error instanceof TimeoutError) return undefined;
    throw error;
  });
  if (answer === undefined || OF_A_PROXY.has(answer.status)) {
    await Bun.sleep(AGAIN_MS);
    answer = await ask();
  }
  const fields = accepted(answer, server.api, PEER, enrollKeyRefusals(key.id));
  return {
    token: printableField(fields, "access_token", PEER),
    apiKey: printableField(fields, "api_key", PEER),
    license: printableField(fields, "license", PEER),
  };
}

/**
 * Exchanges the access token for this device's API key. A repetition on the same device replaces the key.
 * @throws PermissionError if the token is refused, or is another device's; and what httpRequest throws.
 */
export async function onboard(
  server: ApiServer,
  token: string,
  device: Device,
  { signal }: Omit<RequestOptions, "name"> = {},
): Promise<string> {
  const answer = await post(server, "/v1/svc/onboard", token, await proveDevice("onboard", device, token), signal);
  if (answer.status === 401)
    throw new PermissionError("the token is refused: run 'svc login' without one to get another");
  return printableField(accepted(answer, server.api, PEER), "api_key", PEER);
}

/**
 * Registers the device and returns its licence, not yet verified. The device proves possession of its key by signing
 * the server's nonce, which is valid once, for this id and this thumbprint.
 * @throws PermissionError if the API key or the device is refused; and what httpRequest throws.
 */
export async function registerDevice(
  server: ApiServer,
  apiKey: string,
  device: Device,
  { name, signal }: RequestOptions = {},
): Promise<string> {
  const identity = { device_id: device.id, key_thumbprint: device.thumbprint };
  const issued = await post(server, "/v1/device/nonce", apiKey, identity, signal);
  const nonce = printableField(accepted(issued, server.api, PEER), "nonce", PEER, 256);
  // Signed, it would be a proof for a secret that this device never presented.
  if (nonce.startsWith(PROOF_PREFIX)) throw new RuntimeError(`${PEER} answered without a usable 'nonce'`);
  const signature = await device.sign(new TextEncoder().encode(nonce));
  const answer = await post(
    server,
    "/v1/device/register",
    apiKey,
    {
      ...identity,
      public_key: Buffer.from(device.publicKey).toString("base64url"),
      ...describe(device),
      ...(name && { name }),
      nonce,
      signature: Buffer.from(signature).toString("base64url"),
    },
    signal,
  );
  return printableField(accepted(answer, server.api, PEER), "license", PEER);
}

function describe(device: Device): { platform: string; host_hash: string } {
  return { platform: platformTag() ?? `${process.platform}-${process.arch}`, host_hash: device.hostHash };
}

function post({ api, ca }: ApiServer, path: string, bearer: string, json: unknown, signal?: AbortSignal) {
  return httpRequest(api, path, { peer: PEER, method: "POST", json, bearer, ca, signal });
}
