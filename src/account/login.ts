/**
 * `svc login`, once per machine: a token, an API key, a registered device, a licence. The same for a local and a remote
 * authority: both are addresses. The five files are written 0600, the device key first and the licence last, so that a
 * licence on disk implies the others.
 */
import { writeDurable } from "../durable.ts";
import { PermissionError, ValueError } from "../errors.ts";
import { accountPaths, type Env } from "../paths.ts";
import { type BuildTrust, licenseAnchor } from "./anchors.ts";
import { resetClock } from "./clock.ts";
import { ensureDevice } from "./device.ts";
import { authorizeDevice, type DeviceFlowOptions } from "./device-flow.ts";
import { type Endpoints, secureBase } from "./endpoints.ts";
import { type License, verifyLicense } from "./license.ts";
import { withLoginLock } from "./login-lock.ts";
import { onboard, registerDevice } from "./registration.ts";

export interface LoginOptions extends Pick<DeviceFlowOptions, "onCode" | "signal" | "sleep"> {
  readonly home: string;
  readonly env: Env;
  readonly endpoints: Endpoints;
  /** An access token obtained elsewhere (`--token`, else `SVC_TOKEN`): no code is shown, no device flow is run. */
  readonly token?: string;
  /** The present in seconds, for tests. */
  readonly now?: number;
  /** The build whose trust counts, for tests. */
  readonly build?: BuildTrust;
}

export interface LoginResult {
  readonly deviceId: string;
  readonly license: License;
  readonly apiKey: string;
}

/**
 * Logs this machine in. Repeating it is safe: the device stays the same, token, API key and licence are renewed.
 * Nothing of an earlier login is replaced before the new licence is verified. `SVC_API_KEY` replaces the key from
 * onboarding, and the token.
 * @throws PermissionError if declined, refused, or if the licence does not verify; TimeoutError if the code expired;
 * CancelledError; ValueError for an unusable address or token; OSError if a server cannot be reached or the disk fails;
 * TimeoutError too while another login does not end.
 */
export async function login(options: LoginOptions): Promise<LoginResult> {
  const { home, env, endpoints, signal } = options;
  // All addresses are checked before the first byte is sent to any of them.
  secureBase(endpoints.accounts, "the accounts server");
  secureBase(endpoints.api, "the api server");
  if (endpoints.packages) secureBase(endpoints.packages, "the packages server");

  const givenKey = givenSecret(env.SVC_API_KEY, "SVC_API_KEY");
  const givenToken = givenSecret(options.token, "--token") ?? givenSecret(env.SVC_TOKEN, "SVC_TOKEN");
  // Before a person is asked for anything: a home that cannot be written fails here.
  await withLoginLock(home, () => ensureDevice(home));
  const token =
    givenToken ??
    (givenKey === undefined ? await authorizeDevice({ ...options, accounts: endpoints.accounts }) : undefined);
  // In one piece: a key of onboarding ends the one before it, which a second login might just have been given.
  return withLoginLock(home, async () => {
    // Again: a logout may have removed it while the person was waited for.
    const device = await ensureDevice(home);
    const apiKey = givenKey ?? (await onboard(endpoints.api, token ?? "", device, signal));
    const jwt = await registerDevice(endpoints.api, apiKey, device, signal).catch((error) => {
      // A login again would only be given the same one.
      if (givenKey === undefined || !(error instanceof PermissionError && error.reason === "unauthorized")) throw error;
      throw new PermissionError("SVC_API_KEY is refused: set another one, or unset it", "unauthorized");
    });
    const license = await verifyLicense(jwt, {
      publicKeyPem: licenseAnchor(home, env, options.build).publicKeyPem,
      deviceThumbprint: device.thumbprint,
      now: options.now,
    });
    const paths = accountPaths(home);
    if (token !== undefined) writeDurable(paths.token, `${token}\n`);
    writeDurable(paths.apiKey, `${apiKey}\n`);
    resetClock(home, options.now);
    writeDurable(paths.license, `${jwt}\n`);
    return { deviceId: device.id, license, apiKey };
  });
}

/**
 * A secret of the caller, or `undefined` if empty. It becomes a header, so it must be printable; the error never quotes
 * it.
 */
function givenSecret(value: string | undefined, name: string): string | undefined {
  const trimmed = value?.trim();
  if (!trimmed) return undefined;
  if (trimmed.length > 8192 || !/^[\x21-\x7e]+$/.test(trimmed)) throw new ValueError(`${name} is not a usable token`);
  return trimmed;
}
