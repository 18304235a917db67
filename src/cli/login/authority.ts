/** The authority that `svc login` goes to: its flags, what is checked of it beforehand, and what is said about it. */

import { type Env, svcHome } from "../../paths.ts";
import { fingerprintOf, type LoginTarget, loginTarget } from "../../trust/account/login/login-target.ts";
import { type Preflight, preflight } from "../../trust/account/login/preflight.ts";
import type { ReportedAuthority } from "../runtime/pinned-authority.ts";
import { string, type Values } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";

/** The flags, for the command's table. */
export const AUTHORITY_FLAGS = {
  authority: string(
    "URL",
    "an organisation's authority, which later logins go to as well; needs --license-pubkey once",
  ),
  "license-pubkey": string(
    "KEY",
    "its licence key, as its administrator gives it: a file, or a fingerprint (SHA256:…)",
  ),
  "ca-file": string(
    "FILE",
    "certificates in PEM that its own has to lead to, for an organisation with a CA of its own",
  ),
} as const;

/** Their values. */
export type AuthorityValues = Values<typeof AUTHORITY_FLAGS>;

/** The authority of a login; undefined for the local one. @throws as `loginTarget` */
export function targetOf(env: Env, flags: AuthorityValues): Promise<LoginTarget | undefined> {
  const { authority, "license-pubkey": licensePubkey, "ca-file": caFile } = flags;
  return loginTarget({ home: svcHome(env), env }, { authority, licensePubkey, caFile });
}

/**
 * Checks the authority before a person is asked, and says which one it is and by which key.
 * @throws as `preflight`
 */
export async function checkAuthority(target: LoginTarget, signal: AbortSignal): Promise<Preflight> {
  const checked = await preflight(target, { signal });
  for (const line of checked.notes) note(`note: ${line}`);
  if (target.by !== "environment")
    note(`the authority is ${new URL(target.endpoints.accounts).origin}, its licence key ${fingerprintOf(target.key)}`);
  return checked;
}

/** Says what later logins do, where this one has changed that. */
export function notePin(target: LoginTarget | undefined): void {
  if (!target?.isChanged || target.by === "build") return;
  note(`'svc login' goes to ${target.endpoints.accounts} from now on; 'svc logout --forget' takes that back`);
}

/** The authority in `--json`. */
export function describeTarget(target: LoginTarget): ReportedAuthority {
  return { url: target.endpoints.accounts, license_key: fingerprintOf(target.key) };
}
