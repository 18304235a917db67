/** The check of login and licence before every tool. */
import { PermissionError } from "../../../errors.ts";
import { accountPaths, type Env } from "../../../paths.ts";
import { readDevice } from "../device.ts";
import { secretText } from "../files.ts";
import type { License } from "./license.ts";
import { type CheckOptions, checkLicense, requireStored } from "./license-check.ts";

/** The secrets of requests to an authority; each from the environment, else from its file. */
export interface Credentials {
  readonly token: string | undefined;
  readonly apiKey: string | undefined;
}

/**
 * Checks that `svc login` was done on this machine and that its licence is good. Works offline, takes a few
 * milliseconds. `SVC_TOKEN` and `SVC_API_KEY` replace their files; the licence, the device id and the device key have
 * no replacement.
 *
 * @param options.known a licence that this process has verified: returned where the stored one has the same bytes
 * @returns the login's licence; its warnings are for showing once and stop nothing
 * @throws PermissionError if not logged in, if the authority has revoked this device, if a file is damaged or others can read it, if the licence is refused.
 */
export async function requireLogin(
  home: string,
  env: Env = process.env,
  options: CheckOptions & { readonly known?: License } = {},
): Promise<License> {
  const jwt = requireStored(home);
  const device = await readDevice(home);
  if (device === undefined) throw incomplete("the device key or id is missing");
  const { token, apiKey } = readCredentials(home, env);
  if (apiKey === undefined) throw incomplete("api_key is missing");
  if (token === undefined && !env.SVC_API_KEY) throw incomplete("token is missing");
  const { known } = options;
  if (known?.jwt === jwt && known.deviceThumbprint === device.thumbprint) return known;
  return checkLicense(home, env, jwt, { ...options, device });
}

/**
 * The token and the API key, each where present.
 * @throws PermissionError if others can read one of the files, with the `chmod` that fixes it.
 */
export function readCredentials(home: string, env: Env = process.env): Credentials {
  const paths = accountPaths(home);
  return {
    token: env.SVC_TOKEN || secretText(home, paths.token) || undefined,
    apiKey: env.SVC_API_KEY || secretText(home, paths.apiKey) || undefined,
  };
}

function incomplete(what: string): PermissionError {
  return new PermissionError(`the login is incomplete, ${what}: run 'svc login' again`);
}
