/**
 * The device authorization grant (RFC 8628), device side: a code to show, then polling until it is approved or denied.
 */
import { setTimeout } from "node:timers/promises";
import { CancelledError, OSError, PermissionError, RuntimeError, TimeoutError, ValueError } from "../../../errors.ts";
import { platformTag } from "../../../paths.ts";
import { type Endpoints, isLoopback } from "../trusted/endpoints.ts";
import { type HttpAnswer, httpRequest, jsonObject, printableField } from "../trusted/http.ts";
import { accepted } from "./refusals.ts";

/** The code and address to show to the user (RFC 8628 §3.2, §3.3). */
export interface DeviceCode {
  readonly userCode: string;
  readonly verificationUri: string;
  /** With the code filled in, for opening a browser. The code must still be shown, for comparison. */
  readonly verificationUriComplete: string;
  readonly expiresInSeconds: number;
}

export interface DeviceFlowOptions {
  readonly endpoints: Pick<Endpoints, "accounts" | "ca">;
  /** The device key's thumbprint: the token is then of use to this device only. */
  readonly thumbprint?: string;
  /** Called with the code once; the first poll waits until it returns, so that it must not wait for a browser. */
  readonly onCode?: (code: DeviceCode) => void | Promise<void>;
  readonly signal?: AbortSignal;
  /** Waits between polls; replaced in tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The public client's name (RFC 6749 §2.2); it has no secret. */
export const CLIENT_ID = "svc";
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const PEER = "the accounts server";
/** RFC 8628 §3.2: the interval where the server sends none; §3.5: the increment of `slow_down`. */
const INTERVAL_SECONDS_DEFAULT = 5;
const SLOW_DOWN_SECONDS = 5;

/**
 * Runs the whole grant and returns the access token.
 * @throws PermissionError if the request was declined; TimeoutError if the code expired; CancelledError; and what
 * httpRequest throws.
 */
export async function authorizeDevice(options: DeviceFlowOptions): Promise<string> {
  const { endpoints, signal, sleep = pause } = options;
  const begun = await requestCode(options);
  const deadline = performance.now() + begun.code.expiresInSeconds * 1000;
  await options.onCode?.(begun.code);
  let interval = begun.intervalSeconds;
  // The first poll is immediate: the authority may approve every code.
  for (;;) {
    const outcome = await poll(endpoints, begun.deviceCode, signal);
    if (typeof outcome === "object") return outcome.token;
    if (outcome === "slow_down") interval += SLOW_DOWN_SECONDS;
    // RFC 8628 §3.5: exponential backoff after a failed connection.
    if (outcome === "unreachable") interval = Math.max(1, interval * 2);
    if (performance.now() + interval * 1000 >= deadline) throw expired();
    await sleep(interval * 1000, signal);
  }
}

interface Begun {
  readonly deviceCode: string;
  readonly intervalSeconds: number;
  readonly code: DeviceCode;
}

async function requestCode({ endpoints, thumbprint, signal }: DeviceFlowOptions): Promise<Begun> {
  const { accounts, ca } = endpoints;
  const answer = await httpRequest(accounts, "/oauth/device/code", {
    peer: PEER,
    method: "POST",
    // For the page that approves it; the registration tells it as well.
    form: {
      client_id: CLIENT_ID,
      platform: platformTag() ?? `${process.platform}-${process.arch}`,
      ...(thumbprint && { key_thumbprint: thumbprint }),
    },
    ca,
    signal,
  });
  if (answer.status === 403) accepted(answer, accounts, PEER);
  if (answer.status !== 200) throw new RuntimeError(`${PEER} gave no code (status ${answer.status}): try again later`);
  const body = jsonObject(answer, PEER);
  const verificationUri = browserAddress(body, "verification_uri");
  const verificationUriComplete =
    body.verification_uri_complete === undefined ? verificationUri : browserAddress(body, "verification_uri_complete");
  // The person is shown one origin.
  if (new URL(verificationUri).origin !== new URL(verificationUriComplete).origin)
    throw new ValueError(`${PEER} named approval pages of two origins`);
  return {
    deviceCode: printableField(body, "device_code", PEER),
    intervalSeconds: numberField(body.interval, INTERVAL_SECONDS_DEFAULT, 0.2, 60),
    code: {
      userCode: printableField(body, "user_code", PEER, 64),
      verificationUri,
      verificationUriComplete,
      expiresInSeconds: numberField(body.expires_in, 600, 1, 1800),
    },
  };
}

type Outcome = { token: string } | "pending" | "slow_down" | "unreachable";

async function poll(
  { accounts, ca }: DeviceFlowOptions["endpoints"],
  deviceCode: string,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  let answer: HttpAnswer;
  try {
    answer = await httpRequest(accounts, "/oauth/device/token", {
      peer: PEER,
      method: "POST",
      form: { grant_type: DEVICE_GRANT, device_code: deviceCode, client_id: CLIENT_ID },
      ca,
      signal,
    });
  } catch (error) {
    if (error instanceof OSError || error instanceof TimeoutError) return "unreachable";
    throw error;
  }
  if (answer.status >= 500) return "unreachable";
  const body = jsonObject(answer, PEER);
  if (answer.status === 200) {
    const { token_type: kind } = body;
    if (typeof kind !== "string" || kind.toLowerCase() !== "bearer")
      throw new RuntimeError(`${PEER} gave a token of an unknown kind`);
    return { token: printableField(body, "access_token", PEER) };
  }
  switch (body.error) {
    case "authorization_pending":
      return "pending";
    case "slow_down":
      return "slow_down";
    case "access_denied":
      throw new PermissionError("the login was declined: run 'svc login' to ask again");
    case "expired_token":
      throw expired();
    default:
      throw new RuntimeError(`${PEER} refused the login (status ${answer.status}): run 'svc login' again`);
  }
}

/**
 * Accepts https, and http on loopback: for other schemes the system's opener could start a program. A user name before
 * the host would look like the host.
 */
function browserAddress(body: Record<string, unknown>, field: string): string {
  const address = printableField(body, field, PEER, 2048);
  const url = URL.parse(address);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url && isSafe && url.username === "" && url.password === "") return url.href;
  throw new ValueError(`${PEER} named an approval page that is not an https address`);
}

function numberField(value: unknown, fallback: number, least: number, most: number): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : fallback;
}

function expired(): TimeoutError {
  return new TimeoutError("the code expired before it was approved: run 'svc login' again");
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal }).catch(() => {
    throw new CancelledError("cancelled");
  });
}
