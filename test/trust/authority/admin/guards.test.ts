/** What every page and form of administrators refuses: other sites, no session, a token of another form. */
import { describe, expect, test } from "bun:test";
import { ADMIN_ROUTES } from "../../../../src/trust/authority/organisation/admin-routes.ts";
import { Browser, formOf } from "../client.ts";
import { addDevice, idOf, type Organisation, organisation, signedIn } from "../organisation.ts";

type Headers = Record<string, string>;
const WINDOW = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "sec-fetch-user": "?1" };
const FOREIGN: [string, Headers][] = [
  ["an image", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }],
  ["a frame", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }],
  [
    "a request of another port",
    { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", origin: "http://127.0.0.1:1" },
  ],
  ["a request of a sandboxed frame", { origin: "null" }],
  ["a form", { "sec-fetch-site": "cross-site", origin: "https://evil.example", ...WINDOW }],
];

async function withRecords(): Promise<Organisation & { readonly key: string }> {
  const one = await organisation();
  addDevice(one.ledger, 1, { name: "runner" });
  const key = {
    id: "1".repeat(12),
    secret: "s",
    label: "farm",
    tags: [],
    account: "a",
    usesMax: 1,
    expiresAt: null,
    by: "Ada",
  };
  one.ledger.enrollKeys.create(key, Date.now());
  return { ...one, key: key.id };
}

/** Every address below /admin, of a device and a key that are there. */
const addresses = (method: string) =>
  Object.keys(ADMIN_ROUTES)
    .filter((route) => route.startsWith(`${method} `))
    .map((route) => route.slice(method.length + 1))
    .map((path) =>
      path.replace(/:(?!id)\w+/g, "other").replace(":id", path.includes("keys") ? "1".repeat(12) : idOf(1)),
    );

/** All that a request could have changed, but for events of a kind. */
function records({ ledger }: Organisation, without = ""): string {
  const events = ledger.audit.list({ limit: 99 }).filter(({ event }) => event !== without);
  return JSON.stringify([ledger.devices.list({ limit: 9 }), ledger.enrollKeys.list(), ledger.admins.list(), events]);
}

const FIELDS = {
  name: "new",
  was: "runner",
  label: "new",
  kind: "limited",
  uses: "1",
  expires: "7d",
  tags: "",
  account: "",
};

