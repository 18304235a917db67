/** Errors as a person sees them: a page each, where a program gets JSON. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { answerError } from "../../../../src/trust/authority/context.ts";
import { shownTo } from "../../../../src/trust/authority/errors-shown.ts";
import { authorityIn, newHome } from "../../account/helpers.ts";
import { formOf, newCode } from "../client.ts";
import { addDevice, idOf, organisation, signedIn } from "../organisation.ts";

const ACCEPT = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("an address that is not one is a page with ways on, below the path of the public address too", async () => {
  const { local } = await organisation({ publicUrl: "https://svc.example/team" });
  for (const [path, status] of [
    ["/", 404],
    ["/team/nowhere", 404],
    ["/v1/device/nonce", 405],
    ["/team/admin/devices/x/y/z", 404],
  ] as const) {
    const response = await fetch(local + path, { headers: ACCEPT });
    expect([path, response.status, response.headers.get("content-type")]).toEqual([
      path,
      status,
      "text/html; charset=utf-8",
    ]);
    const page = await response.text();
    expect(page).toContain('<a href="/team/device">Connect a device</a>');
    expect(page).toContain('<a href="/team/admin">Administration</a>');
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const program = await fetch(local + path);
    expect([program.status, Object.keys((await program.json()) as object)]).toEqual([status, ["error"]]);
  }
  const login = await authorityIn(newHome());
  expect(await (await fetch(login.url, { headers: ACCEPT })).text()).not.toContain("Administration");
});

test("records that cannot be read or written are a page that says nothing was changed", async () => {
  const request = new Request("http://127.0.0.1/admin/keys", { headers: ACCEPT });
  const refused = answerError(503, "temporarily_unavailable", { "retry-after": "5" });
  const authority = { organisation: true, publicUrl: () => "http://127.0.0.1" };
  const response = shownTo(request, authority, refused);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await response.text()).toContain("Nothing was changed: try again in a moment.");
  expect(shownTo(new Request("http://127.0.0.1/admin/keys"), authority, refused)).toBe(refused);
});

test("forms that come twice while another process has the ledger locked are done once it is free, each once", async () => {
  const { ledger, ...one } = await organisation();
  for (const n of [1, 2]) addDevice(ledger, n, { name: "runner" });
  const ada = await signedIn({ ...one });
  const fields = async (page: string, action: string) => formOf(await (await ada.get(one.url + page)).text(), action);
  const [first, second] = [`/admin/devices/${idOf(1)}`, `/admin/devices/${idOf(2)}`];
  const rename = { ...(await fields(first, `${first}/rename`)), name: "new" };
  const revoke = await fields(`${second}/revoke`, `${second}/revoke`);
  const make = { ...(await fields("/admin/keys/new", "/admin/keys")), kind: "any", expires: "1d" };
  const asked = await newCode(one.url);
  await ada.get(asked.verification_uri_complete);
  const decide = { ...ada.fields, account: "Ada", approval_code: one.code };
  const other = new Database(ledger.path);
  other.run("BEGIN IMMEDIATE");
  const post = async (path: string, form: Record<string, string>) => {
    const response = await ada.post(one.url + path, form);
    return [response.status, response.url.slice(one.url.length)];
  };
  const sent = Promise.all([
    ...[post(`${first}/rename`, rename), post(`${first}/rename`, rename)],
    ...[post(`${second}/revoke`, revoke), post(`${second}/revoke`, revoke)],
    ...[post("/admin/keys", make), post("/admin/keys", make)],
    ...["approve", "approve", "deny"].map((decision) => post("/device", { ...decide, decision })),
  ]);
  // Pages that only read are there meanwhile.
  expect((await ada.get(one.url + first)).status).toBe(200);
  other.run("ROLLBACK");
  other.close();
  const answers = await sent;
  const keys = ledger.enrollKeys.list();
  const made = [200, `/admin/keys/${keys[0]?.id}/made`];
  expect(answers.slice(0, 6)).toEqual([[200, first], [200, first], [200, second], [200, second], made, made]);
  // Two of one choice are one decision; which of the choices came first is not said.
  expect(
    answers
      .slice(6)
      .map(([status]) => status)
      .sort()
      .join(),
  ).toMatch(/^200,200,409$|^200,409,409$/);
  expect(keys).toHaveLength(1);
  const events = ledger.audit.list({ limit: 9 }).map(({ event }) => event.replace(/login_.*/, "login_decided"));
  for (const event of ["device_renamed", "device_revoked", "enroll_key_created", "login_decided"]) {
    expect(events.filter((each) => each === event)).toEqual([event]);
  }
});
