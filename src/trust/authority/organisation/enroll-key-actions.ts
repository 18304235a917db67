/**
 * What administrators do with enrolment keys: on the pages and on the terminal alike. Each change and its row in the audit
 * log are one transaction; the log has a key's id, never its text.
 */

import { checkAccount, checkShownName } from "../../../checks/device-name.ts";
import { shown } from "../../../checks/kinds.ts";
import { ValueError } from "../../../errors.ts";
import { newEnrollKey } from "../../account/enroll-key.ts";
import type { EnrollKey } from "../ledger/enroll-keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Actor } from "./device-actions.ts";

/** What a key is to be. */
export interface EnrollKeyWish {
  /** How many devices it lets in, from 1 to `ENROLL_KEY_USES_MAX`; null for any number. */
  readonly usesMax: number | null;
  /** Milliseconds since 1970; null for a key that does not expire. */
  readonly expiresAt: number | null;
  /** What it is for, in lists; may be empty. */
  readonly label?: string;
  /** What the devices that it lets in are tagged with. */
  readonly tags?: readonly string[];
  /** The account of these devices and of their licences; `ENROLL_ACCOUNT` where none is named. */
  readonly account?: string;
}

export const ENROLL_KEY_USES_MAX = 1_000_000;
/** The account of devices that no person signed in. */
export const ENROLL_ACCOUNT = "machines";
const LABEL_LENGTH_MAX = 64;
const TAGS_MAX = 16;
const TAG = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._:/-]{0,31}$/u;

/**
 * Makes a key; times are in milliseconds since 1970.
 * @returns its record, and its text, which cannot be had again
 * @throws ValueError for a value outside its domain
 */
export function createEnrollKey(
  ledger: Ledger,
  wish: EnrollKeyWish,
  { by, address }: Actor,
  now: number,
): { readonly text: string; readonly key: EnrollKey } {
  const { usesMax, expiresAt, label = "", account = "" } = wish;
  if (usesMax !== null && !(Number.isInteger(usesMax) && usesMax >= 1 && usesMax <= ENROLL_KEY_USES_MAX))
    throw new ValueError(`an enrolment key has 1 to ${ENROLL_KEY_USES_MAX} uses, got ${usesMax}`);
  if (expiresAt !== null && !(expiresAt > now))
    throw new ValueError("an enrolment key expires later than now, or not at all");
  const checked = {
    label: label.trim() && checkShownName(label, "label", LABEL_LENGTH_MAX),
    tags: checkTags(wish.tags ?? []),
    account: account.trim() ? checkAccount(account) : ENROLL_ACCOUNT,
    usesMax,
    expiresAt,
  };
  const { id, text } = newEnrollKey();
  const key = ledger.transaction(() => {
    ledger.enrollKeys.create({ id, secret: text, by, ...checked }, now);
    const detail = {
      key: id,
      label: checked.label,
      tags: checked.tags.join(" "),
      account: checked.account,
      uses_max: usesMax,
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    };
    ledger.audit.add({ at: now, event: "enroll_key_created", actor: by, address, detail });
    return ledger.enrollKeys.get(id);
  });
  if (key === undefined) throw new Error("the key that was just made is not there");
  return { text, key };
}

/**
 * Revokes a key: it lets in no further device. Those that it has let in stay.
 * @returns false where it is revoked already
 * @throws ValueError where there is no such key
 */
export function revokeEnrollKey(ledger: Ledger, id: string, { by, address }: Actor, now: number): boolean {
  return ledger.transaction(() => {
    if (ledger.enrollKeys.get(id) === undefined) {
      throw new ValueError(`there is no enrolment key ${shown(id)}: 'svc authority enroll list' shows their ids`);
    }
    if (!ledger.enrollKeys.revoke(id, by, now)) return false;
    ledger.audit.add({ at: now, event: "enroll_key_revoked", actor: by, address, detail: { key: id } });
    return true;
  });
}

function checkTags(tags: readonly string[]): string[] {
  const distinct = [...new Set(tags.map((tag) => tag.trim()))];
  for (const tag of distinct) {
    if (TAG.test(tag)) continue;
    throw new ValueError(`tag ${shown(tag)}: 1 to 32 letters, digits and . _ : / -, a letter or digit first`);
  }
  if (distinct.length > TAGS_MAX) throw new ValueError(`an enrolment key has at most ${TAGS_MAX} tags`);
  return distinct;
}
