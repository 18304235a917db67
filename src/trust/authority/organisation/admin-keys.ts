/** The pages about enrolment keys. */
import { randomBytes } from "node:crypto";
import { ValueError } from "../../../errors.ts";
import { address } from "../../../pages/lists.ts";
import type { Call, Routes } from "../context.ts";
import { keysPage, madeKeyPage, revokeKeyPage } from "../pages/keys.ts";
import { type KeyEntered, type NewKeyPage, newKeyPage, VALIDITIES } from "../pages/new-key.ts";
import { KEY_SHOWN_MS, remember } from "../sessions.ts";
import { html } from "../site.ts";
import {
  about,
  done,
  entered,
  missing,
  type Sent,
  type Shown,
  sent,
  sentence,
  tokenFor,
  type Visitor,
  view,
} from "./admin.ts";
import { createEnrollKey, ENROLL_ACCOUNT, ENROLL_KEY_USES_MAX, revokeEnrollKey } from "./enroll-key-actions.ts";
import { listPage, type Place } from "./list-pages.ts";

const VARIABLE = "SVC_ENROLL_KEY";
/** What the form for a new key has at first. */
const FRESH: KeyEntered = { label: "", kind: "limited", uses: "1", expires: "7d", tags: "", account: ENROLL_ACCOUNT };
const FIELDS = Object.keys(FRESH) as (keyof KeyEntered)[];

/** GET /admin/keys?after=<id>|before=<id> */
const list: Shown = ({ authority, call, base, signed, now, said }) => {
  const keys = authority.ledger.enrollKeys.list();
  const indexOf = (place: string | undefined) => keys.findIndex(({ id }) => id === place);
  const read = ({ after, before }: Place, limit: number) => {
    if (before === undefined) return keys.slice(indexOf(after) + 1, indexOf(after) + 1 + limit);
    const end = Math.max(0, indexOf(before));
    return keys.slice(Math.max(0, end - limit), end);
  };
  const { searchParams: parameters } = call.url;
  const shape = /^[0-9a-f]{12}$/;
  const { rows, around } = listPage({ path: `${base}/keys`, parameters, shape, read, idOf: ({ id }) => id });
  return html(200, keysPage({ signed, keys: rows, around, count: keys.length, now, said }));
};

const ofKey = about(
  ({ authority, call }) => authority.ledger.enrollKeys.get(call.params.id ?? ""),
  (visitor) => missing(visitor, "keys", "This key is not known here.", "All keys"),
);

/** GET /admin/keys/new; what a form had that was sent without a session stands in it again. */
const fresh: Shown = (visitor) => {
  const { searchParams } = visitor.call.url;
  return form(visitor, 200, valuesOf(searchParams, FRESH), { said: visitor.said });
};

/** POST /admin/keys. A form that is sent twice makes one key. */
const make: Sent = async (visitor, sentForm) => {
  const { session, actor, now } = visitor;
  const { ledger } = visitor.authority;
  const name = entered(sentForm, "form");
  const earlier = session.made.get(name);
  if (earlier) return done(visitor, `/keys/${earlier.id}/made`);
  const values = valuesOf(sentForm, { ...FRESH, kind: "" });
  const wrong = (field: keyof KeyEntered, text: string) => form(visitor, 400, values, { problem: { field, text } });
  const uses = Number(values.uses);
  if (values.kind !== "any" && !(Number.isInteger(uses) && uses >= 1 && uses <= ENROLL_KEY_USES_MAX)) {
    return wrong(
      "uses",
      `How many devices it lets in is a whole number from 1 to ${ENROLL_KEY_USES_MAX.toLocaleString("en")}.`,
    );
  }
  const validity = VALIDITIES.find(([name]) => name === values.expires);
  if (validity === undefined) return wrong("expires", "Choose how long it is valid.");
  const [, , ms] = validity;
  const request = {
    label: values.label.trim(),
    tags: values.tags.split(/[\s,]+/).filter(Boolean),
    account: values.account.trim(),
    usesMax: values.kind === "any" ? null : uses,
    expiresAt: ms === null ? null : now + ms,
  };
  try {
    const id = await ledger.commit(() => {
      // Both of two clicks may have come so far.
      const earlier = session.made.get(name);
      if (earlier) return earlier.id;
      const { text, key } = createEnrollKey(ledger, request, actor, now);
      remember(session, name, { id: key.id, key: text, madeAt: now });
      return key.id;
    });
    return done(visitor, `/keys/${id}/made`);
  } catch (error) {
    session.made.delete(name);
    if (!(error instanceof ValueError)) throw error;
    const field = FIELDS.find((name) => error.message.startsWith(`${name} `)) ?? "tags";
    return wrong(field, sentence(error));
  }
};

/** GET /admin/keys/:id/made: the key, for some minutes and to the session that made it. */
const made = ofKey(({ authority, session, signed, now }, record) => {
  const key = [...session.made.values()].find(({ id }) => id === record.id)?.key || undefined;
  const options = `--authority ${authority.publicUrl()} --license-pubkey SHA256:${authority.keys.current().kid}`;
  const line = `printf '%s\\n' "$${VARIABLE}" | svc login ${options} --enroll-key -`;
  const minutes = KEY_SHOWN_MS / 60_000;
  return html(200, madeKeyPage({ signed, record, key, minutes, line, variable: VARIABLE, now }));
});

/** GET /admin/keys/:id/revoke */
const askToRevoke = ofKey((visitor, key) => {
  if (key.revokedAt !== null) return done(visitor, "/keys", "The key is revoked already.");
  const csrf = tokenFor(visitor, `${pathOf(visitor.call)}/revoke`);
  const { signed, now, said } = visitor;
  return html(200, revokeKeyPage({ signed, key, csrf, now, said }));
});

/** POST /admin/keys/:id/revoke */
const revoke = ofKey(async (visitor, key) => {
  const { actor, now } = visitor;
  const { ledger } = visitor.authority;
  await ledger.commit(() => revokeEnrollKey(ledger, key.id, actor, now));
  const isOwn = ledger.enrollKeys.get(key.id)?.revokedBy === actor.by;
  return done(visitor, "/keys", isOwn ? "The key was revoked." : "The key was revoked already.");
});

const pathOf = (call: Call) => `/keys/${call.params.id}`;

export const ADMIN_KEY_ROUTES: Routes = {
  "GET /admin/keys": view(list),
  "POST /admin/keys": sent((_, sentForm) => address("/keys/new", { ...valuesOf(sentForm, FRESH) }), make),
  "GET /admin/keys/new": view(fresh),
  "GET /admin/keys/:id/made": view(made),
  "GET /admin/keys/:id/revoke": view(askToRevoke),
  "POST /admin/keys/:id/revoke": sent((call) => `${pathOf(call)}/revoke`, revoke),
};

function form(
  visitor: Visitor,
  status: number,
  values: KeyEntered,
  more: Pick<NewKeyPage, "said" | "problem">,
): Response {
  const csrf = tokenFor(visitor, "/keys");
  const name = randomBytes(16).toString("base64url");
  return html(status, newKeyPage({ signed: visitor.signed, csrf, form: name, entered: values, ...more }));
}

/** What a form has, or what it has at first. */
function valuesOf(given: URLSearchParams, otherwise: KeyEntered): KeyEntered {
  const pairs = FIELDS.map((name) => [name, given.has(name) ? entered(given, name) : otherwise[name]]);
  return Object.fromEntries(pairs) as Record<keyof KeyEntered, string>;
}
