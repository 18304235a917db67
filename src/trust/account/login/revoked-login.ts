/** What the answer that a device is revoked does to the login of this machine. */
import { unlinkSync } from "node:fs";
import { basename } from "node:path";
import { syncDirectory, writeDurable } from "../../../durable.ts";
import { attempt, OSError } from "../../../errors.ts";
import { accountPaths } from "../../../paths.ts";
import { readDevice } from "../device.ts";
import { verifyLicense } from "../license/license.ts";
import { storedLicense } from "../license/license-check.ts";
import { revocationRecord } from "../license/revocation.ts";
import type { LicenseAnchor } from "../trusted/anchors.ts";
import { withLoginLock } from "./login-lock.ts";
import { baseOf, isUnrecorded, loginServer } from "./login-origin.ts";

/** Whose licence an authority's answer is about. */
export interface RevocationRequest {
  /** `licenseBefore` the request. */
  readonly before: string | undefined;
  /** The API key that the caller gave (`SVC_API_KEY`): where it is not the login's, the answer is about that one's device. */
  readonly givenKey?: string | undefined;
  /**
   * The LICENSE key by which the server that answered is known to be an authority; undefined where none is. It
   * tells whose a login is that an earlier svc made, without a record of where.
   */
  readonly anchor?: LicenseAnchor | undefined;
  /**
   * Whether the stored login is the one that asked; called under the login's lock. By default one at the address that
   * answered.
   */
  readonly isOwn?: () => boolean | Promise<boolean>;
}

/** The licence that is stored before a request, whatever is wrong with it. */
export function licenseBefore(home: string): string | undefined {
  return attempt(() => storedLicense(home));
}

/**
 * Does what the answer of an authority asks for: removes the licence of the login that asked. The answer of another
 * server removes nothing, nor does one that a login has overtaken.
 * @param now in seconds since 1970
 * @returns whether it was removed
 * @throws OSError where the licence cannot be removed; TimeoutError while another process holds the login's lock
 */
export function heedRevocation(
  home: string,
  { server }: { readonly server: string },
  asked: RevocationRequest,
  now: number = Date.now() / 1000,
): Promise<boolean> {
  const { before, isOwn = () => isWith(home, server, asked, now) } = asked;
  return withLoginLock(home, async () => {
    if (before === undefined || storedLicense(home) !== before || !(await isOwn())) return false;
    const { license, revoked } = accountPaths(home);
    // First: whenever this process is killed, either the licence stands as it was or every call refuses.
    const isRecorded = isDone(() => writeDurable(revoked, revocationRecord(new URL(server).origin, now)));
    // On a full disk the licence goes all the same, and what is said later is that there is no login.
    const isRemoved = isDone(() => unlinkSync(license));
    if (!isRecorded && !isRemoved) throw new OSError(`cannot remove '${basename(license)}': check who may write there`);
    syncDirectory(home);
    return true;
  });
}

/**
 * Whether the stored login is with that server: by its record, or, where svc wrote none yet, by the licence. That one is
 * by a key which only the authority has that the environment, the build or a flag names at this address.
 */
async function isWith(home: string, server: string, asked: RevocationRequest, now: number): Promise<boolean> {
  const { before, givenKey, anchor } = asked;
  if (
    before === undefined ||
    anchor === undefined ||
    anchor.source === "local authority" ||
    !isUnrecorded(home, givenKey)
  )
    return loginServer(home, givenKey) === baseOf(server);
  try {
    const deviceThumbprint = (await readDevice(home))?.thumbprint ?? "";
    await verifyLicense(before, { ...anchor, deviceThumbprint, now, evenExpired: true });
    return true;
  } catch {
    return false;
  }
}

function isDone(action: () => void): boolean {
  return attempt(() => [action()]) !== undefined;
}
