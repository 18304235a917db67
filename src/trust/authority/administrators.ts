/** Who is an administrator: the holder of a code that `svc authority admin add` printed once. */
import { randomBytes } from "node:crypto";
import { KeyError, ValueError } from "../../errors.ts";
import { addressGroup } from "./addresses.ts";
import type { Authority } from "./context.ts";
import type { Ledger } from "./ledger/ledger.ts";

/** 256 random bits; the ledger has their SHA-256 only. */
const CODE = /^sva_[\w-]{43}$/;

/**
 * Adds an administrator.
 * @param by who adds them, for the audit log
 * @returns their code, which is kept nowhere
 * @throws ValueError for an invalid name, or one that another administrator has
 */
export function addAdministrator(ledger: Ledger, name: string, by: string, now: number): string {
  checkName(name);
  const code = `sva_${randomBytes(32).toString("base64url")}`;
  ledger.transaction(() => {
    if (!ledger.admins.add(name, code, now)) {
      throw new ValueError(`there is an administrator '${name}': remove them first, or choose another name`);
    }
    ledger.audit.add({ at: now, event: "admin_added", actor: by, detail: { name } });
  });
  return code;
}

/** Removes an administrator: their code and all of their sessions end. @throws KeyError if there is none of the name */
export function removeAdministrator(ledger: Ledger, name: string, by: string, now: number): void {
  ledger.transaction(() => {
    if (!ledger.admins.remove(name)) {
      throw new KeyError(`there is no administrator '${name}': 'svc authority admin list' shows them`);
    }
    ledger.audit.add({ at: now, event: "admin_removed", actor: by, detail: { name } });
  });
}

/** Names that read alike differ in the log only if no character of them is invisible. */
function checkName(name: string): void {
  if (/^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]{0,62}[^\p{C}\p{Z}])?$/u.test(name)) return;
  throw new ValueError(
    "an administrator's name has 1 to 64 characters, none of them invisible, and no space at its ends, not " +
      JSON.stringify([...name].slice(0, 80).join("")),
  );
}

/**
 * The name of the administrator with this code. A right code is never refused or delayed; what is limited is the answer
 * to wrong ones, as with the codes of logins. It cannot be guessed: the limit keeps an address that tries from being
 * answered as fast as it asks.
 * @returns undefined for a wrong code, with `waitMs` once its address has sent too many of them
 */
export function administratorOf(
  authority: Pick<Authority, "ledger" | "guesses" | "now">,
  code: string,
  address: string | undefined,
): string | { readonly waitMs: number } | undefined {
  const name = CODE.test(code) ? authority.ledger.admins.find(code) : undefined;
  if (name !== undefined) return name;
  const waitMs = authority.guesses.miss(addressGroup(address), 0, authority.now());
  return waitMs > 0 ? { waitMs } : undefined;
}
