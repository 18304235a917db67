/**
 * The endpoints behind a token or API key: onboarding, registration of a device, its licence, the runtime's bundles.
 */
import { randomBytes } from "node:crypto";
import { PLATFORM_TAGS, type PlatformTag } from "../../paths.ts";
import { findBundle } from "./bundles.ts";
import {
  type Authority,
  answerBytes,
  answerError,
  answerJson,
  answerUnauthorized,
  bearerOf,
  type Call,
  jsonOf,
  type Routes,
} from "./context.ts";
import { DEVICE_ID, describedDevice, provenDevice, provenFor, THUMBPRINT, textOf } from "./device-requests.ts";
import type { ApiKeyOwner, TokenOwner } from "./ledger/access.ts";
import { type RecordedLicense, recordLicense, signRecorded } from "./licensing.ts";

const NONCE_SECONDS = 300;

/**
 * POST /v1/svc/onboard with the access token and the proof of the device's key: this device's API key, which replaces
 * an earlier one. The token is then of use to no other device; one that a device flow gave is so from the beginning.
 *
 * A client that names no key, neither for its code nor here, is taken by its device id alone: older executables and
 * clients of other makes do so. Its token is the first device's that shows it, and its key is proved at the
 * registration.
 */
async function onboard(authority: Authority, call: Call): Promise<Response> {
  const { ledger } = authority;
  const now = authority.now();
  const token = bearerOf(call.request);
  const owner = token === undefined ? undefined : ledger.access.tokenOwner(token, now);
  if (token === undefined || owner === undefined) return answerUnauthorized("invalid_token", token);
  const device = onboarding(await jsonOf(call.request), token, owner);
  if (device instanceof Response) return owner.revoked ? answerError(403, "device_revoked") : device;
  const { deviceId, thumbprint } = device;
  call.fields.device = deviceId;
  // With a copied token another device was revoked, and this one must not give up its login for it.
  const isOwn = (owner.deviceId ?? deviceId) === deviceId && (owner.thumbprint ?? thumbprint) === thumbprint;
  if (owner.revoked) return answerError(403, isOwn ? "device_revoked" : "token_bound");
  return ledger.commit(() => {
    const known = ledger.devices.get(deviceId);
    const isOther = thumbprint === null ? known?.account !== owner.account : known?.thumbprint !== thumbprint;
    if (known !== undefined && isOther) return answerError(409, "device_conflict");
    const keyed = thumbprint ?? known?.thumbprint;
    if (keyed !== undefined && ledger.devices.ofKey(keyed).some(({ revokedAt }) => revokedAt !== null))
      return answerError(403, "device_revoked");
    if (!ledger.access.bindToken(token, deviceId, thumbprint)) return answerError(403, "token_bound");
    const apiKey = newApiKey();
    ledger.access.setApiKey(apiKey, owner.account, deviceId, now);
    return answerJson(200, { api_key: apiKey, account: owner.account });
  });
}

/** The device that onboards; its key is null where neither the token nor the request names one. */
function onboarding(body: Record<string, unknown> | undefined, token: string, owner: TokenOwner) {
  const deviceId = textOf(body, "device_id", DEVICE_ID);
  const namesKey = ["key_thumbprint", "public_key", "signature"].some((field) => body?.[field] !== undefined);
  if (owner.thumbprint !== null || namesKey || deviceId === undefined) return provenFor(body, "onboard", token);
  return { deviceId, thumbprint: null };
}

/** POST /v1/device/nonce with the API key: a nonce for one device id and one key. */
async function deviceNonce(authority: Authority, call: Call): Promise<Response> {
  const owner = ownerOf(authority, call);
  if (owner instanceof Response) return owner;
  const body = await jsonOf(call.request);
  const deviceId = textOf(body, "device_id", DEVICE_ID);
  const thumbprint = textOf(body, "key_thumbprint", THUMBPRINT);
  if (deviceId === undefined || thumbprint === undefined) return answerError(400, "invalid_request");
  if (deviceId !== owner.deviceId) return answerError(403, "access_denied");
  const nonce = randomBytes(32).toString("base64url");
  const { ledger } = authority;
  const now = authority.now();
  await ledger.commit(() => {
    ledger.purge(now);
    ledger.access.addNonce(nonce, deviceId, thumbprint, now + NONCE_SECONDS * 1000);
  });
  return answerJson(200, { nonce, expires_in: NONCE_SECONDS });
}

