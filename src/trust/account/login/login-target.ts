/**
 * Which authority a login is with and by which key it is recognised, settled before it is asked for anything: by flags,
 * by the build, by the environment, or by what an earlier login has pinned.
 */
import { createPublicKey, type JsonWebKeyInput } from "node:crypto";
import { existsSync } from "node:fs";
import { type BuildInfo, buildInfo } from "../../../build-info.ts";
import { PermissionError, ValueError } from "../../../errors.ts";
import { SECRET_BYTES_MAX } from "../../../limits.ts";
import { authorityPaths, type Env } from "../../../paths.ts";
import { readCaFile } from "../ca-file.ts";
import { secretText } from "../files.ts";
import { readGiven } from "../given-file.ts";
import { licensePublicKey } from "../license/license-token.ts";
import { keyInEnvironment, licenseAnchor, requireFixedKeys } from "../trusted/anchors.ts";
import { configuredEndpoints, type Endpoints, secureBase } from "../trusted/endpoints.ts";
import { type AuthorityPin, namesAuthority, type Pin, readPin } from "../trusted/pin.ts";

/** The flags of `svc login` that name an authority. */
export interface AuthorityFlags {
  /** Its address. */
  readonly authority?: string | undefined;
  /** A file with its LICENSE key, or that key's fingerprint. */
  readonly licensePubkey?: string | undefined;
  /** A file with the CA of its certificate. */
  readonly caFile?: string | undefined;
}

/** A LICENSE key; of a fingerprint alone the key itself is still to be found. */
export interface ExpectedKey {
  /** SHA-256 over its SPKI in DER, as base64url without padding: `SHA256:` before it makes it a fingerprint. */
  readonly kid: string;
  /** SPKI in PEM. */
  readonly pem: string | undefined;
}

/** A remote authority to log in to. */
export interface LoginTarget {
  readonly endpoints: Endpoints;
  /** What named it. */
  readonly by: "flags" | "build" | "environment" | "pin";
  readonly key: ExpectedKey;
  /** What is pinned of it, where that is by this key. */
  readonly pinned: Pin | undefined;
  /** Whether flags change what is pinned. */
  readonly isChanged: boolean;
}

/** Where a login takes place. */
export interface LoginSite {
  readonly home: string;
  readonly env: Env;
  /** The build whose trust counts, for tests. */
  readonly build?: Pick<BuildInfo, "authority" | "licensePublicKey"> | undefined;
}

/**
 * The authority of a login; undefined for the local one.
 * @throws ValueError for a flag that cannot be used, or without a key to recognise the authority by; PermissionError for
 *   another authority or key than the build's, a remote one of the environment without a key, and a damaged pin
 */
export async function loginTarget(site: LoginSite, flags: AuthorityFlags = {}): Promise<LoginTarget | undefined> {
  const { home, env, build = buildInfo() } = site;
  requireFixedKeys(env, build);
  const { authority, licensePubkey, caFile } = flags;
  if (build.authority !== null) return ofBuild({ home, env, build }, build.authority, flags);
  if (authority === undefined && licensePubkey === undefined && caFile === undefined) return configured(site);
  // A damaged pin can be replaced as a whole.
  const isWhole = authority !== undefined && licensePubkey !== undefined;
  const stored = isWhole ? undefined : readPin(home);
  const pin = namesAuthority(stored) ? stored : undefined;
  const issuer = authority === undefined ? pin?.issuer : baseOf(authority);
  if (issuer === undefined)
    throw new ValueError(`${licensePubkey === undefined ? "--ca-file" : "--license-pubkey"} needs --authority URL`);
  refuseOtherAddress(env, issuer);
  const known = pin?.issuer === issuer ? pin : undefined;
  const key = await flagKey(licensePubkey, known, issuer);
  await refuseOtherKey(env, key, build);
  const ca = caFile === undefined ? (known?.ca ?? null) : readCaFile(caFile);
  return {
    endpoints: withCa({ accounts: issuer, api: issuer, packages: env.SVC_PACKAGES_URL || issuer }, issuer, ca),
    by: "flags",
    key,
    pinned: known && (await licensePublicKey(known.licenseKey)).kid === key.kid ? known : undefined,
    isChanged: true,
  };
}

