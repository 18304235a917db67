/** Enrolment keys: the list, the page that shows a new one, the question before one is revoked. */

import { hidden } from "../../../pages/forms.ts";
import { type Around, address, pages, table } from "../../../pages/lists.ts";
import { alert, escaped, isolated, moment, status } from "../../../pages/text.ts";
import type { EnrollKey } from "../ledger/enroll-keys.ts";
import { administration, type Page } from "./parts.ts";

/** A key as pages show it. */
export type KeyShown = Omit<EnrollKey, "usedAt">;

export interface KeysPage extends Page {
  readonly keys: readonly KeyShown[];
  readonly around: Around;
  readonly count: number;
}

/** A page of keys, those that were made last first. */
export function keysPage({ signed, keys, around, count, now, said }: KeysPage): string {
  const rows = keys.map((key) => [
    `${keyName(key)}<span class="utc">${escaped(key.id)}</span>`,
    usesOf(key),
    endOf(key, now),
    key.tags.map(isolated).join(", "),
    `${isolated(key.createdBy)} ${moment(key.createdAt, now)}`,
    isUsable(key, now)
      ? `<a href="${signed.base}/keys/${key.id}/revoke">Revoke<span class="spoken"> ${keyName(key)}</span></a>`
      : "",
  ]);
  const shown = count === 1 ? "One key" : `${count.toLocaleString("en")} keys`;
  const part = keys.length < count ? `${keys.length} of ` : "";
  const caption = `${part}${shown}${count === 1 ? "" : ", the last made first"}`;
  const content = `<h1>Enrolment keys</h1>
    ${said === undefined ? "" : status(said)}
    <p>A key lets machines in without a person: <code>svc login --enroll-key -</code> reads it from its input.</p>
    <p class="actions"><a class="button primary" href="${signed.base}/keys/new">Make a key</a></p>
    ${
      keys.length === 0
        ? "<p>There is no key yet.</p>"
        : table({ caption, columns: ["Label", "Uses", "Ends", "Tags", "Made by", "Action"], rows })
    }
    ${pages("Pages of keys", around)}`;
  return administration(signed, "keys", { title: "Enrolment keys", content });
}

/** What a key is called: its label, or its id. */
function keyName({ label, id }: KeyShown): string {
  return label === "" ? `key ${escaped(id)}` : isolated(label);
}

function usesOf({ uses, usesMax }: KeyShown): string {
  const times = uses.toLocaleString("en");
  if (usesMax === null) return `${times}, any number allowed`;
  return `${times} of ${usesMax.toLocaleString("en")}${uses >= usesMax ? ' <span class="ended">Used up</span>' : ""}`;
}

function endOf({ revokedAt, revokedBy, expiresAt }: KeyShown, now: number): string {
  if (revokedAt !== null) {
    return `<span class="ended">Revoked</span> by ${isolated(revokedBy ?? "")} ${moment(revokedAt, now)}`;
  }
  if (expiresAt === null) return "Never";
  return `${expiresAt <= now ? '<span class="ended">Expired</span> ' : ""}${moment(expiresAt, now)}`;
}

/** Whether there is something to revoke. */
function isUsable({ revokedAt, expiresAt, uses, usesMax }: KeyShown, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now) && (usesMax === null || uses < usesMax);
}

export interface MadeKeyPage extends Page {
  readonly record: KeyShown;
  /** Undefined once it is no longer shown. */
  readonly key: string | undefined;
  /** Minutes for which it is shown in all. */
  readonly minutes: number;
  /** The command for a job, which reads the key from its variable. */
  readonly line: string;
  readonly variable: string;
}

/** The key that was just made, with what to do with it. */
export function madeKeyPage({ signed, record, key, minutes, line, variable, now }: MadeKeyPage): string {
  const facts = `<dl>
      <dt>Label</dt><dd>${record.label === "" ? "None" : isolated(record.label)}</dd>
      <dt>Uses</dt><dd>${usesOf(record)}</dd>
      <dt>Ends</dt><dd>${endOf(record, now)}</dd>
      <dt>Id</dt><dd>${escaped(record.id)}</dd>
    </dl>`;
  if (key === undefined) {
    const notShown =
      `A key is shown for ${minutes} minutes to the session that made it, and this server keeps no copy. ` +
      "If it was not noted, revoke it and make another one.";
    const content = `<h1>The key is no longer shown</h1>
    ${alert(notShown)}
    ${facts}
    <p class="actions"><a class="button" href="${signed.base}/keys/new">Make a key</a>
      <a class="button" href="${signed.base}/keys/${record.id}/revoke">Revoke this one…</a>
      <a href="${signed.base}/keys">All keys</a></p>`;
    return administration(signed, "keys", { title: "The key is no longer shown", content });
  }
  const content = `<h1>The key was made</h1>
    ${status(`Copy it now. It is shown here for ${minutes} minutes and never again: this server keeps no copy.`)}
    <h2 id="the-key">Key</h2>
    <p class="secret" tabindex="0" role="group" aria-labelledby="the-key">${escaped(key)}</p>
    <p>Store it as the secret <code>${escaped(variable)}</code> of your CI system, not in a file of the repository.</p>
    <h2 id="the-line">Line for the job</h2>
    <p class="secret" tabindex="0" role="group" aria-labelledby="the-line">${escaped(line)}</p>
    <p>If a CA of your own signed this server's certificate, add <code>--ca-file</code> with that CA.</p>
    ${facts}
    <p class="actions"><a class="button" href="${signed.base}/keys">I have copied it</a></p>`;
  return administration(signed, "keys", { title: "The key was made", content });
}

export interface RevokeKeyPage extends Page {
  readonly key: KeyShown;
  readonly csrf: string;
}

/** Asks before a key is revoked. */
export function revokeKeyPage({ signed, key, csrf, now, said }: RevokeKeyPage): string {
  const content = `<h1>Revoke ${keyName(key)}?</h1>
    ${said === undefined ? "" : status(said)}
    <dl>
      <dt>Id</dt><dd>${escaped(key.id)}</dd>
      <dt>Uses</dt><dd>${usesOf(key)}</dd>
      <dt>Ends</dt><dd>${endOf(key, now)}</dd>
    </dl>
    <p>It lets no further device in, at once and for good. Devices that it let in stay: revoke them one by one, from the
    list of <a href="${escaped(address(`${signed.base}/devices`, { search: key.id }))}">devices that it let in</a>.</p>
    <form method="post" action="${signed.base}/keys/${key.id}/revoke">
      ${hidden({ csrf })}
      <p class="actions"><button class="primary">Revoke it</button>
        <a class="button" href="${signed.base}/keys">Keep it</a></p>
    </form>`;
  return administration(signed, "keys", { title: "Revoke this key?", content });
}
