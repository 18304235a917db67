/** Sessions of administrators: how they begin, when they end, and what a wrong code gets. */
import { describe, expect, test } from "bun:test";
import { addAdministrator, removeAdministrator } from "../../../../src/trust/authority/administrators.ts";
import { authorityIn, newHome } from "../../account/helpers.ts";
import { Browser, formOf } from "../client.ts";
import { addDevice, idOf, organisation, signedIn } from "../organisation.ts";

const HOUR = 3_600_000;

/** The header of a session's cookie, and its value. */
async function signIn(url: string, code: string, cookie = ""): Promise<[header: string, value: string]> {
  const first = await fetch(`${url}/admin`);
  const form = first.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const { csrf = "", next = "" } = formOf(await first.text(), "/admin/sign-in");
  const response = await fetch(`${url}/admin/sign-in`, {
    method: "POST",
    headers: { cookie: [form, cookie].filter(Boolean).join("; ") },
    body: new URLSearchParams({ csrf, next, code }),
    redirect: "manual",
  });
  const header = response.headers.getSetCookie().find((line) => /svc_admin=/.test(line)) ?? "";
  return [header, /svc_admin=([^;]*)/.exec(header)?.[1] ?? ""];
}

const isIn = async (url: string, session: string, name = "svc_admin") => {
  const response = await fetch(`${url}/admin/devices`, {
    headers: { cookie: `${name}=${session}` },
    redirect: "manual",
  });
  expect([200, 303]).toContain(response.status);
  return response.status === 200;
};

