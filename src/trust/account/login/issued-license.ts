/**
 * A licence that an authority has just issued: by the key that this machine trusts, or by a later one, to which the
 * authority has statements that lead there (license-chain.ts).
 */
import { isObject } from "../../../checks/kinds.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { PermissionError, RuntimeError } from "../../../errors.ts";
import { day, type License, type VerifyOptions, verifyLicense } from "../license/license.ts";
import { UntrustedKey, verifySuccessors } from "../license/license-chain.ts";
import { type HttpRequest, httpRequest } from "../trusted/http.ts";
import type { ApiServer } from "./registration.ts";

const PEER = "the api server";

/** A verified licence. */
export interface IssuedLicense {
  readonly license: License;
  /** The statements that lead to its key, to be kept before it is; undefined where those that are kept do. */
  readonly successors: readonly string[] | undefined;
}

/**
 * Verifies a licence. Where its key is unknown, the authority is asked for its statements, once.
 * @throws PermissionError with the reason for a licence or a chain that is refused; what a request throws;
 *   ValueError for an unusable anchor
 */
export async function verifyIssued(
  jwt: string,
  server: ApiServer,
  options: VerifyOptions & { readonly signal?: AbortSignal | undefined },
): Promise<IssuedLicense> {
  try {
    return { license: await verifyLicense(jwt, options), successors: undefined };
  } catch (error) {
    if (!(error instanceof UntrustedKey)) throw aboutClock(error, server, options);
  }
  const successors = await successorsOf(server, options);
  try {
    return { license: await verifyLicense(jwt, { ...options, successors }), successors };
  } catch (error) {
    if (!(error instanceof UntrustedKey)) throw aboutClock(error, server, options);
    const { origin } = new URL(server.api);
    throw new PermissionError(
      `the licence is refused: its signature is not by the key that this machine trusts, and ${origin} states no later ` +
        `one. Ask its administrator for its key, then run 'svc login --authority ${origin} --license-pubkey FILE'`,
      error.reason,
    );
  }
}

/**
 * Of a licence that has only just been issued, an end that has passed is the fault of a clock: another would be the
 * same.
 */
function aboutClock(error: unknown, { api }: ApiServer, { now = Date.now() / 1000 }: VerifyOptions): unknown {
  if (!(error instanceof PermissionError && error.reason === "license_expired")) return error;
  return new PermissionError(
    `${error.message.replace(/: run .*/, "")}, by the clock of this machine, which says ${day(now)}, and ` +
      `${new URL(api).origin} has only just issued it: set the clock, then run 'svc login'`,
    error.reason,
  );
}

/** The authority's statements from the trusted key on, verified; none of an authority that has no such endpoint. */
async function successorsOf(
  { api, ca }: ApiServer,
  { publicKeyPem, signal, ...clock }: VerifyOptions & { readonly signal?: AbortSignal | undefined },
): Promise<string[]> {
  const statements = (await fetchStatements({ api, ca }, { signal })) ?? [];
  const keys = await verifySuccessors(publicKeyPem, statements, clock);
  return keys.length === 0 ? [] : statements.slice(-keys.length);
}

/**
 * The authority's statements about its keys, not verified; undefined where it has none to ask for.
 * @throws RuntimeError for an invalid answer; what a request throws
 */
export async function fetchStatements(
  { api, ca }: ApiServer,
  limits: Pick<HttpRequest, "signal" | "timeoutMs" | "bytesMax"> = {},
): Promise<string[] | undefined> {
  const { status, body } = await httpRequest(api, "/v1/license-keys", { peer: PEER, ca, ...limits });
  if (status === 404) return undefined;
  if (status !== 200) throw new RuntimeError(`${PEER} answered with status ${status}: try again later`);
  return statementsIn(body);
}

function statementsIn(body: Uint8Array): string[] {
  let answer: unknown;
  try {
    answer = parseStrictJson(body);
  } catch (error) {
    throw new RuntimeError(`${PEER} answered its licence keys in a form that is refused: ${(error as Error).message}`);
  }
  const statements = isObject(answer) ? answer.statements : undefined;
  if (Array.isArray(statements) && statements.every((one) => typeof one === "string")) return statements;
  throw new RuntimeError(`${PEER} answered without usable 'statements'`);
}
