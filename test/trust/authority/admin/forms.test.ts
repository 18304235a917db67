/** The forms of administrators: what each changes, once, and what it refuses. */
import { describe, expect, test } from "bun:test";
import { addAdministrator } from "../../../../src/trust/authority/administrators.ts";
import { KEY_SHOWN_MS } from "../../../../src/trust/authority/sessions.ts";
import { type Browser, formOf } from "../client.ts";
import { addDevice, idOf, type Organisation, organisation, signedIn } from "../organisation.ts";

const ONE = `/admin/devices/${idOf(1)}`;
const KEY = { kind: "limited", uses: "3", expires: "7d", label: "farm", tags: "ci linux", account: "build" };

async function withDevice(options = {}): Promise<Organisation> {
  const one = await organisation(options);
  addDevice(one.ledger, 1, { name: "runner" });
  return one;
}

/** The hidden fields of a form on a page. */
async function fieldsOf(browser: Browser, url: string, page: string, action: string): Promise<Record<string, string>> {
  const response = await browser.get(url + page);
  expect(response.status).toBe(200);
  return formOf(await response.text(), action);
}

/** What was done in the test: not the start of the server, nor who signed in. */
const events = ({ ledger }: Organisation) =>
  ledger.audit
    .list({ limit: 99 })
    .filter(({ event }) => !/^(admin_|server_|license_key_)/.test(event))
    .map(({ id: _, at: __, ...entry }) => entry);

