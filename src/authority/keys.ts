/** The LICENSE key (RS256), made on first use, and the licences it signs. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  randomUUID,
} from "node:crypto";
import { promisify } from "node:util";
import { createOnce, ensurePrivateDirectory, secretText } from "../account/files.ts";
import { LICENSE_AUDIENCE, LICENSE_ISSUER, LICENSE_VERSION } from "../account/license.ts";
import { withLoginLock } from "../account/login-lock.ts";
import { writeDurable } from "../durable.ts";
import { PermissionError } from "../errors.ts";
import { RSA_BITS_MIN } from "../limits.ts";
import { authorityPaths } from "../paths.ts";

export interface LicenseKey {
  readonly privateKey: KeyObject;
  /** SPKI in PEM, for `--license-pubkey` and for machines that use the local authority. */
  readonly publicKeyPem: string;
}

/** Days until a licence expires, where nothing else is asked for: ten years, because a login is meant to be needed once. */
export const LICENSE_DAYS = 3650;

/** The content of a licence; times are in seconds since 1970. */
export interface LicenseGrant {
  readonly account: string;
  readonly deviceThumbprint: string;
  readonly tier: string;
  readonly features: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly offlineGraceDays: number;
}

/**
 * The key under `SVC_HOME/authority`, made on first use; of two made at once, one is kept. Takes the login's lock where
 * it writes.
 * @throws PermissionError if the file is damaged, others can read it, or its key has fewer than 3,072 bits.
 */
export async function ensureLicenseKey(home: string): Promise<LicenseKey> {
  const paths = authorityPaths(home);
  ensurePrivateDirectory(paths.dir, home);
  let pem = secretText(home, paths.licenseKey);
  if (pem === undefined) {
    // Made before the lock is taken: it takes a third of a second, and on a small machine some.
    const made = await newKeyPem();
    await withLoginLock(home, () => createOnce(paths.licenseKey, made));
    pem = secretText(home, paths.licenseKey) ?? "";
  }
  const key = keyOf(pem);
  if (secretText(home, paths.licensePublicKey) !== key.publicKeyPem.trim())
    await withLoginLock(home, () => writeDurable(paths.licensePublicKey, key.publicKeyPem));
  return key;
}

/** The key under `SVC_HOME/authority`, where there is one. @throws PermissionError as `ensureLicenseKey` */
export function readLicenseKey(home: string): LicenseKey | undefined {
  const pem = secretText(home, authorityPaths(home).licenseKey);
  return pem === undefined ? undefined : keyOf(pem);
}

/** Signs a licence (RFC 7519, RS256) and returns it with its id. */
export async function signLicense(key: LicenseKey, grant: LicenseGrant): Promise<{ id: string; jwt: string }> {
  const { SignJWT } = await import("jose/jwt/sign");
  const id = randomUUID();
  const jwt = await new SignJWT({
    ver: LICENSE_VERSION,
    offline_grace_days: grant.offlineGraceDays,
    products: { svc: { tier: grant.tier, features: [...grant.features] } },
    cnf: { jkt: grant.deviceThumbprint },
  })
    .setProtectedHeader({ alg: "RS256", typ: "JWT" })
    .setIssuer(LICENSE_ISSUER)
    .setAudience(LICENSE_AUDIENCE)
    .setSubject(grant.account)
    .setJti(id)
    .setIssuedAt(grant.issuedAt)
    .setNotBefore(grant.issuedAt)
    .setExpirationTime(grant.expiresAt)
    .sign(key.privateKey);
  return { id, jwt };
}

/** The code that approvers must type where other machines can reach an authority; made on first use. */
export async function ensureApprovalCode(home: string): Promise<string> {
  const path = authorityPaths(home).approvalCode;
  const kept = secretText(home, path);
  if (kept) return kept;
  await withLoginLock(home, () => createOnce(path, `${randomBytes(15).toString("base64url")}\n`));
  return secretText(home, path) ?? "";
}

/** It takes a third of a second. */
async function newKeyPem(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: RSA_BITS_MIN });
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString();
}

function keyOf(pem: string): LicenseKey {
  const privateKey = parseKey(pem);
  return { privateKey, publicKeyPem: createPublicKey(pem).export({ format: "pem", type: "spki" }).toString() };
}

function parseKey(pem: string): KeyObject {
  const refused = (what: string) =>
    new PermissionError(`authority/license_key.pem ${what}, or remove it and log every machine in again`);
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw refused("is damaged: restore it");
  }
  if (key.asymmetricKeyType !== "rsa") throw refused("is damaged: restore it");
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < RSA_BITS_MIN)
    throw refused(`has ${bits} bits, at least ${RSA_BITS_MIN} are needed: put a longer key in its place`);
  return key;
}
