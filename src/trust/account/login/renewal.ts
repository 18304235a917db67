/**
 * The renewal of an organisation's licence by this machine itself: only after a login has recorded the consent, only
 * from the address that login was with, at most once a day.
 */
import { isObject } from "../../../checks/kinds.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { readSecret, removeDurable, writeDurable } from "../../../durable.ts";
import { attempt, PermissionError } from "../../../errors.ts";
import { SECRET_BYTES_MAX } from "../../../limits.ts";
import { accountPaths, type Env } from "../../../paths.ts";
import { readClock } from "../clock.ts";
import { ensureDevice, readDevice } from "../device.ts";
import { secretText } from "../files.ts";
import { type License, renewableFrom } from "../license/license.ts";
import { type CheckOptions, checkLicense, storedLicense } from "../license/license-check.ts";
import { isRevoked } from "../license/revocation.ts";
import { licenseAnchor } from "../trusted/anchors.ts";
import { configuredEndpoints, secureBase } from "../trusted/endpoints.ts";
import { addSuccessors } from "../trusted/pin.ts";
import { verifyIssued } from "./issued-license.ts";
import { withLoginLock } from "./login-lock.ts";
import { digestOf } from "./login-origin.ts";
import { registerDevice } from "./registration.ts";
import { heedRevocation } from "./revoked-login.ts";

/** `renewal.json`: that a login agreed to renewals, and what became of the last one. Times are in seconds since 1970. */
export interface RenewalConsent {
  /** The API's base address. */
  readonly api: string;
  /** SHA-256 of the login's API key: with another one, of a login elsewhere, the consent does not count. */
  readonly key: string;
  /** The last try, successful or not. */
  readonly tried?: number;
  /** When the authority refused this device: nothing is tried until the next login. */
  readonly refused?: number;
}

/** At most one try in so many seconds. */
const TRY_SECONDS = 86_400;

/**
 * The recorded consent; undefined where there is none.
 * @throws PermissionError where the file is damaged or others can reach it; OSError
 */
export function readConsent(home: string): RenewalConsent | undefined {
  const bytes = readSecret(accountPaths(home).renewal, SECRET_BYTES_MAX, home);
  if (bytes === undefined) return undefined;
  const consent = parsed(bytes);
  if (consent === undefined)
    throw new PermissionError("renewal.json is damaged: run 'svc login --auto-renew', or remove it");
  return consent;
}

/**
 * The origin that a licence is renewed from without being asked for; undefined where there is none.
 * @throws as `readConsent`
 */
export function renewalOrigin(home: string): string | undefined {
  const consent = readConsent(home);
  return consent && counts(consent, secretText(home, accountPaths(home).apiKey)) ? originOf(consent.api) : undefined;
}

/** What a login says about renewals. */
export interface ConsentWish {
  /** `--auto-renew`, `--no-auto-renew`, or neither. */
  readonly wanted: boolean | undefined;
  /** The API's base address and the API key of the login; no address: of this machine's local authority. */
  readonly api: string | undefined;
  readonly apiKey: string;
}

/** What became of it: the origin of renewals, and what to say where the caller did not ask for it. */
export interface ConsentOutcome {
  readonly origin: string | undefined;
  readonly note: string | undefined;
}

/**
 * Records, keeps or takes back the consent after a login: without a wish the one for the same origin is kept, with this
 * login's key, and the one for another is taken back.
 * @throws OSError where the disk fails; TimeoutError while another process holds the login's lock
 */
export function settleConsent(home: string, { wanted, api, apiKey }: ConsentWish): Promise<ConsentOutcome> {
  return withLoginLock(home, () => {
    const before = originOf(attempt(() => readConsent(home))?.api);
    const origin = originOf(api);
    const agrees = origin !== undefined && (wanted ?? before === origin);
    if (agrees) {
      write(home, { api: api!, key: digestOf(apiKey) });
      return { origin, note: wanted ? undefined : `the licence goes on renewing itself at ${origin}` };
    }
    const existed = removeDurable(accountPaths(home).renewal);
    const own = "this machine's local authority needs no --auto-renew: its licence is renewed here, without network";
    const unread = "the licence no longer renews itself: renewal.json was damaged, or open to others, and is removed";
    const taken = before === undefined ? unread : `the licence no longer renews itself at ${before}`;
    const note = existed && wanted === undefined ? taken : undefined;
    return { origin: undefined, note: wanted && origin === undefined ? own : note };
  });
}

/**
 * Asks the authority for a new licence where a login agreed to that, and puts it in place of the old one once it is
 * verified and found to last longer. A login that comes meanwhile wins.
 * @param known the licence of this process, which is to be renewed
 * @returns the licence that is there afterwards; undefined where nothing was asked for or came of it
 * @throws DeviceRevoked where the authority has revoked this device: its licence is removed then;
 *   PermissionError where the authority or the address is refused; what a request throws; OSError where the try
 *   cannot be recorded: then nothing is sent
 */