describe("a device", () => {
  test("is renamed, revoked and allowed again, each once however often the form is sent", async () => {
    const one = await withDevice();
    const ada = await signedIn(one);
    const rename = await fieldsOf(ada, one.url, ONE, `${ONE}/rename`);
    for (const said of ["The name was saved.", "The name was saved."]) {
      const response = await ada.post(`${one.url}${ONE}/rename`, { ...rename, name: " Ada's runner " });
      expect([response.status, response.url]).toEqual([200, one.url + ONE]);
      expect(await response.text()).toContain(said);
    }
    const revoke = await fieldsOf(ada, one.url, `${ONE}/revoke`, `${ONE}/revoke`);
    for (let click = 0; click < 2; click++) {
      const response = await ada.post(`${one.url}${ONE}/revoke`, revoke);
      expect(await response.text()).toContain("The device was revoked.");
    }
    // What was said is not said again.
    expect(await (await ada.get(one.url + ONE)).text()).not.toContain("was revoked.");
    expect(one.ledger.devices.get(idOf(1))?.revokedBy).toBe("Ada");
    const allow = await fieldsOf(ada, one.url, ONE, `${ONE}/allow`);
    for (let click = 0; click < 2; click++) {
      expect(await (await ada.post(`${one.url}${ONE}/allow`, allow)).text()).toContain("The device is allowed.");
    }
    expect(events(one)).toEqual([
      { event: "device_allowed", actor: "Ada", device: idOf(1), address: "127.0.0.1" },
      { event: "device_revoked", actor: "Ada", device: idOf(1), address: "127.0.0.1" },
      {
        event: "device_renamed",
        actor: "Ada",
        device: idOf(1),
        address: "127.0.0.1",
        detail: { from: "runner", to: "Ada's runner" },
      },
    ]);
  });

  test("is not renamed to what is not a name; what was typed stays, and is named as what it is", async () => {
    const one = await withDevice();
    const ada = await signedIn(one);
    const form = await fieldsOf(ada, one.url, ONE, `${ONE}/rename`);
    for (const name of ["", "   ", "x".repeat(65), "a\u0007b", "a\u202eb", "<i>\u200b"]) {
      const response = await ada.post(`${one.url}${ONE}/rename`, { ...form, name });
      expect(response.status).toBe(400);
      const page = await response.text();
      expect(page).toMatch(/role="alert" id="problem">Device name /);
      expect(page).toMatch(/<input id="name" [^>]*aria-invalid="true" autofocus aria-describedby="problem name-hint"/);
      expect(page.replace(/<input[^>]*>/g, "")).not.toMatch(/\p{Cf}|(?!\n)\p{Cc}|<i>/u);
      expect(one.ledger.devices.get(idOf(1))?.name).toBe("runner");
    }
    expect(events(one)).toEqual([]);
  });

  test("that another administrator renamed meanwhile is not renamed silently", async () => {
    const one = await withDevice();
    const [ada, bo] = [
      await signedIn(one),
      await signedIn({ ...one, code: addAdministrator(one.ledger, "Bo", "test", 1) }),
    ];
    const [adas, bos] = [
      await fieldsOf(ada, one.url, ONE, `${ONE}/rename`),
      await fieldsOf(bo, one.url, ONE, `${ONE}/rename`),
    ];
    await bo.post(`${one.url}${ONE}/rename`, { ...bos, name: "Bo's" });
    const refused = await ada.post(`${one.url}${ONE}/rename`, { ...adas, name: "Ada's" });
    expect(refused.status).toBe(409);
    const page = await refused.text();
    expect(page).toContain("changed meanwhile");
    expect(page).toContain('value="Ada&#39;s"');
    expect(one.ledger.devices.get(idOf(1))?.name).toBe("Bo's");
    const again = await ada.post(`${one.url}${ONE}/rename`, { ...formOf(page, `${ONE}/rename`), name: "Ada's" });
    expect(await again.text()).toContain("The name was saved.");
  });

  test("that another administrator revoked meanwhile stays revoked by that one", async () => {
    const one = await withDevice();
    const [ada, bo] = [
      await signedIn(one),
      await signedIn({ ...one, code: addAdministrator(one.ledger, "Bo", "test", 1) }),
    ];
    const [adas, bos] = [
      await fieldsOf(ada, one.url, `${ONE}/revoke`, `${ONE}/revoke`),
      await fieldsOf(bo, one.url, `${ONE}/revoke`, `${ONE}/revoke`),
    ];
    await bo.post(`${one.url}${ONE}/revoke`, bos);
    expect(await (await ada.post(`${one.url}${ONE}/revoke`, adas)).text()).toContain("It was revoked already.");
    expect(one.ledger.devices.get(idOf(1))?.revokedBy).toBe("Bo");
    expect((await ada.get(`${one.url}${ONE}/revoke`)).url).toBe(one.url + ONE);
    expect(events(one).map(({ event, actor }) => [event, actor])).toEqual([["device_revoked", "Bo"]]);
  });

  test("that is not there is a page that says so, for every address and form", async () => {
    const one = await withDevice();
    const ada = await signedIn(one);
    for (const id of [idOf(2), "x", "..", "%00", "A".repeat(32), "__proto__"]) {
      for (const path of ["", "/revoke"]) {
        const response = await ada.get(`${one.url}/admin/devices/${id}${path}`);
        if (id === "..") continue;
        expect([id, response.status]).toEqual([id, 404]);
        expect(await response.text()).toMatch(/role="alert"[^>]*>(This device is not known|There is no such page)/);
      }
    }
  });
});

