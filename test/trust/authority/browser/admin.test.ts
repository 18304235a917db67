/** An administrator with a real browser: by keyboard alone, on a phone, with double clicks, and under attack. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { selfSigned } from "../../../e2e/certificate.ts";
import { freePort } from "../../../free-port.ts";
import { addDevice, idOf, type Organisation, organisation } from "../organisation.ts";
import { CHROMIUM, NEED, Person, startChromium } from "./chromium.ts";

let browser: Browser;
beforeAll(async () => {
  if (CHROMIUM) browser = await startChromium();
});
afterAll(() => browser?.close());

const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

/** Signs in. */
async function signIn({ page }: Person, { url, code }: Organisation): Promise<void> {
  await page.goto(`${url}/admin`);
  await page.getByLabel("Your administrator's code").fill(code);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Devices" }).waitFor();
}

describe.skipIf(!CHROMIUM)(`an administrator in a real browser (${NEED})`, () => {
  test("works with the keyboard alone, without JavaScript, and is led to what is wrong", async () => {
    const one = await organisation();
    addDevice(one.ledger, 1, { name: "runner" });
    await using person = await Person.at(browser, { javaScriptEnabled: false });
    const { page } = person;
    await page.goto(`${one.url}/admin/devices/${idOf(1)}`);
    await person.reads("Sign in");
    await page.keyboard.type("sva_wrong");
    await page.keyboard.press("Enter");
    expect(await person.reads("Error: not signed in")).toContain("alert: That code is not right.");
    expect(await person.focused()).toBe("Your administrator's code");
    expect(await page.getByLabel("Your administrator's code").getAttribute("aria-describedby")).toBe("problem whose");
    await page.keyboard.type(one.code);
    await page.keyboard.press("Enter");
    await person.reads("runner");
    // The first stop is the way past the header.
    await page.keyboard.press("Tab");
    expect(await person.focused()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    expect(await person.focused()).toBe("Name of the device");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("   ");
    await page.keyboard.press("Enter");
    expect(await person.reads("Error: runner")).toContain("is empty: give it 1 to 64 characters");
    expect(await person.focused()).toBe("Name of the device");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("farm 1");
    await page.keyboard.press("Enter");
    expect(await person.reads("farm 1")).toContain("status: The name was saved.");
    await page.getByRole("link", { name: "Revoke this device" }).focus();
    await page.keyboard.press("Enter");
    await person.reads("Revoke this device?");
    // No key revokes by accident: nothing has the focus yet.
    await page.keyboard.press("Enter");
    expect(one.ledger.devices.get(idOf(1))?.revokedAt).toBeNull();
    await page.getByRole("button", { name: "Revoke it" }).focus();
    await page.keyboard.press("Enter");
    expect(await person.reads("farm 1")).toContain("status: The device was revoked.");
  });

  test("hears a table as one on a phone, where it looks like a list", async () => {
    const one = await organisation();
    addDevice(one.ledger, 1, { name: "runner", account: "ada" });
    for (const options of [PHONE, {}]) {
      await using person = await Person.at(browser, options);
      await signIn(person, one);
      const heard = await person.page.getByRole("table", { name: "One device" }).ariaSnapshot();
      for (const column of ["Name", "Account", "Platform", "Last renewal", "Licence ends"]) {
        expect(heard).toContain(`columnheader "${column}"`);
      }
      expect(heard).toContain('rowheader "runner"');
      expect(heard).toContain('cell "ada"');
      expect(await person.page.getByRole("navigation", { name: "Administration" }).ariaSnapshot()).toContain(
        "Audit log",
      );
      expect(await person.page.getByRole("link", { name: "Devices" }).getAttribute("aria-current")).toBe("page");
    }
  });

  test("makes one key with a double click, a reload and the way back, and sees it until it signs out", async () => {
    const one = await organisation();
    await using person = await Person.at(browser);
    const { page } = person;
    await signIn(person, one);
    await page.goto(`${one.url}/admin/keys/new`);
    await page.getByLabel("Label").fill("farm");
    await page.getByRole("button", { name: "Make the key" }).dblclick();
    await person.reads("The key was made");
    const key = await page.getByRole("group", { name: "Key", exact: true }).innerText();
    expect(key).toMatch(/^sve_[0-9a-f]{12}_[\w-]{43}$/);
    await page.reload();
    expect(await person.reads("The key was made")).toContain(key);
    await page.goBack();
    await page.goForward();
    await person.reads("The key was made");
    expect(one.ledger.enrollKeys.list()).toHaveLength(1);
    await page.getByRole("button", { name: "Sign out" }).click();
    expect(await person.reads("Sign in")).toContain("status: You are signed out.");
    await page.goBack();
    await page.getByLabel("Your administrator's code").waitFor();
    expect(await page.content()).not.toContain(key);
  });

  test("goes on with what was typed when the session has ended meanwhile", async () => {
    let now = Date.now();
    const one = await organisation({ now: () => now });
    await using person = await Person.at(browser);
    const { page } = person;
    await signIn(person, one);
    await page.goto(`${one.url}/admin/keys/new`);
    await page.getByLabel("Label").fill("typed & kept");
    await page.getByLabel("Any number").check();
    await page.getByLabel("Valid for").selectOption("30 days");
    now += 2 * 3_600_000;
    await page.getByRole("button", { name: "Make the key" }).click();
    expect(await person.reads("Sign in again")).toContain("nothing was changed");
    await page.keyboard.type(one.code);
    await page.keyboard.press("Enter");
    expect(await person.reads("Make an enrolment key")).toContain("Nothing was changed: check it, then send it again.");
    expect(await page.getByLabel("Label").inputValue()).toBe("typed & kept");
    expect(one.ledger.enrollKeys.list()).toEqual([]);
    await page.getByRole("button", { name: "Make the key" }).click();
    await person.reads("The key was made");
    expect(one.ledger.enrollKeys.list()).toMatchObject([{ label: "typed & kept", usesMax: null }]);
  });

  test("is signed in over https, below a path, with a cookie that goes nowhere else", async () => {
    const port = freePort();
    const publicUrl = `https://localhost:${port}/team`;
    const one = await organisation({ port, tls: selfSigned(), publicUrl });
    await using person = await Person.at(browser, { ignoreHTTPSErrors: true });
    await signIn(person, one);
    await person.page.getByRole("link", { name: "Audit log" }).click();
    expect(await person.reads("Audit log")).toContain("admin signed in");
    const cookies = (await person.context.cookies()).filter(({ name }) => name === "__Host-svc_admin");
    expect(cookies).toMatchObject([
      { domain: "localhost", path: "/", expires: -1, httpOnly: true, secure: true, sameSite: "Strict" },
    ]);
    await person.page.getByRole("button", { name: "Sign out" }).click();
    await person.reads("Sign in");
    expect((await person.context.cookies()).map(({ name }) => name)).toEqual(["__Host-svc_form"]);
    expect([...new Set(person.asked.map((address) => address.split("/admin")[0]))]).toEqual([publicUrl]);
  });

  test("loses nothing to another site's page: neither by a form, nor in a frame, nor by a link", async () => {
    const one = await organisation();
    addDevice(one.ledger, 1, { name: "runner" });
    const path = `${one.url}/admin/devices/${idOf(1)}`;
    await using person = await Person.at(browser);
    const { page } = person;
    await signIn(person, one);
    await page.goto(`${path}/revoke`);
    const csrf = await page.locator(`[action$=revoke] [name=csrf]`).getAttribute("value");
    let html = "";
    const attacker = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(html, { headers: { "content-type": "text/html" } }),
    });
    try {
      // Another site, and the same one at another port, whose requests have the session's cookie.
      for (const site of ["localhost", "127.0.0.1"].map((host) => `http://${host}:${attacker.port}/`)) {
        html = `<title>form</title><form method=post action="${path}/revoke"><input name=csrf value="${csrf}">
          <button>Win a prize</button></form>`;
        await page.goto(site);
        await page.getByRole("button").click();
        expect(await person.reads("Error: not possible")).toContain("did not come from this site");
        html = `<title>frame</title><iframe src="${path}" onload="document.title = 'framed'"></iframe>`;
        await page.goto(site);
        await page.waitForFunction("document.title === 'framed'");
        expect(await page.frames()[1]?.locator("body").innerText()).not.toContain("runner");
        html = `<title>mail</title><a href="${path}">your device</a>`;
        await page.goto(site);
        await page.getByRole("link").click();
        await person.reads("Administration");
        await page.getByRole("link", { name: "Go on" }).click();
        await person.reads("runner");
      }
    } finally {
      await attacker.stop(true);
    }
    expect(one.ledger.devices.get(idOf(1))?.revokedAt).toBeNull();
  });
});