/** POST /v1/device/register with the API key: checks the device's proof of its key, then licenses it. */
async function deviceRegister(authority: Authority, call: Call): Promise<Response> {
  const owner = ownerOf(authority, call);
  if (owner instanceof Response) return owner;
  const { account } = owner;
  const body = await jsonOf(call.request);
  const nonce = textOf(body, "nonce", /^[\w-]{43}$/);
  const description = describedDevice(body);
  if (nonce === undefined || description === undefined) return answerError(400, "invalid_request");
  const proven = provenDevice(body, () => new TextEncoder().encode(nonce));
  // Without the fields there is no nonce to consume.
  if (proven instanceof Response && proven.status === 400) return proven;
  const now = authority.now();
  const { ledger } = authority;
  const outcome = await ledger.commit((): Response | RecordedLicense => {
    const [deviceId, thumbprint] = [textOf(body, "device_id", DEVICE_ID), textOf(body, "key_thumbprint", THUMBPRINT)];
    // Consumed first, whether or not the rest is valid.
    if (!ledger.access.takeNonce(nonce, deviceId ?? "", thumbprint ?? "", now))
      return answerError(400, "invalid_nonce");
    if (proven instanceof Response) return proven;
    const device = { ...proven, ...description, account };
    const registration = ledger.devices.register(device, now);
    if (registration === "conflict") return answerError(409, "device_conflict");
    if (registration === "revoked") return answerError(403, "device_revoked");
    if (registration === "new") {
      const detail = { account, name: description.name, platform: description.platform };
      const actor = proven.deviceId;
      authority.audit("device_registered", { actor, device: actor, address: call.address, detail });
    }
    return recordLicense(authority, call, device, now);
  });
  if (outcome instanceof Response) return outcome;
  return answerJson(200, { license: await signRecorded(authority, outcome) });
}

/** GET or HEAD of /runtime/<version>/<tag>.bundle with the API key. */
async function runtimeBundle(authority: Authority, call: Call): Promise<Response> {
  const owner = ownerOf(authority, call);
  if (owner instanceof Response) return owner;
  // One path component each, without a leading dot: no path leaves the directory.
  const [version] = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/.exec(call.params.version ?? "") ?? [];
  const [, tag] = /^([a-z0-9_-]{1,40})\.bundle$/.exec(call.params.file ?? "") ?? [];
  if (version === undefined || !isPlatformTag(tag)) return answerError(404, "not_found");
  const bundle = await findBundle(authority.bundles, version, tag);
  return bundle === undefined ? answerError(404, "not_found") : answerBytes(bundle);
}

export const API_ROUTES: Routes = {
  "POST /v1/svc/onboard": onboard,
  "POST /v1/device/nonce": deviceNonce,
  "POST /v1/device/register": deviceRegister,
  "GET /runtime/:version/:file": runtimeBundle,
  "HEAD /runtime/:version/:file": runtimeBundle,
};

/** The account and device of the API key; the answer, if it is not valid or its device is revoked. */
function ownerOf(authority: Authority, call: Call): ApiKeyOwner | Response {
  const apiKey = bearerOf(call.request);
  const owner = apiKey === undefined ? undefined : authority.ledger.access.ownerOfApiKey(apiKey);
  if (owner === undefined) return answerUnauthorized("invalid_token", apiKey);
  call.fields.device = owner.deviceId;
  return owner.revoked ? answerError(403, "device_revoked") : owner;
}

/** A fresh API key: 256 random bits. */
export function newApiKey(): string {
  return `svk_${randomBytes(32).toString("base64url")}`;
}

function isPlatformTag(value: string | undefined): value is PlatformTag {
  return (PLATFORM_TAGS as readonly (string | undefined)[]).includes(value);
}