describe("every page and form", () => {
  test.each(FOREIGN)(
    "refuses %s of another site, with the session's cookie, before anything is looked up",
    async (_, headers) => {
      const one = await withRecords();
      const ada = await signedIn(one);
      const page = await (await ada.get(`${one.url}/admin/devices/${idOf(1)}`)).text();
      const before = records(one);
      ada.headers = headers;
      for (const path of addresses("GET")) {
        const response = await ada.get(one.url + path);
        expect([path, response.status]).toEqual([path, 403]);
        expect(await response.text()).not.toMatch(/runner|Ada|farm/);
      }
      for (const path of addresses("POST")) {
        // Even with the token of the person's own form.
        const fields = { ...FIELDS, ...formOf(page, path), code: one.code };
        const response = await ada.post(one.url + path, fields);
        expect([path, response.status]).toEqual([path, 403]);
      }
      expect(records(one)).toBe(before);
      ada.headers = {};
      expect((await ada.get(`${one.url}/admin/devices`)).url).toEndWith("/admin/devices");
    },
  );

  test("followed from a link of another site shows a link, the same for what is there and what is not", async () => {
    const one = await withRecords();
    const ada = await signedIn(one);
    ada.headers = { "sec-fetch-site": "cross-site", ...WINDOW };
    const [there, not] = await Promise.all(
      [idOf(1), idOf(2)].map(async (id) => (await ada.get(`${one.url}/admin/devices/${id}?name=x"><b>`)).text()),
    );
    expect(there).toContain(`<a href="/admin/devices/${idOf(1)}">`);
    expect(not?.replaceAll(idOf(2), idOf(1))).toBe(there ?? "");
    expect(there).not.toMatch(/runner|Ada|<b>/);
  });

  test("shows and does nothing without a session, and leads to the sign-in", async () => {
    const one = await withRecords();
    const before = records(one);
    for (const path of addresses("GET")) {
      const page = await (await new Browser().get(one.url + path)).text();
      expect(page).toContain("Your administrator's code");
      expect(page).not.toMatch(/runner|Ada|farm/);
    }
    for (const path of addresses("POST").filter((path) => !path.endsWith("sign-in"))) {
      const response = await new Browser().post(one.url + path, FIELDS);
      expect([path, response.status]).toEqual([path, 403]);
      expect(await response.text()).toContain("nothing was changed. Sign in, and the form is there as you had it.");
    }
    expect(records(one)).toBe(before);
  });

  test("changes nothing with a token of another form, session or path", async () => {
    const one = await withRecords();
    const [ada, again] = [await signedIn(one), await signedIn(one)];
    const page = await (await again.get(`${one.url}/admin/devices/${idOf(1)}`)).text();
    const own = await (await ada.get(`${one.url}/admin/devices/${idOf(1)}`)).text();
    const rename = `/admin/devices/${idOf(1)}/rename`;
    const before = records(one);
    for (const path of addresses("POST").filter((path) => !path.includes("/sign-"))) {
      for (const csrf of ["", "x", formOf(page, rename).csrf ?? "", formOf(own, "/admin/sign-out").csrf ?? ""]) {
        const response = await ada.post(one.url + path, { ...FIELDS, csrf });
        expect([path, response.status, response.url === one.url + path]).toEqual([path, 200, path.endsWith("/revoke")]);
        expect(await response.text()).toContain("Nothing was changed: check it, then send it again.");
      }
    }
    expect(records(one)).toBe(before);
  });

  test("is a page under the policy, without script, of which nothing is kept", async () => {
    const one = await withRecords();
    const ada = await signedIn(one);
    const paths = addresses("GET").filter((path) => !path.endsWith("/export"));
    for (const browser of [ada, new Browser()]) {
      for (const path of paths) {
        const response = await browser.get(one.url + path);
        const html = await response.text();
        expect(html).toStartWith('<!doctype html>\n<html lang="en">');
        expect(html).not.toMatch(/<script|<img|<link|<iframe|\son\w+=|\sstyle=|javascript:/);
        expect(html.match(/<h1>/g)).toHaveLength(1);
        const policy = response.headers.get("content-security-policy") ?? "";
        expect(policy).toMatch(
          /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'/,
        );
        const kept = ["cache-control", "x-frame-options", "referrer-policy", "cross-origin-opener-policy"];
        expect(kept.map((name) => response.headers.get(name))).toEqual([
          "no-store",
          "DENY",
          "same-origin",
          "same-origin",
        ]);
      }
    }
  });
});

describe("a form without a session", () => {
  test("is there again after the sign-in, as it was typed, and is done only when it is sent again", async () => {
    const one = await withRecords();
    for (const [path, fields, shown] of [
      [`/admin/devices/${idOf(1)}/rename`, { name: 'my "new" name' }, /name="name" value="my &quot;new&quot; name"/],
      [
        "/admin/keys",
        { ...FIELDS, kind: "any", label: "half an hour of typing" },
        /value="half an hour of typing"[\s\S]*id="any"[^>]* checked/,
      ],
      [`/admin/devices/${idOf(1)}/revoke`, {}, /Revoke <bdi>runner/],
      [`/admin/keys/${one.key}/revoke`, {}, /Revoke <bdi>farm/],
      [`/admin/devices/${idOf(1)}/allow`, {}, /<h1><bdi>runner/],
    ] as const) {
      const late = new Browser();
      const before = records(one, "admin_signed_in");
      const asked = await late.post(one.url + path, fields);
      expect(asked.status).toBe(403);
      // A wrong code in between loses nothing.
      await late.post(`${one.url}/admin/sign-in`, { ...late.fields, code: "wrong" });
      const page = await (await late.post(`${one.url}/admin/sign-in`, { ...late.fields, code: one.code })).text();
      expect(page).toMatch(shown);
      expect(page).toContain("Nothing was changed: check it, then send it again.");
      expect(records(one, "admin_signed_in")).toBe(before);
    }
  });
});
