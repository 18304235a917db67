/**
 * LICENSE keys that come after the one that a machine trusts. With each new key the authority makes a statement: the new
 * public key, signed by the one before it. A machine that has the first key follows them to the last, so that no person
 * has to replace anything.
 *
 * A statement is a JWS (RFC 7515) of type `svc-license-key+jwt`, by RS256, with the id of the key that signed it as
 * `kid` and the claims `{iss, iat, key, kid}`: the new key as SPKI in PEM, and its id. The type and the missing audience
 * keep licences and statements apart (RFC 8725 section 3.11).
 */
import { attempt, PermissionError } from "../../../errors.ts";
import { LICENSE_KEYS_MAX, STATEMENT_BYTES_MAX } from "../../../limits.ts";
import {
  CLOCK_SKEW_SECONDS,
  type Claims,
  isTime,
  LICENSE_ISSUER,
  licensePublicKey,
  type PublicLicenseKey,
  quoted,
  refused,
  type Signer,
  signedClaims,
  tokenHeader,
} from "./license-token.ts";

/** The `typ` of a statement. */
export const STATEMENT_TYPE = "svc-license-key+jwt";

/** A licence by a key that this machine does not trust, or not yet: the authority may have statements that lead to it. */
export class UntrustedKey extends PermissionError {}

/** What is trusted, and when it is. */
interface ChainOptions {
  /** The anchor, SPKI in PEM. */
  readonly publicKeyPem: string;
  /** Statements, oldest first. Those before the anchor's own are passed over. */
  readonly successors?: readonly string[];
  /** The present and the latest time seen (clock.ts), in seconds. */
  readonly now?: number;
  readonly latest?: number;
}

/**
 * The keys that a licence may be signed by: the anchor and its successors. Every other `kid` is another issuer's name for
 * the anchor (it is opaque, RFC 7515 section 4.1.4), or that of a key which is not trusted: the signature tells.
 * @returns the key for a `kid`, with an `UntrustedKey` for where the signature is not by it
 * @throws ValueError for an unusable anchor
 */
export async function keyRing(options: ChainOptions): Promise<(kid: string | undefined) => Promise<Signer>> {
  const anchor = await licensePublicKey(options.publicKeyPem);
  return async (kid) => {
    if (kid === undefined || kid === anchor.kid) return anchor;
    // Read only now: a licence by the anchor costs no process more than a comparison.
    try {
      for await (const next of followed(anchor, options)) if (next.kid === kid) return next;
    } catch (error) {
      // Statements may be those of another authority, where the environment has another anchor than the pin.
      if (error instanceof UntrustedKey) return { key: anchor.key, otherwise: error };
      throw error;
    }
    const { message, reason } = refused("its signature is not by the key that this machine trusts");
    return { key: anchor.key, otherwise: new UntrustedKey(message, reason) };
  };
}

/**
 * Verifies the way from a key to the latest one.
 * @param anchorPem the key that is trusted, SPKI in PEM
 * @param statements oldest first, as the authority answers them
 * @returns the keys after the anchor in PEM, oldest first; none where the anchor is the latest
 * @throws UntrustedKey with the reason for a chain that does not begin at the anchor, with a gap, a loop, a statement by
 *   another key, or more than 64; ValueError for an unusable anchor
 */
export async function verifySuccessors(
  anchorPem: string,
  statements: readonly string[],
  clock: Pick<ChainOptions, "now" | "latest"> = {},
): Promise<string[]> {
  const pems: string[] = [];
  const anchor = await licensePublicKey(anchorPem);
  for await (const { pem } of followed(anchor, { ...clock, successors: statements })) pems.push(pem);
  return pems;
}

type Successor = PublicLicenseKey & { readonly pem: string };

/** The keys after the anchor, one after another, each verified by the one before it. */
async function* followed(
  anchor: PublicLicenseKey,
  { successors = [], now = Date.now() / 1000, latest = now }: Omit<ChainOptions, "publicKeyPem">,
): AsyncGenerator<Successor> {
  if (successors.length === 0) return;
  if (successors.length > LICENSE_KEYS_MAX)
    throw broken(`it has ${successors.length} statements, at most ${LICENSE_KEYS_MAX} are read`);
  if (successors.some(({ length }) => length > STATEMENT_BYTES_MAX))
    throw broken(`a statement is longer than ${STATEMENT_BYTES_MAX} bytes`);
  const signers = successors.map((one) => tokenHeader(one, broken).kid);
  const gap = successors.slice(1).findIndex((_, index) => claimedKey(successors[index]!) !== signers[index + 1]);
  if (gap >= 0) throw broken(`statement ${gap + 2} is by ${quoted(signers[gap + 1])}, not by the key before it`);
  const first = signers.indexOf(anchor.kid);
  if (first < 0) {
    // Nothing follows the latest key. What is not verified here only tells this from a foreign chain.
    if (claimedKey(successors.at(-1)!) === anchor.kid) return;
    throw broken(`none of its statements is by the key that this machine trusts (SHA256:${anchor.kid})`);
  }
  const seen = new Set([anchor.kid]);
  let current = anchor;
  for (const jws of successors.slice(first)) {
    const next = await statement(jws, { signer: current.key, time: Math.max(now, latest), seen });
    yield next;
    seen.add(next.kid);
    current = next;
  }
}

/** One statement, verified. */
async function statement(
  jws: string,
  { signer, time, seen }: { signer: CryptoKey; time: number; seen: ReadonlySet<string> },
): Promise<Successor> {
  const claims = await signedClaims(jws, { refused: broken, keyOf: () => ({ key: signer }), typ: STATEMENT_TYPE });
  if (claims.iss !== LICENSE_ISSUER) throw broken(`its issuer is ${quoted(claims.iss)}, not '${LICENSE_ISSUER}'`);
  checkTimes(claims, time);
  const { key: pem, kid } = claims;
  if (typeof pem !== "string") throw broken("a statement has no key");
  const key = await licensePublicKey(pem).catch((error: Error) => {
    throw broken(`of a statement ${error.message}`);
  });
  if (key.kid !== kid) throw broken(`a statement calls its key ${quoted(kid)}, which is not its id`);
  if (seen.has(kid)) throw broken(`the key ${quoted(kid)} stands in it twice`);
  return { ...key, pem };
}

/** `iat` is required; an end and a beginning count where a statement has them (RFC 7519 sections 4.1.4 and 4.1.5). */
function checkTimes({ iat, nbf, exp }: Claims, time: number): void {
  if (!isTime(iat)) throw broken("a statement does not say when it was made");
  const begins = nbf ?? iat;
  if (!isTime(begins) || Math.max(iat, begins) > time + CLOCK_SKEW_SECONDS)
    throw broken("a statement was made in the future (is the clock right?)");
  if (exp !== undefined && (!isTime(exp) || exp <= time)) throw broken("a statement has expired (is the clock right?)");
}

/** The key that a statement is about, not verified. */
function claimedKey(jws: string): unknown {
  return attempt(() => JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString()).kid);
}

function broken(reason: string): UntrustedKey {
  return new UntrustedKey(
    `the authority's chain of licence keys is refused: ${reason}. Ask its administrator for its key, and log in with that`,
    "license_invalid",
  );
}
