/**
 * Renewals by a process that uses the licence: where it has expired, before the first call; in the last third of its
 * life, after one. Where none is due this costs a comparison of two numbers (and a look at the clock in a process
 * that stays), and loads none of the code below.
 */

import { errorMessage, PermissionError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { readClock } from "../../trust/account/clock.ts";
import { day, type License, renewableFrom } from "../../trust/account/license/license.ts";
import { type NativeOptions, type VerifiedNative, verifiedNative } from "../../trust/runtime/libraries.ts";

/** Whose licence, and how it may be renewed. */
export interface RenewalSite {
  readonly env: Env;
  /** Whether an organisation may be asked, where a login agreed to that; false: this process opens no connection. */
  readonly network: boolean;
  /** Gets why a licence could not be renewed. */
  readonly warn: (line: string) => void;
}

/** After the first answer of most processes; the signature and the syncs take some ten milliseconds. */
const FIRST_MS = 500;
/** How often a process that stays looks again: a day of an organisation's grace must not pass unused. */
const AGAIN_MS = 6 * 3600 * 1000;
/** How long the requests to an organisation may take in all. */
const REQUEST_MS_MAX = 20_000;
/** How long an install under way is waited for. */
const COPY_MS_MAX = 500;
/** How long the end of a command waits for a renewal. */
const END_MS_MAX = 2000;

/**
 * As `verifiedNative`; an expired licence of this machine's local authority is signed again first, without network.
 * @throws what verifiedNative throws
 */
export async function licensedNative(options: NativeOptions, { env, warn }: RenewalSite): Promise<VerifiedNative> {
  const renew = () => attempt(() => renewHere(env), "the licence could not be renewed", warn);
  const warnings: string[] = [];
  const open = () => verifiedNative({ ...options, env, warn: (line) => warnings.push(line) });
  let native: VerifiedNative;
  try {
    native = await open();
  } catch (error) {
    if (!(error instanceof PermissionError && error.reason === "license_expired") || !(await renew())) throw error;
    native = await open();
  }
  const { license } = native;
  // In its days of grace: the warning says to log in, which is not needed where this machine signs by itself.
  const renewed = Date.now() / 1000 < license.expiresAt || license.readOnly ? undefined : await renew();
  if (renewed) return { ...native, license: renewed };
  for (const line of warnings) warn(line);
  return native;
}

/** Renews the licence of a process that stays, in the background, for as long as it runs. Keeps no process alive. */
export function keepRenewed(license: License, site: RenewalSite): void {
  let current = license;
  let said: string | undefined;
  const warn = (line: string) => {
    if (line !== said) site.warn(line);
    said = line;
  };
  const look = async () => {
    // The latest time seen moves with the process: else one that ran for a year would find its own clock in doubt.
    readClock(svcHome(site.env));
    current = (await renewDue(current, { ...site, warn }, REQUEST_MS_MAX)) ?? current;
  };
  setTimeout(look, FIRST_MS).unref();
  setInterval(look, AGAIN_MS).unref();
}

/** Renews the licence at the end of a command, which waits two seconds for it at most. */
export async function renewAtEnd(license: License, site: RenewalSite): Promise<void> {
  if (!isDue(license)) return;
  await Promise.race([renewDue(license, site, END_MS_MAX), Bun.sleep(END_MS_MAX)]);
}

function isDue(license: License): boolean {
  return Date.now() / 1000 >= renewableFrom(license);
}

/**
 * @param networkMs how long requests may take
 * @returns the licence that is there afterwards; undefined where it is the same. Never throws.
 */
async function renewDue(license: License, { env, network, warn }: RenewalSite, networkMs: number) {
  if (!isDue(license)) return undefined;
  const failed = `the licence works until ${day(license.usableUntil)} and could not be renewed`;
  return attempt(
    async () => {
      const home = svcHome(env);
      const own = await renewHere(env);
      if (own || !network) return own;
      const { renewByConsent } = await import("../../trust/account/login/renewal.ts");
      const renewed = await renewByConsent(home, env, license, { signal: AbortSignal.timeout(networkMs) });
      if (renewed && renewed.jwt !== license.jwt) await copyBeside(home, renewed);
      return renewed;
    },
    failed,
    warn,
  );
}

async function renewHere(env: Env): Promise<License | undefined> {
  const home = svcHome(env);
  const renewed = await (await import("../../trust/authority/renew.ts")).renewHere(home, env);
  if (renewed) await copyBeside(home, renewed);
  return renewed;
}

/** The copy beside the runtime follows. Nothing reads it, so that neither a failure nor an install under way matters. */
async function copyBeside(home: string, { jwt }: License): Promise<void> {
  const { renewLicenseCopy } = await import("../../trust/runtime/license-copy.ts");
  await renewLicenseCopy(home, jwt, COPY_MS_MAX).catch(() => {});
}

async function attempt<T>(action: () => Promise<T>, failed: string, warn: (line: string) => void) {
  try {
    return await action();
  } catch (error) {
    // The licence does not work on: the next call says the same.
    if (error instanceof PermissionError && error.reason === "device_revoked") {
      warn(error.message);
      return undefined;
    }
    const reason = errorMessage(error);
    warn(`${failed}: ${reason}`);
    return undefined;
  }
}
