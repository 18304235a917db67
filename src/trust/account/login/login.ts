/**
 * `svc login`, once per machine: a token, an API key, a registered device, a licence. The same for a local and a remote
 * authority: both are addresses. The five files are written 0600, the device key first and the licence last, so that a
 * licence on disk implies the others; an authority that is pinned with it counts from the licence on (pin.ts).
 */
import { writeDurable } from "../../../durable.ts";
import { attempt } from "../../../errors.ts";
import { accountPaths, type Env } from "../../../paths.ts";
import { resetClock } from "../clock.ts";
import { ensureDevice } from "../device.ts";
import type { EnrollKeyText } from "../enroll-key.ts";
import type { License } from "../license/license.ts";
import { forgetRevocation, isRevoked } from "../license/revocation.ts";
import { type BuildTrust, type LicenseAnchor, licenseAnchor } from "../trusted/anchors.ts";
import { type Endpoints, secureBase } from "../trusted/endpoints.ts";
import { addSuccessors, type Pin, settlePin, stagePin } from "../trusted/pin.ts";
import { authorizeDevice, type DeviceFlowOptions } from "./device-flow.ts";
import { givenSecrets, needsApproval } from "./given-secrets.ts";
import { verifyIssued } from "./issued-license.ts";
import { forgetLogout } from "./logged-out.ts";
import { withLoginLock } from "./login-lock.ts";
import { recordLoginOrigin } from "./login-origin.ts";
import { obtainLicense } from "./registration.ts";
import { heedRevocation, licenseBefore } from "./revoked-login.ts";

export interface LoginOptions extends Pick<DeviceFlowOptions, "onCode" | "signal" | "sleep"> {
  readonly home: string;
  readonly env: Env;
  readonly endpoints: Endpoints;
  /** An access token obtained elsewhere (`--token`, else `SVC_TOKEN`): no code is shown, no device flow is run. */
  readonly token?: string;
  /** An enrolment key, in place of every other secret (`--enroll-key`): one request, and no person is asked. */
  readonly enrollKey?: EnrollKeyText;
  /** What the device is called in the administrator's list (`--device-name`). */
  readonly deviceName?: string;
  /** The authority to pin with this login: the licence is checked by its key. Absent: the pin stays as it is. */
  readonly pin?: Pin | undefined;
  /**
   * For an automatic login: called under the login's lock before any file of a login is written, and throws where such a
   * login is refused. Absent: a person logs in, which ends the effect of `svc logout`.
   */
  readonly refuseAutomaticLogin?: () => Promise<void>;
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
  const { home, env, now } = options;
  const before = licenseBefore(home);
  try {
    return await signIn(options);
  } catch (error) {
    // The answer of another authority than that of the present login changes nothing here.
    if (isRevoked(error)) {
      const anchor = attempt(() => anchorOf(options));
      await heedRevocation(home, error, { before, givenKey: env.SVC_API_KEY, anchor }, now);
    }
    throw error;
  }
}

async function signIn(options: LoginOptions): Promise<LoginResult> {
  const { home, endpoints, deviceName, refuseAutomaticLogin, signal } = options;
  // All addresses are checked before the first byte is sent to any of them.
  secureBase(endpoints.accounts, "the accounts server");
  secureBase(endpoints.api, "the api server");
  if (endpoints.packages) secureBase(endpoints.packages, "the packages server");

  const given = givenSecrets(options);
  // Before a person is asked for anything: a home that cannot be written fails here.
  const before = await withLoginLock(home, () => ensureDevice(home));
  const { thumbprint } = before;
  const token = needsApproval(given) ? await authorizeDevice({ ...options, thumbprint }) : given.token;
  // In one piece: a key of onboarding ends the one before it, which a second login might just have been given.
  return withLoginLock(home, async () => {
    await refuseAutomaticLogin?.();
    // A logout may have removed it while the person was waited for.
    before.restore();
    const device = await ensureDevice(home);
    const issued = await obtainLicense(endpoints, { ...given, token }, device, { name: deviceName, signal });
    const { source, ...anchor } = anchorOf(options);
    const { license, successors } = await verifyIssued(issued.license, endpoints, {
      ...anchor,
      deviceThumbprint: device.thumbprint,
      now: options.now,
      signal,
    });
    const paths = accountPaths(home);
    if (options.pin) stagePin(home, { ...options.pin, ...(successors && { successors }) }, license.jwt);
    else if (successors) addSuccessors(home, successors);
    if (issued.token !== undefined) writeDurable(paths.token, `${issued.token}\n`);
    writeDurable(paths.apiKey, `${issued.apiKey}\n`);
    recordLoginOrigin(home, source === "local authority" ? undefined : endpoints.api, issued.apiKey);
    resetClock(home, options.now);
    forgetRevocation(home);
    if (refuseAutomaticLogin === undefined) forgetLogout(home);
    writeDurable(paths.license, `${license.jwt}\n`);
    if (options.pin) settlePin(home);
    return { deviceId: device.id, license, apiKey: issued.apiKey };
  });
}

/** What checks the licence: the key that is pinned with it, else the one in force. */
function anchorOf({ home, env, build, pin }: LoginOptions): LicenseAnchor {
  const anchor = pin?.licenseKey
    ? { publicKeyPem: pin.licenseKey, source: "pinned" as const, successors: [] }
    : licenseAnchor(home, env, build);
  return { ...anchor, successors: pin?.successors ?? anchor.successors };
}