describe("a key", () => {
  test("is made once by a form that is sent twice, and shown for five minutes to the session that made it", async () => {
    let now = Date.now();
    const one = await organisation({ now: () => now });
    const ada = await signedIn(one);
    const form = await fieldsOf(ada, one.url, "/admin/keys/new", "/admin/keys");
    const first = await ada.post(`${one.url}/admin/keys`, { ...form, ...KEY });
    const page = await first.text();
    const [key = "", id = ""] = /sve_([0-9a-f]{12})_[\w-]{43}/.exec(page) ?? [];
    expect(page).toMatch(/printf &#39;%s\\n&#39; &quot;\$SVC_ENROLL_KEY&quot; \| svc login --authority http/);
    expect(page).toMatch(/--license-pubkey SHA256:[\w-]{43} --enroll-key -/);
    const second = await ada.post(`${one.url}/admin/keys`, { ...form, ...KEY, label: "other" });
    expect(second.url).toBe(`${one.url}/admin/keys/${id}/made`);
    expect(await second.text()).toContain(key);
    expect(
      one.ledger.enrollKeys.list().map(({ label, tags, account, usesMax, expiresAt, createdBy }) => {
        return { label, tags, account, usesMax, expiresAt, createdBy };
      }),
    ).toEqual([
      {
        label: "farm",
        tags: ["ci", "linux"],
        account: "build",
        usesMax: 3,
        expiresAt: now + 7 * 86_400_000,
        createdBy: "Ada",
      },
    ]);
    expect(one.ledger.enrollKeys.find(key, now).kind).toBe("ok");
    const bo = await signedIn(one);
    expect(await (await bo.get(second.url)).text()).toContain("The key is no longer shown");
    now += KEY_SHOWN_MS;
    expect(await (await ada.get(second.url)).text()).toContain(key);
    now += 1;
    const gone = await (await ada.get(second.url)).text();
    expect(gone).toContain("The key is no longer shown");
    expect(gone).not.toContain(key);
    expect(await (await ada.get(`${one.url}/admin/keys`)).text()).not.toContain(key);
    expect(events(one).map(({ event, actor }) => [event, actor])).toEqual([["enroll_key_created", "Ada"]]);
  });

  test("of wrong values is not made; what was typed stays, and the field in question has the focus", async () => {
    const one = await organisation();
    const ada = await signedIn(one);
    const form = await fieldsOf(ada, one.url, "/admin/keys/new", "/admin/keys");
    const wrong: [field: string, value: string][] = [
      ...["", "0", "-1", "1.5", "1e9", "many"].map((value): [string, string] => ["uses", value]),
      ["expires", "tomorrow"],
      ["tags", "a$b"],
      ["tags", Array.from({ length: 17 }, (_, n) => `t${n}`).join(" ")],
      ["label", "l".repeat(65)],
      ["label", "a\u202eb"],
      ["account", "a".repeat(129)],
    ];
    for (const [field, value] of wrong) {
      const response = await ada.post(`${one.url}/admin/keys`, { ...form, ...KEY, [field]: value });
      expect([field, value, response.status]).toEqual([field, value, 400]);
      const page = await response.text();
      expect(page).toContain('role="alert"');
      if (field !== "expires") expect(page).toMatch(new RegExp(`name="${field}"[^>]*aria-invalid="true"[^>]*`));
      for (const [name, kept] of Object.entries({ label: "farm", tags: "ci linux", account: "build" })) {
        if (name !== field) expect(page).toContain(`name="${name}" value="${kept}"`);
      }
    }
    expect(one.ledger.enrollKeys.list()).toEqual([]);
    const any = await ada.post(`${one.url}/admin/keys`, { ...form, ...KEY, kind: "any", uses: "", expires: "never" });
    expect(await any.text()).toContain("any number allowed");
    expect(one.ledger.enrollKeys.list()).toMatchObject([{ usesMax: null, expiresAt: null }]);
  });

  test("is revoked once, after a question", async () => {
    const one = await organisation();
    const ada = await signedIn(one);
    const form = await fieldsOf(ada, one.url, "/admin/keys/new", "/admin/keys");
    await ada.post(`${one.url}/admin/keys`, { ...form, ...KEY });
    const path = `/admin/keys/${one.ledger.enrollKeys.list()[0]!.id}/revoke`;
    const revoke = await fieldsOf(ada, one.url, path, path);
    expect(one.ledger.enrollKeys.list()[0]!.revokedAt).toBeNull();
    for (let click = 0; click < 2; click++) {
      const response = await ada.post(one.url + path, revoke);
      expect(response.url).toBe(`${one.url}/admin/keys`);
      expect(await response.text()).toContain("The key was revoked.");
    }
    expect((await ada.get(one.url + path)).url).toBe(`${one.url}/admin/keys`);
    expect((await ada.get(`${one.url}/admin/keys/x/revoke`)).status).toBe(404);
    expect(events(one).map(({ event }) => event)).toEqual(["enroll_key_revoked", "enroll_key_created"]);
  });
});
