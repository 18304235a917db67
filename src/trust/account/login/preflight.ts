/**
 * What an authority says of itself, checked before a person is asked for anything and before a file is changed: that it
 * is the one that was named (RFC 8414 §3.3), all at one origin, with the LICENSE key by which it is to be recognised,
 * and that the clocks agree. Else a login would fail only after it was approved.
 */

import { isObject } from "../../../checks/kinds.ts";
import { spkiOf } from "../../../checks/rsa-key.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { attempt, PermissionError, RuntimeError } from "../../../errors.ts";
import { LICENSE_KEYS_MAX } from "../../../limits.ts";
import { minute } from "../clock.ts";
import { verifySuccessors } from "../license/license-chain.ts";
import { CLOCK_SKEW_SECONDS, keyId, licensePublicKey, quoted } from "../license/license-token.ts";
import { secureBase } from "../trusted/endpoints.ts";
import { type HttpAnswer, httpRequest } from "../trusted/http.ts";
import type { Pin } from "../trusted/pin.ts";
import { fetchStatements } from "./issued-license.ts";
import { fingerprintOf, type LoginTarget, pinOf, spkiPem } from "./login-target.ts";

const PEER = "the accounts server";
/** A server that hangs is given up before a person wonders. */
const TIMEOUT_MS = 15_000;
/** Maximum size of metadata, and of 64 keys with their statements. */
const BYTES_MAX = 512 * 1024;
const WELL_KNOWN = "/.well-known/oauth-authorization-server";
/** Addresses in metadata; the first three have to be there. */
const ADDRESSES = [
  "device_authorization_endpoint",
  "token_endpoint",
  "jwks_uri",
  "svc_api",
  "svc_packages",
  "svc_enrollment_endpoint",
  "svc_license_keys",
] as const;
const REQUIRED: readonly string[] = ADDRESSES.slice(0, 3);

/** An authority that may be logged in to. */
export interface Preflight {
  /** What the login pins; undefined where that stays as it is. */
  readonly pin: Pin | undefined;
  /** What a person should know: a clock that is ahead. */
  readonly notes: readonly string[];
}

/**
 * Asks the authority of a login for its metadata and its keys. The environment's may be of several origins, and a
 * build's may be older than its metadata: of the former only the clock is looked at, and of the latter what it has.
 * @throws PermissionError for another authority or key than the one named; RuntimeError for a clock that is behind, and
 *   for invalid answers; what httpRequest throws
 */
export async function preflight(target: LoginTarget, options: PreflightOptions = {}): Promise<Preflight> {
  const asked = new AuthorityCheck(target, options);
  const answer = await asked.metadata();
  const notes = checkClock(answer, asked.origin);
  if (target.by === "environment" || (target.by === "build" && !saysWhatItIs(answer)))
    return { pin: changedPin(target), notes };
  const addresses = checkMetadata(asked, answer);
  const found = await findKey(asked, addresses);
  return { pin: pinOf(target, found), notes };
}

/** Whether an answer is the metadata of an authority of svc, rather than what a server has for every address. */
function saysWhatItIs({ status, body }: HttpAnswer): boolean {
  const value: unknown = attempt(() => JSON.parse(new TextDecoder().decode(body)));
  return status === 200 && isObject(value) && value.svc_api !== undefined;
}

/** Without keys to compare with, only a CA that was given is pinned. */
function changedPin(target: LoginTarget): Pin | undefined {
  const { pem } = target.key;
  return target.by === "build" && pem !== undefined
    ? pinOf(target, { pem, successors: target.pinned?.successors ?? [] })
    : undefined;
}

export interface PreflightOptions {
  readonly signal?: AbortSignal;
  /** Timeout of each request, for tests. */
  readonly timeoutMs?: number;
}

/** The requests to one authority. */
class AuthorityCheck {
  readonly issuer: string;
  readonly origin: string;

  constructor(
    readonly target: LoginTarget,
    private readonly options: PreflightOptions,
  ) {
    const base = secureBase(target.endpoints.accounts, PEER);
    this.origin = base.origin;
    this.issuer = base.href.replace(/\/+$/, "");
  }

  /** RFC 8414 §3.1 puts a path behind the well-known one; a proxy may lead only what is below the path to it. */
  async metadata(): Promise<HttpAnswer> {
    const path = this.issuer.slice(this.origin.length);
    const answer = await this.get(`${this.origin}${WELL_KNOWN}${path}`);
    return path === "" || answer.status !== 404 ? answer : this.get(`${this.issuer}${WELL_KNOWN}`);
  }

  get(address: string): Promise<HttpAnswer> {
    const { ca } = this.target.endpoints;
    return httpRequest(this.origin, address.slice(this.origin.length), { peer: PEER, ca, ...this.limits });
  }

  get limits() {
    const { signal, timeoutMs = TIMEOUT_MS } = this.options;
    return { signal, timeoutMs, bytesMax: BYTES_MAX };
  }

