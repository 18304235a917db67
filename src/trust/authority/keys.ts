/** LICENSE keys (RS256), a machine's own made on first use, and what they sign: licences, and statements about keys. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  randomUUID,
} from "node:crypto";
import { basename } from "node:path";
import { promisify } from "node:util";
import { writeDurable } from "../../durable.ts";
import { attempt, PermissionError } from "../../errors.ts";
import { RSA_BITS_MIN } from "../../limits.ts";
import { authorityPaths } from "../../paths.ts";
import { createOnce, ensurePrivateDirectory, secretText } from "../account/files.ts";
import { LICENSE_AUDIENCE, LICENSE_VERSION } from "../account/license/license.ts";
import { STATEMENT_TYPE } from "../account/license/license-chain.ts";
import { keyId, LICENSE_ISSUER } from "../account/license/license-token.ts";
import { withLoginLock } from "../account/login/login-lock.ts";

/** Shorter than the twenty characters that svc makes: an operator may have put their own there. */
const APPROVAL_CODE_LENGTH_MIN = 16;

export interface LicenseKey {
  readonly privateKey: KeyObject;
  /** SHA-256 over the public half's SPKI, as base64url: what tokens call it. */
  readonly kid: string;
  /** SPKI in PEM, for `--license-pubkey` and for machines that use the local authority. */
  readonly publicKeyPem: string;
}

/** The LICENSE keys of an authority. Licences by the earlier ones stay valid until they end. */
export interface LicenseKeys {
  /** The key that signs: the last one, also where another process has just added it. Costs a look into the ledger. */
  current(): LicenseKey;
  /** Newest first. */
  list(): readonly Pick<LicenseKey, "kid" | "publicKeyPem">[];
  /** The statements that lead from each key to the next (license-chain.ts), oldest first. */
  statements(): readonly string[];
}

/**
 * Days until a licence expires, where nothing else is asked for: ten years, because a login is meant to be needed once.
 */
export const LICENSE_DAYS = 3650;

/** The content of a licence; times are in seconds since 1970. */
export interface LicenseGrant {
  /** A random UUID where it is not given. */
  readonly id?: string;
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
  const key = licenseKeyOf(pem);
  if (secretText(home, paths.licensePublicKey) !== key.publicKeyPem.trim())
    await withLoginLock(home, () => writeDurable(paths.licensePublicKey, key.publicKeyPem));
  return key;
}

/** The key under `SVC_HOME/authority`, where there is one. @throws PermissionError as `ensureLicenseKey` */
export function readLicenseKey(home: string): LicenseKey | undefined {
  const pem = secretText(home, authorityPaths(home).licenseKey);
  return pem === undefined ? undefined : licenseKeyOf(pem);
}

/** Signs a licence (RFC 7519, RS256) and returns it with its id. */
export async function signLicense(key: LicenseKey, grant: LicenseGrant): Promise<{ id: string; jwt: string }> {
  const { SignJWT } = await import("jose/jwt/sign");
  const { id = randomUUID() } = grant;
  const jwt = await new SignJWT({
    ver: LICENSE_VERSION,
    offline_grace_days: grant.offlineGraceDays,
    products: { svc: { tier: grant.tier, features: [...grant.features] } },
    cnf: { jkt: grant.deviceThumbprint },
  })
    .setProtectedHeader({ alg: "RS256", typ: "JWT", kid: key.kid })
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

/**
 * States that `next` is the key after `key` (license-chain.ts): machines that trust the one trust the other.
 * @param now seconds since 1970
 */
export async function signStatement(key: LicenseKey, next: LicenseKey, now: number): Promise<string> {
  const { SignJWT } = await import("jose/jwt/sign");
  return new SignJWT({ key: next.publicKeyPem, kid: next.kid })
    .setProtectedHeader({ alg: "RS256", typ: STATEMENT_TYPE, kid: key.kid })
    .setIssuer(LICENSE_ISSUER)
    .setIssuedAt(now)
    .sign(key.privateKey);
}

/** The code that approvers must type where other machines can reach an authority; made on first use. */
export function ensureApprovalCode(home: string): Promise<string> {
  const path = authorityPaths(home).approvalCode;
  return approvalCodeIn(home, path, (text) => withLoginLock(home, () => createOnce(path, text)));
}

/**
 * The approval code in a file.
 * @param home for what messages call the file
 * @param make writes the file, where there is none
 * @throws PermissionError where the code is so short that it could be guessed: an empty one would let everyone approve
 */
export async function approvalCodeIn(home: string, path: string, make: (text: string) => unknown): Promise<string> {
  if (secretText(home, path) === undefined) await make(`${randomBytes(15).toString("base64url")}\n`);
  const code = secretText(home, path) ?? "";
  if (code.length >= APPROVAL_CODE_LENGTH_MIN) return code;
  const what =
    code === "" ? "is empty" : `has ${code.length} characters, at least ${APPROVAL_CODE_LENGTH_MIN} are needed`;
  throw new PermissionError(`the file ${basename(path)} ${what}: remove it, and the next start makes another code`);
}

/** A new key, PKCS #8 in PEM. It takes a third of a second. */
export async function newKeyPem(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: RSA_BITS_MIN });
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString();
}

/**
 * A private LICENSE key.
 * @param name what it is, for messages
 * @param instead the rest of the remedy, behind "restore it"
 * @throws PermissionError where it is damaged or has fewer than 3,072 bits
 */
export function licenseKeyOf(
  pem: string,
  name = "authority/license_key.pem",
  instead = ", or remove it and log every machine in again",
): LicenseKey {
  const refused = (what: string) => new PermissionError(`${name} ${what}${instead}`);
  const privateKey = attempt(() => createPrivateKey(pem));
  if (privateKey?.asymmetricKeyType !== "rsa") throw refused("is damaged: restore it");
  const bits = privateKey.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < RSA_BITS_MIN)
    throw refused(`has ${bits} bits, at least ${RSA_BITS_MIN} are needed: put a longer key in its place`);
  const publicKey = createPublicKey(pem);
  return {
    privateKey,
    kid: keyId(publicKey.export({ format: "der", type: "spki" })),
    publicKeyPem: publicKey.export({ format: "pem", type: "spki" }).toString(),
  };
}