/** The fingerprint of a key, as it is shown and as `--license-pubkey` takes it. */
export function fingerprintOf({ kid }: Pick<ExpectedKey, "kid">): string {
  return `SHA256:${kid}`;
}

/** Without flags: what the environment names, else what is pinned. */
async function configured({ home, env, build }: LoginSite): Promise<LoginTarget | undefined> {
  const endpoints = configuredEndpoints(env, home, build);
  if (endpoints === undefined) {
    await requireOwnKey({ home, env, build });
    return undefined;
  }
  const by = env.SVC_ACCOUNTS_URL ? "environment" : "pin";
  if (by === "environment") requireKeyFor(endpoints, { home, env, build });
  const { publicKeyPem: pem, source } = licenseAnchor(home, env, build);
  const { kid } = await licensePublicKey(pem);
  const pinned = source === "pinned" && by === "pin" ? readPin(home) : undefined;
  return { endpoints, by, key: { kid, pem }, pinned, isChanged: false };
}

/** A licence of this machine's local authority would be refused by another key of the environment, once approved. */
async function requireOwnKey({ home, env, build }: LoginSite): Promise<void> {
  const given = keyInEnvironment(env, "SVC_LICENSE_PUBKEY", build);
  if (given === undefined) return;
  const { licenseKey, licensePublicKey: publicKey } = authorityPaths(home);
  const own = secretText(home, publicKey);
  // Its key may be there before its public half is.
  if (own === undefined && existsSync(licenseKey)) return;
  const { kid } = await licensePublicKey(given.pem);
  if (own !== undefined && (await licensePublicKey(own)).kid === kid) return;
  throw new PermissionError(
    `${given.source} has another key than this machine's local authority, and no other is named: unset it, or run ` +
      "'svc login --authority URL --license-pubkey FILE' with the address of the authority whose key it is",
  );
}

/** A licence of an authority whose key is nowhere would be refused after a person has approved the login. */
function requireKeyFor({ accounts }: Endpoints, { home, env, build }: LoginSite): void {
  const { origin } = secureBase(accounts, "SVC_ACCOUNTS_URL");
  const pin = readPin(home);
  if (namesAuthority(pin) && new URL(pin.issuer).origin === origin) return;
  if (keyInEnvironment(env, "SVC_LICENSE_PUBKEY", build) !== undefined) return;
  throw new PermissionError(
    `there is no key to check licences of ${origin} with, which SVC_ACCOUNTS_URL names: set SVC_LICENSE_PUBKEY_FILE to a ` +
      `file with its public key, or unset both and run 'svc login --authority ${origin} --license-pubkey FILE'`,
  );
}

async function ofBuild(
  site: Required<LoginSite>,
  built: string,
  { authority, licensePubkey, caFile }: AuthorityFlags,
): Promise<LoginTarget> {
  const { home, env, build } = site;
  const issuer = baseOf(built);
  if (authority !== undefined && baseOf(authority) !== issuer)
    throw new PermissionError(`this build trusts only ${new URL(built).origin}: leave out --authority`);
  const configured = configuredEndpoints(env, home, build)!;
  const { publicKeyPem: pem } = licenseAnchor(home, env, build);
  const { kid } = await licensePublicKey(pem);
  if (licensePubkey !== undefined && (await readKey(licensePubkey)).kid !== kid)
    throw new PermissionError("this build's keys are fixed: leave out --license-pubkey");
  const stored = readPin(home);
  const pinned = stored?.issuer === issuer ? stored : undefined;
  const endpoints = caFile === undefined ? configured : withCa(configured, issuer, readCaFile(caFile));
  return { endpoints, by: "build", key: { kid, pem }, pinned, isChanged: caFile !== undefined };
}