  /** The JSON object of an answer. @throws RuntimeError */
  object({ status, body }: HttpAnswer, what: string): Record<string, unknown> {
    if (status !== 200) throw new RuntimeError(`${this.origin} answered with status ${status} when asked for ${what}`);
    let value: unknown;
    try {
      value = parseStrictJson(body);
    } catch (error) {
      throw new RuntimeError(`${this.origin} answered with ${what} that cannot be used: ${(error as Error).message}`);
    }
    if (!isObject(value)) throw new RuntimeError(`${this.origin} answered with ${what} that is not a JSON object`);
    return value;
  }
}

type Addresses = Readonly<Partial<Record<(typeof ADDRESSES)[number], string>>>;

/** @returns its addresses, each of the authority's origin */
function checkMetadata(asked: AuthorityCheck, answer: HttpAnswer): Addresses {
  const { origin, issuer } = asked;
  if (answer.status === 404)
    throw new RuntimeError(`${issuer} is not an authority of svc: it has nothing at ${WELL_KNOWN}`);
  const metadata = asked.object(answer, "its metadata");
  const named = typeof metadata.issuer === "string" ? metadata.issuer.replace(/\/+$/, "") : undefined;
  if (named !== issuer)
    throw new PermissionError(
      `${issuer} says that it is ${quoted(metadata.issuer, 200)}: log in with the address it goes by`,
    );
  const addresses: Record<string, string> = {};
  for (const name of ADDRESSES) {
    const value = metadata[name];
    if (value === undefined && !REQUIRED.includes(name)) continue;
    if (typeof value !== "string" || !URL.canParse(value))
      throw new RuntimeError(`${origin} answered with metadata without a usable '${name}'`);
    if (new URL(value).origin !== origin)
      throw new PermissionError(
        `${origin} names '${name}' at another origin (${quoted(new URL(value).origin, 200)}), refused`,
      );
    addresses[name] = new URL(value).href;
  }
  return addresses;
}

/**
 * The key by which the authority is recognised, and the statements that lead from it to its latest one.
 * @throws PermissionError where the authority does not have it
 */
async function findKey(
  asked: AuthorityCheck,
  addresses: Addresses,
): Promise<{ pem: string; successors: readonly string[] }> {
  const { key } = asked.target;
  const keys = keysIn(asked.object(await asked.get(addresses.jwks_uri!), "its keys"));
  const pem = key.pem ?? keys.get(key.kid);
  if (pem === undefined) throw otherKey(asked);
  const [latest] = keys.keys();
  if (latest === key.kid) {
    await licensePublicKey(pem); // of a fingerprint: its size
    return { pem, successors: [] };
  }
  const statements = await fetchStatements(asked.target.endpoints, asked.limits);
  // A server without statements has one key at a time, and the order of its list says nothing.
  if (statements === undefined && keys.has(key.kid)) return { pem, successors: [] };
  const later = await verifySuccessors(pem, statements ?? []);
  if (!later.some((one) => keyId(spkiOf(one) ?? new Uint8Array()) === latest)) throw otherKey(asked);
  return { pem, successors: statements!.slice(-later.length) };
}

/** The RSA keys of a JWK set (RFC 7517), by the ids that are theirs, in its order; what else it has is passed over. */
function keysIn(set: Record<string, unknown>): Map<string, string> {
  const keys = new Map<string, string>();
  const list: unknown[] = Array.isArray(set.keys) ? set.keys.slice(0, 2 * LICENSE_KEYS_MAX) : [];
  for (const jwk of list) {
    if (!isObject(jwk) || jwk.kty !== "RSA") continue;
    const { n, e } = jwk;
    try {
      const pem = spkiPem({ key: { kty: "RSA", n: n as string, e: e as string }, format: "jwk" });
      keys.set(keyId(spkiOf(pem)!), pem);
    } catch {
      // No key: it cannot be the one that is looked for.
    }
  }
  return keys;
}

const MISMATCH = {
  flags: "than the one given",
  pin: "than the one that is pinned",
  build: "than the one that is built in",
  environment: "than the one in the environment",
} as const;

function otherKey({ origin, target }: AuthorityCheck): PermissionError {
  const remedy =
    target.by === "build"
      ? "ask for a newer svc where this one came from"
      : "ask its administrator for its key, and run 'svc login --authority URL --license-pubkey FILE'";
  return new PermissionError(
    `${origin} has another licence key ${MISMATCH[target.by]} (${fingerprintOf(target.key)}), refused: ${remedy}`,
  );
}

/**
 * Compares this machine's clock with the one in an answer (RFC 9110 §6.6.1). By a clock that is behind, a licence would
 * be of the future; one that is ahead only shortens its life.
 * @returns notes
 * @throws RuntimeError with both times
 */
export function checkClock({ headers }: Pick<HttpAnswer, "headers">, origin: string, now = Date.now()): string[] {
  const there = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(there)) return [];
  const ahead = now / 1000 - there / 1000;
  if (Math.abs(ahead) <= CLOCK_SKEW_SECONDS) return [];
  const times = `here it is ${minute(now / 1000)} UTC, at ${origin} ${minute(there / 1000)} UTC`;
  if (ahead > 0) return [`the clock of this machine is ahead: ${times}`];
  throw new RuntimeError(`the clock of this machine is behind, and no licence would be valid: ${times}. Set it first`);
}