export async function renewByConsent(
  home: string,
  env: Env,
  known: License,
  options: Omit<CheckOptions, "device"> & { readonly signal?: AbortSignal } = {},
): Promise<License | undefined> {
  const { warning, ...clock } = readClock(home, options.now);
  if (warning !== undefined || readConsent(home) === undefined) return undefined;
  const begun = await withLoginLock(home, () => begin(home, env, known, clock.now, options));
  if (begun === undefined || "license" in begun) return begun?.license;
  const { consent, server, apiKey, before } = begun;
  const device = await ensureDevice(home);
  let jwt: string;
  try {
    jwt = await registerDevice(server, apiKey, device, options);
  } catch (error) {
    if (isRevoked(error)) await heedRevocation(home, error, { before, isOwn: () => isOf(home, consent) }, clock.now);
    if (!(error instanceof PermissionError) || error.reason !== "denied") throw error;
    await withLoginLock(home, () => refuse(home, consent, clock.now));
    throw new PermissionError(`${error.message}; nothing is tried until the next 'svc login'`, "denied");
  }
  const trust = { ...licenseAnchor(home, env, options.build), deviceThumbprint: device.thumbprint };
  const { license, successors } = await verifyIssued(jwt, server, { ...trust, ...clock, signal: options.signal });
  if (license.expiresAt <= known.expiresAt) return undefined;
  return withLoginLock(home, () => {
    if (storedLicense(home) !== before) return undefined;
    if (successors) addSuccessors(home, successors);
    writeDurable(accountPaths(home).license, `${license.jwt}\n`);
    return license;
  });
}

/** Decides on a try and records it. The caller holds the login's lock, so that of two processes one tries. */
async function begin(home: string, env: Env, known: License, now: number, options: CheckOptions) {
  const before = storedLicense(home);
  const consent = readConsent(home);
  const apiKey = secretText(home, accountPaths(home).apiKey);
  if (before === undefined || consent === undefined || apiKey === undefined) return undefined;
  if ((await readDevice(home)) === undefined) return undefined;
  // Another process has renewed it, or logged in.
  const stored = before === known.jwt ? known : await checkLicense(home, env, before, options);
  if (now < renewableFrom(stored)) return { license: stored };
  if (!counts(consent, apiKey)) return undefined;
  if (consent.tried !== undefined && Math.abs(now - consent.tried) < TRY_SECONDS) return undefined;
  const configured = configuredEndpoints(env, home, options.build);
  const origin = originOf(consent.api);
  if (configured && originOf(configured.api) !== origin)
    throw new PermissionError(
      `renewals are agreed with ${origin}, but ${originOf(configured.api)} is configured: run 'svc login --auto-renew'`,
    );
  write(home, { ...consent, tried: Math.floor(now) });
  return { consent, server: { api: consent.api, ca: configured?.ca }, apiKey, before };
}

/** Whether it is of the login with this key, and the authority has not refused the device since. */
function counts({ key, refused }: RenewalConsent, apiKey: string | undefined): boolean {
  return refused === undefined && apiKey !== undefined && key === digestOf(apiKey);
}

/** Whether the stored login is still the one that this consent is of. */
function isOf(home: string, { api, key }: RenewalConsent): boolean {
  const consent = readConsent(home);
  return consent?.api === api && consent.key === key && counts(consent, secretText(home, accountPaths(home).apiKey));
}

/** Stops further tries, where no login has come meanwhile. */
function refuse(home: string, { key }: RenewalConsent, now: number): void {
  const consent = readConsent(home);
  if (consent?.key === key) write(home, { ...consent, refused: Math.floor(now) });
}

function parsed(bytes: Uint8Array): RenewalConsent | undefined {
  const value = attempt(() => parseStrictJson(bytes));
  if (!isObject(value) || value.format !== 1) return undefined;
  const { api, key, tried, refused } = value;
  const isTime = (time: unknown): time is number | undefined => time === undefined || Number.isFinite(time);
  if (typeof api !== "string" || typeof key !== "string" || !/^[0-9a-f]{64}$/.test(key)) return undefined;
  if (!isTime(tried) || !isTime(refused) || originOf(api) === undefined) return undefined;
  return { api, key, tried, refused };
}

function write(home: string, consent: RenewalConsent): void {
  writeDurable(accountPaths(home).renewal, `${JSON.stringify({ format: 1, ...consent })}\n`);
}

/** The origin of an address that secrets may be sent to; undefined for every other text. */
function originOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : attempt(() => secureBase(address, "the api server").origin);
}