describe("a session", () => {
  test("has a cookie that no script, other site or plain http gets", async () => {
    const { url, code } = await organisation();
    const [header, id] = await signIn(url, code);
    expect(header).toBe(`svc_admin=${id}; Path=/; HttpOnly; SameSite=Strict`);
    expect(id).toMatch(/^[\w-]{43}$/);
    const behind = await organisation({ publicUrl: "https://svc.example/team" });
    const { local } = behind;
    const first = await fetch(`${local}/team/admin`);
    const [form = ""] = first.headers.getSetCookie();
    expect(form).toMatch(/^__Host-svc_form=[\w-]{22}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const { csrf = "" } = formOf(await first.text(), "/team/admin/sign-in");
    const answer = await fetch(`${local}/team/admin/sign-in`, {
      method: "POST",
      headers: { cookie: form.split(";")[0] ?? "", origin: "https://svc.example" },
      body: new URLSearchParams({ csrf, code: behind.code }),
      redirect: "manual",
    });
    expect(answer.headers.get("location")).toBe("/team/admin/devices");
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^__Host-svc_admin=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
  });

  test("begins with an id of its own, whatever the browser brought along", async () => {
    const { url, code } = await organisation();
    const planted = "A".repeat(43);
    const [, first] = await signIn(url, code, `svc_admin=${planted}`);
    expect(first).not.toBe(planted);
    expect(await isIn(url, planted)).toBe(false);
    const [, second] = await signIn(url, code, `svc_admin=${first}`);
    expect([await isIn(url, first), await isIn(url, second)]).toEqual([false, true]);
  });

  test("ends after an hour without use, and after eight in any case", async () => {
    let now = Date.now();
    const { url, code } = await organisation({ now: () => now });
    const [, idle] = await signIn(url, code);
    now += HOUR;
    expect(await isIn(url, idle)).toBe(true);
    now += HOUR + 1;
    expect(await isIn(url, idle)).toBe(false);
    const [, busy] = await signIn(url, code);
    for (let hour = 0; hour < 8; hour++) {
      now += HOUR;
      expect(await isIn(url, busy)).toBe(true);
    }
    now += 1;
    expect(await isIn(url, busy)).toBe(false);
    const [, turned] = await signIn(url, code);
    now -= 2 * HOUR;
    expect(await isIn(url, turned)).toBe(false);
  });

  test("ends everywhere when another process removes its administrator, and not when it removes another one", async () => {
    const { url, code, ledger } = await organisation();
    const bo = addAdministrator(ledger, "Bo", "test", Date.now());
    const sessions = [(await signIn(url, code))[1], (await signIn(url, code))[1]];
    const [, other] = await signIn(url, bo);
    removeAdministrator(ledger, "Ada", "test", Date.now());
    for (const session of sessions) expect(await isIn(url, session)).toBe(false);
    expect(await isIn(url, other)).toBe(true);
    // The same name again is another administrator.
    addAdministrator(ledger, "Ada", "test", Date.now() + 1);
    for (const session of sessions) expect(await isIn(url, session)).toBe(false);
    expect((await signIn(url, code))[1]).toBe("");
  });

  test("ends with the form that signs out, and with no other request", async () => {
    const { url, code } = await organisation();
    const ada = await signedIn({ url, code });
    const id = ada.cookies.get("svc_admin") ?? "";
    expect((await ada.get(`${url}/admin/sign-out`)).url).toEndWith("/admin/devices");
    expect((await ada.post(`${url}/admin/sign-out`, { csrf: "x" })).url).toEndWith("/admin/devices");
    expect(await isIn(url, id)).toBe(true);
    const page = await (await ada.get(`${url}/admin/devices`)).text();
    const out = await ada.post(`${url}/admin/sign-out`, formOf(page, "/admin/sign-out"));
    expect(await out.text()).toContain("You are signed out.");
    expect(ada.cookies.has("svc_admin")).toBe(false);
    expect(await isIn(url, id)).toBe(false);
  });

  test("that has ended leads back, once, to the page that was asked for, and to no other site", async () => {
    const { url, code, ledger } = await organisation();
    addDevice(ledger, 1);
    const ada = new Browser();
    const asked = await ada.get(`${url}/admin/devices/${idOf(1)}`);
    expect(await asked.text()).toContain("Your administrator");
    expect((await ada.post(`${url}/admin/sign-in`, { ...ada.fields, code })).url).toBe(
      `${url}/admin/devices/${idOf(1)}`,
    );
    const elsewhere = ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:1", "/a b", "\n"];
    for (const next of elsewhere) {
      const page = await new Browser().get(`${url}/admin?${new URLSearchParams({ next })}`);
      expect(formOf(await page.text(), "/admin/sign-in").next).toBe("/devices");
      const bo = new Browser();
      await bo.get(`${url}/admin`);
      expect((await bo.post(`${url}/admin/sign-in`, { ...bo.fields, next, code })).url).toBe(`${url}/admin/devices`);
    }
  });
});

describe("a wrong code", () => {
  test("is refused, after twenty of one address with a wait; the right one never waits", async () => {
    const { url, code, ledger } = await organisation();
    const mallory = new Browser();
    await mallory.get(`${url}/admin`);
    const tried = (guess: string) => mallory.post(`${url}/admin/sign-in`, { ...mallory.fields, code: guess });
    for (let n = 0; n < 20; n++) expect((await tried("sva_wrong")).status).toBe(403);
    const over = await tried("sva_wrong");
    expect([over.status, Number(over.headers.get("retry-after")) > 0]).toEqual([429, true]);
    const page = await over.text();
    expect(page).toContain("Too many wrong codes");
    expect(page).not.toContain("sva_wrong");
    expect((await tried(` ${code}\n`)).url).toEndWith("/admin/devices");
    const signed = ledger.audit.list({ limit: 9, event: "admin_signed_in" });
    expect(signed.map(({ actor, address }) => [actor, address])).toEqual([["Ada", "127.0.0.1"]]);
  });

  test("and a right one are not even looked at without the form's token, which a browser without cookies has not", async () => {
    const { url, code } = await organisation();
    const answer = await fetch(`${url}/admin/sign-in`, { method: "POST", body: new URLSearchParams({ code }) });
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain("keeps no cookies");
  });
});

test("the local authority has no such pages", async () => {
  const { url } = await authorityIn(newHome());
  for (const path of ["/admin", "/admin/devices", "/admin/keys/new"])
    expect((await fetch(url + path)).status).toBe(404);
});
