/** A person with a real browser approves or denies a login that waits in a terminal. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import type { Browser } from "playwright-core";
import { authorityIn, newHome } from "../../account/helpers.ts";
import { newCode, poll, proxied } from "../client.ts";
import { CHROMIUM, NEED, Person, startChromium } from "./chromium.ts";
import { waitingLogin } from "./login.ts";

let browser: Browser;
beforeAll(async () => {
  if (CHROMIUM) browser = await startChromium();
});
afterAll(() => browser?.close());

describe.skipIf(!CHROMIUM)(`a login in a real browser (${NEED})`, () => {
  test("is approved: the page shows the code and who asks, and the terminal goes on", async () => {
    using login = await waitingLogin();
    await using person = await Person.at(browser);
    await person.page.goto(login.link);
    const page = await person.reads("Approve this device?");
    expect(page).toContain(`paragraph: ${[...login.code].map((sign) => (sign === "-" ? "dash" : sign)).join(" ")}\n`);
    expect(page).toContain(`this machine (${hostname()})`);
    await person.page.getByRole("button", { name: "Approve" }).click();
    expect(await person.reads("Device approved")).toContain('heading "Device approved" [level=1]');
    await login.screen.until(/logged in with a community licence/);
    expect(await login.screen.ended).toBe(0);
    expect([...new Set(person.asked.map((address) => new URL(address).origin))]).toEqual([new URL(login.link).origin]);
  });

  test("is denied, and the terminal says so", async () => {
    using login = await waitingLogin();
    await using person = await Person.at(browser);
    await person.page.goto(login.link);
    await person.page.getByRole("button", { name: "Deny" }).click();
    expect(await person.reads("Device denied")).toContain("nothing was given out");
    await login.screen.until(/declined/);
    expect(await login.screen.ended).toBe(1);
  });

  test("is approved with the keyboard alone, without JavaScript, after a wrong code", async () => {
    using login = await waitingLogin();
    await using person = await Person.at(browser, { javaScriptEnabled: false });
    const { keyboard } = person.page;
    await person.page.goto(login.page);
    await person.reads("Connect a device");
    await keyboard.type("wxyz wxyz");
    await keyboard.press("Enter");
    const error = await person.reads("Error: code not accepted");
    expect(error).toContain("alert: That code is not known");
    const field = person.page.getByLabel("Code shown in your terminal");
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(await field.getAttribute("aria-describedby")).toBe("problem");
    expect(await person.focused()).toBe("Code shown in your terminal");
    await keyboard.type(login.code.toLowerCase().replace("-", " "));
    await keyboard.press("Enter");
    await person.reads("Approve this device?");
    // No key decides by accident: nothing has the focus yet.
    await keyboard.press("Enter");
    await keyboard.press("Tab");
    expect(await person.focused()).toBe("Approve");
    await keyboard.press("Tab");
    expect(await person.focused()).toBe("Deny");
    await keyboard.press("Shift+Tab");
    await keyboard.press("Enter");
    await person.reads("Device approved");
    expect(await login.screen.ended).toBe(0);
  });
});

describe.skipIf(!CHROMIUM)(`a form in a real browser (${NEED})`, () => {
  test("that is sent twice by a double click is answered as once, and by going back too", async () => {
    const { url } = await authorityIn(newHome());
    const code = await newCode(url);
    await using person = await Person.at(browser);
    await person.page.goto(code.verification_uri_complete);
    await person.page.getByRole("button", { name: "Approve" }).dblclick();
    await person.reads("Device approved");
    expect(await poll(url, code.device_code)).toMatchObject({ token_type: "Bearer" });
    await person.page.reload();
    await person.reads("Device approved");
    await person.page.goBack();
    await person.reads("Device approved");
  });

  test("whose code expired meanwhile says so", async () => {
    let now = Date.now();
    const { url } = await authorityIn(newHome(), { now: () => now });
    const code = await newCode(url);
    await using person = await Person.at(browser);
    await person.page.goto(code.verification_uri_complete);
    now += 600_001;
    await person.page.getByRole("button", { name: "Approve" }).click();
    expect(await person.reads("Error: not possible")).toContain("alert: That code has expired or has been used");
    await person.page.getByRole("link", { name: "Enter a code" }).click();
    await person.reads("Connect a device");
  });

  test("with a wrong approval code keeps what was right, and names and focuses what is not", async () => {
    const { url, approvalCode } = await proxied();
    const code = await newCode(url);
    await using person = await Person.at(browser);
    const { page } = person;
    await page.goto(code.verification_uri_complete);
    await page.getByLabel("Name or e-mail").fill("ada@example.org");
    await page.getByLabel("Approval code").fill("wrong");
    await page.getByRole("button", { name: "Approve" }).click();
    expect(await person.reads("Error: not approved yet")).toContain("alert: That approval code is not right.");
    expect(await person.focused()).toBe("Approval code of this authority");
    expect(await page.getByLabel("Approval code").getAttribute("aria-describedby")).toBe("problem whose");
    await page.keyboard.type(approvalCode);
    await page.keyboard.press("Enter");
    expect(await person.reads("Device approved")).toContain("The machine belongs to ada@example.org.");
  });
});