function withCa({ accounts, api, packages }: Endpoints, issuer: string, ca: string | null): Endpoints {
  return { accounts, api, packages, ca: ca === null ? undefined : { origin: new URL(issuer).origin, pem: ca } };
}

/** A base address without a slash at its end, as metadata names an issuer. @throws ValueError, PermissionError */
function baseOf(authority: string): string {
  return secureBase(authority, "--authority").href.replace(/\/+$/, "");
}

async function flagKey(
  given: string | undefined,
  known: AuthorityPin | undefined,
  issuer: string,
): Promise<ExpectedKey> {
  if (given !== undefined) return readKey(given);
  if (known !== undefined) return { ...(await licensePublicKey(known.licenseKey)), pem: known.licenseKey };
  throw new ValueError(
    `--authority needs --license-pubkey with the licence key of ${new URL(issuer).origin}: its administrator has a ` +
      "file with it, or its fingerprint (SHA256:…), from 'svc authority keys'",
  );
}

/** A key by its fingerprint, in base64url or as `ssh-keygen` writes it; else the file with it. */
async function readKey(given: string): Promise<ExpectedKey> {
  if (/^SHA256:/i.test(given)) {
    const kid = given.slice(7).replace(/=$/, "").replaceAll("+", "-").replaceAll("/", "_");
    if (/^[A-Za-z0-9_-]{43}$/.test(kid)) return { kid, pem: undefined };
    throw new ValueError("--license-pubkey: a fingerprint is SHA256: and 43 letters, digits, - or _");
  }
  const bytes = readGiven("--license-pubkey", given, SECRET_BYTES_MAX);
  try {
    const { kid } = await licensePublicKey(new TextDecoder().decode(bytes));
    return { kid, pem: spkiPem(new TextDecoder().decode(bytes)) };
  } catch (error) {
    throw new ValueError(`--license-pubkey: ${(error as Error).message}`);
  }
}

/** A public key in the form that other readers expect, whatever its own. */
export function spkiPem(key: string | JsonWebKeyInput): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}

/** The environment goes before the pin, so that what is pinned now would be used by no process that has it. */
function refuseOtherAddress(env: Env, issuer: string): void {
  for (const name of ["SVC_ACCOUNTS_URL", "SVC_API_URL"] as const) {
    const value = env[name];
    if (value && secureBase(value, name).origin !== new URL(issuer).origin)
      throw new ValueError(`--authority and ${name} name two authorities: unset ${name}`);
  }
}

async function refuseOtherKey(env: Env, key: ExpectedKey, build: Pick<BuildInfo, "authority">): Promise<void> {
  const given = keyInEnvironment(env, "SVC_LICENSE_PUBKEY", build);
  if (given !== undefined && (await licensePublicKey(given.pem)).kid !== key.kid)
    throw new ValueError(`--license-pubkey and ${given.source} give two keys: unset ${given.source}`);
}

/**
 * What a login to this target pins; undefined where nothing changes.
 * @param found the key in its full form, and the statements that lead from it to the latest
 */
export function pinOf(
  { endpoints, by, pinned, isChanged }: LoginTarget,
  found: { readonly pem: string; readonly successors: readonly string[] },
): Pin | undefined {
  const isNew = found.successors.join() !== (pinned?.successors ?? []).join();
  if (!isChanged && (!isNew || (pinned === undefined && by !== "build"))) return undefined;
  return {
    issuer: baseOf(endpoints.accounts),
    licenseKey: by === "build" ? null : found.pem,
    ca: endpoints.ca?.pem ?? null,
    successors: found.successors,
    pinnedAt: isChanged || !pinned ? Math.floor(Date.now() / 1000) : pinned.pinnedAt,
  };
}
