/**
 * Was the one login done, and does its licence hold? The gate in front of every tool, and the way out again.
 */
import { unlinkSync } from "node:fs";
import { basename } from "node:path";
import { diskError, syncDirectory } from "../durable.ts";
import { PermissionError } from "../errors.ts";
import { accountPaths, type Env } from "../paths.ts";
import { type BuildTrust, licenseAnchor } from "./anchors.ts";
import { readClock } from "./clock.ts";
import { readDevice } from "./device.ts";
import { secretText } from "./files.ts";
import { type License, verifyLicense } from "./license.ts";
import { NOT_LOGGED_IN, storedLicense } from "./license-check.ts";

/** What a login left behind, found good. */
export interface Login {
  readonly license: License;
  /** The licence as signed, for whoever checks it again: the runtime when it is installed and loaded. */
  readonly jwt: string;
  /** Sentences worth showing once; none of them stops anything. */
  readonly warnings: readonly string[];
}

/** For tests: the present in seconds, and the build whose trust counts. */
export interface LoginCheck {
  readonly now?: number;
  readonly build?: BuildTrust;
}

/** The secrets that requests to an authority carry; each from the environment first, then from its file. */
export interface Credentials {
  readonly token: string | undefined;
  readonly apiKey: string | undefined;
}

/**
 * Checks that `svc login` was done on this machine and that its licence is good. Works offline, takes a few milliseconds.
 * `SVC_TOKEN` and `SVC_API_KEY` stand in for their files; the licence, the device id and the device key have no stand-in.
 * @throws PermissionError if not logged in, if a file is damaged or others can read it, if the licence is refused.
 */
export async function requireLogin(home: string, env: Env = process.env, options: LoginCheck = {}): Promise<Login> {
  const jwt = storedLicense(home);
  if (jwt === undefined) throw new PermissionError(NOT_LOGGED_IN);
  const device = readDevice(home);
  if (device === undefined) throw incomplete("the device key or id is missing");
  const { token, apiKey } = readCredentials(home, env);
  if (apiKey === undefined) throw incomplete("api_key is missing");
  if (token === undefined && !env.SVC_API_KEY) throw incomplete("token is missing");
  const anchor = licenseAnchor(home, env, options.build);
  const clock = readClock(home, options.now);
  const license = await verifyLicense(jwt, {
    publicKeyPem: anchor.publicKeyPem,
    deviceThumbprint: device.thumbprint,
    now: clock.now,
    latest: clock.latest,
  });
  return { license, jwt, warnings: [...license.warnings, ...(clock.warning ? [clock.warning] : [])] };
}

/**
 * The token and the API key, as far as there are any.
 * @throws PermissionError if others can read one of the files, with the `chmod` that mends it.
 */
export function readCredentials(home: string, env: Env = process.env): Credentials {
  const paths = accountPaths(home);
  return {
    token: env.SVC_TOKEN || secretText(home, paths.token) || undefined,
    apiKey: env.SVC_API_KEY || secretText(home, paths.apiKey) || undefined,
  };
}

/**
 * Takes the login back: the licence first, the device key last, so that an interrupted logout can be
 * repeated and never leaves a licence that looks usable. Memory, runtime and authority stay.
 * @returns the names of the files that were removed, relative to `SVC_HOME`.
 */
export function logout(home: string): string[] {
  const paths = accountPaths(home);
  const removed: string[] = [];
  for (const role of ["license", "apiKey", "token", "deviceId", "deviceKey"] as const) {
    const path = paths[role];
    try {
      unlinkSync(path);
      removed.push(basename(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw diskError(error, "remove", path);
    }
  }
  if (removed.length > 0) syncDirectory(home);
  return removed;
}

function incomplete(what: string): PermissionError {
  return new PermissionError(`the login is incomplete, ${what}: run 'svc login' again`);
}
