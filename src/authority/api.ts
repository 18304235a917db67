/**
 * The endpoints behind a token or API key: onboarding, registration of a device, its licence, the runtime's bundles.
 */
import { createPublicKey, randomBytes, verify } from "node:crypto";
import { keyThumbprint } from "../account/device.ts";
import { PLATFORM_TAGS, type PlatformTag } from "../paths.ts";
import { answerBundle, findBundle } from "./bundles.ts";
import { type Authority, answerError, answerJson, bearerOf, type Call, jsonOf } from "./context.ts";
import { signLicense } from "./keys.ts";

const NONCE_SECONDS = 300;
const DEVICE_ID = /^[0-9a-f]{32}$/;
const THUMBPRINT = /^ed25519:[\w-]{43}$/;

/** POST /v1/svc/onboard with the access token: this device's API key, which replaces an earlier one. */
export async function onboard(authority: Authority, call: Call): Promise<Response> {
  const now = authority.now();
  const token = bearerOf(call.request);
  const account = token === undefined ? undefined : authority.ledger.accountOfToken(token, now);
  if (account === undefined) return unauthorized();
  const deviceId = text(await jsonOf(call.request), "device_id", DEVICE_ID);
  if (deviceId === undefined) return answerError(400, "invalid_request");
  const apiKey = `svk_${randomBytes(32).toString("base64url")}`;
  authority.ledger.setApiKey(apiKey, account, deviceId, now);
  return answerJson(200, { api_key: apiKey, account });
}

/** POST /v1/device/nonce with the API key: a nonce for one device id and one key. */
export async function deviceNonce(authority: Authority, call: Call): Promise<Response> {
  const owner = ownerOf(authority, call);
  if (owner === undefined) return unauthorized();
  const body = await jsonOf(call.request);
  const deviceId = text(body, "device_id", DEVICE_ID);
  const thumbprint = text(body, "key_thumbprint", THUMBPRINT);
  if (deviceId === undefined || thumbprint === undefined) return answerError(400, "invalid_request");
  if (deviceId !== owner.deviceId) return answerError(403, "access_denied");
  const nonce = randomBytes(32).toString("base64url");
  authority.ledger.addNonce(nonce, deviceId, thumbprint, authority.now() + NONCE_SECONDS * 1000);
  return answerJson(200, { nonce, expires_in: NONCE_SECONDS });
}

/** POST /v1/device/register with the API key: checks the device's proof of its key, then licenses it. */
export async function deviceRegister(authority: Authority, call: Call): Promise<Response> {
  const owner = ownerOf(authority, call);
  if (owner === undefined) return unauthorized();
  const body = await jsonOf(call.request);
  const deviceId = text(body, "device_id", DEVICE_ID);
  const thumbprint = text(body, "key_thumbprint", THUMBPRINT);
  const publicKey = text(body, "public_key", /^[\w-]{43}$/);
  const platform = text(body, "platform", /^[a-z0-9_-]{1,40}$/);
  const hostHash = text(body, "host_hash", /^sha256:[0-9a-f]{64}$/);
  const nonce = text(body, "nonce", /^[\w-]{43}$/);
  const signature = text(body, "signature", /^[\w-]{86}$/);
  if (!deviceId || !thumbprint || !publicKey || !platform || !hostHash || !nonce || !signature) {
    return answerError(400, "invalid_request");
  }
  const now = authority.now();
  const { ledger } = authority;
  // The nonce is consumed first, whether or not the rest is valid.
  if (!ledger.takeNonce(nonce, deviceId, thumbprint, now)) return answerError(400, "invalid_nonce");
  if (keyThumbprint(Buffer.from(publicKey, "base64url")) !== thumbprint || !signedBy(publicKey, nonce, signature)) {
    return answerError(403, "invalid_signature");
  }
  const device = { deviceId, thumbprint, publicKey, platform, hostHash, account: owner.account };
  if (!ledger.registerDevice(device, now)) return answerError(409, "device_conflict");
  return answerJson(200, { license: await issueLicense(authority, device, now) });
}

/** GET or HEAD of /runtime/<version>/<tag>.bundle with the API key. */
export async function runtimeBundle(authority: Authority, call: Call): Promise<Response> {
  if (ownerOf(authority, call) === undefined) return unauthorized();
  // One path component each, without a leading dot: no path leaves the directory.
  const match = /^\/runtime\/([0-9A-Za-z][0-9A-Za-z.+-]{0,63})\/([a-z0-9_-]{1,40})\.bundle$/.exec(call.url.pathname);
  const [, version, tag] = match ?? [];
  if (version === undefined || !isPlatformTag(tag)) return answerError(404, "not_found");
  const bundle = await findBundle(authority.bundle, version, tag);
  return bundle === undefined ? answerError(404, "not_found") : answerBundle(call.request, bundle);
}

async function issueLicense(
  authority: Authority,
  device: { deviceId: string; thumbprint: string; account: string },
  now: number,
): Promise<string> {
  const issuedAt = Math.floor(now / 1000);
  const expiresAt = issuedAt + authority.licenseDays * 86_400;
  const { id, jwt } = await signLicense(authority.key, {
    account: device.account,
    deviceThumbprint: device.thumbprint,
    tier: authority.tier,
    features: authority.features,
    issuedAt,
    expiresAt,
    offlineGraceDays: authority.offlineGraceDays,
  });
  authority.ledger.addLicense(id, device.deviceId, authority.tier, issuedAt * 1000, expiresAt * 1000);
  return jwt;
}

function ownerOf(authority: Authority, call: Call): { account: string; deviceId: string } | undefined {
  const apiKey = bearerOf(call.request);
  return apiKey === undefined ? undefined : authority.ledger.ownerOfApiKey(apiKey);
}

/** Ed25519 over the nonce's characters (RFC 8032 §5.1.7). */
function signedBy(publicKey: string, nonce: string, signature: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    return verify(null, new TextEncoder().encode(nonce), key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}

function unauthorized(): Response {
  return answerError(401, "invalid_token", { "www-authenticate": "Bearer" });
}

function isPlatformTag(value: string | undefined): value is PlatformTag {
  return (PLATFORM_TAGS as readonly (string | undefined)[]).includes(value);
}

function text(body: Record<string, unknown> | undefined, field: string, shape: RegExp): string | undefined {
  const value = body?.[field];
  return typeof value === "string" && shape.test(value) ? value : undefined;
}
