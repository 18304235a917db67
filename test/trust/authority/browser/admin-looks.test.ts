/** How the administrator's pages look. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { revokeDevice } from "../../../../src/trust/authority/organisation/device-actions.ts";
import { addDevice, idOf, type Organisation, organisation } from "../organisation.ts";
import { CHROMIUM, NEED, startChromium } from "./chromium.ts";
import { lookedAt, SCREENS, type States } from "./looks.ts";

const DAY = 86_400_000;
const DEVICES = 60;
/** Names as people and attackers give them: long without a space, right to left, with what reverses or hides text. */
const NAMES = [
  "Ada's laptop",
  "a-runner-with-a-name-of-sixty-four-characters-and-not-one-space-x",
  "حاسوب عائشة المحمول",
  "evil\u202egpj.exe",
  "two\u200bwords\u0007 & <b>bold</b>",
  "構建機器 一號",
  "",
];

let browser: Browser;
let [empty, full]: Organisation[] = [];
beforeAll(async () => {
  if (!CHROMIUM) return;
  browser = await startChromium();
  empty = await organisation();
  full = await organisation();
  const { ledger } = full;
  const now = Date.now();
  ledger.transaction(() => {
    for (let n = 1; n <= DEVICES; n++) {
      const name = NAMES[DEVICES - n];
      const account = n % 2 ? "ada.lovelace@analytical-engines.example.org" : "build";
      const tags = [...(n % 3 ? [] : ["ci", "linux"]), ...(name === undefined ? [] : ["named"])];
      const device = { name: name ?? `runner-${n}`, tags, account, platform: n % 2 ? "linux-x86_64" : "macos-arm64" };
      const id = addDevice(ledger, n, device, now - (DEVICES - n) * 7e5);
      ledger.devices.addLicense(`licence ${n}`, id, "team", now - (n % 20) * DAY * 0.7, now + (26 - n) * DAY);
    }
    for (const n of [59, 50]) revokeDevice(ledger, idOf(n), { by: "Ada" }, now - n * 36e5);
    const key = { tags: ["ci"], account: "build", by: "Ada", label: "" };
    for (const [n, label] of NAMES.entries()) {
      const limits = { usesMax: n % 2 ? n : null, expiresAt: n % 3 ? now + (n - 2) * DAY : null };
      ledger.enrollKeys.create(
        { ...key, ...limits, label, id: `${n}`.repeat(12), secret: `secret ${n}` },
        now - n * DAY,
      );
    }
    ledger.enrollKeys.revoke("2".repeat(12), "Bo", now);
    for (let n = 0; n < 16; n++) {
      ledger.audit.add({
        at: now - (16 - n) * DAY * 0.4,
        event: n % 2 ? "device_renamed" : "license_issued",
        actor: n % 2 ? "Ada" : idOf(n),
        device: idOf(n % 2 ? 60 - n : n),
        ...(n % 3 && { address: n % 2 ? "203.0.113.7" : "2001:db8:85a3:8d3:1319:8a2e:370:7348" }),
        detail: n % 2 ? { from: NAMES[n % 7] ?? "", to: "runner\u202e" } : { tier: "team", days: 30 },
      });
    }
  });
});
afterAll(() => browser?.close());

async function signIn(page: Page, { url, code }: Organisation): Promise<void> {
  await page.goto(`${url}/admin`);
  if (!(await page.getByLabel("Your administrator's code").isVisible())) return;
  await page.getByLabel("Your administrator's code").fill(code);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

const at = (path: string) => async (page: Page) => {
  await signIn(page, full!);
  await page.goto(`${full!.url}/admin${path}`);
};

/** In an order in which one leads to the next where that is shorter. */
const STATES: States = {
  "admin-sign-in": (page) => page.goto(`${full!.url}/admin`),
  "admin-sign-in-wrong": async (page) => {
    await page.getByLabel("Your administrator's code").fill("sva_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
  },
  "admin-devices-none": async (page) => {
    await signIn(page, empty!);
    await page.goto(`${empty!.url}/admin/devices`);
  },
  "admin-keys-none": (page) => page.goto(`${empty!.url}/admin/keys`),
  "admin-audit-little": (page) => page.goto(`${empty!.url}/admin/audit`),
  "admin-devices": at("/devices?search=named"),
  "admin-devices-page": async (page) => {
    await at("/devices")(page);
    await page.getByRole("link", { name: "Next page" }).click();
    await page.getByRole("link", { name: "First page" }).waitFor();
  },
  "admin-devices-not-found": at("/devices?search=no+such+%E2%80%AEdevice&revoked=yes"),
  "admin-devices-revoked": at("/devices?revoked=yes"),
  "admin-device-long": at(`/devices/${idOf(58)}`),
  "admin-device-wrong": async (page) => {
    await at(`/devices/${idOf(57)}`)(page);
    await page.getByLabel("Name of the device").fill("evil\u202ename");
    await page.getByRole("button", { name: "Save the name" }).click();
    await page.getByRole("alert").waitFor();
  },
  "admin-device-revoke": at(`/devices/${idOf(56)}/revoke`),
  "admin-device-revoked": at(`/devices/${idOf(59)}`),
  "admin-device-missing": at(`/devices/${"f".repeat(32)}`),
  "admin-keys": at("/keys"),
  "admin-key-new": at("/keys/new"),
  "admin-key-wrong": async (page) => {
    await at("/keys/new")(page);
    await page.getByLabel("Label").fill("runners of the build farm");
    await page.getByLabel("Number of devices").fill("");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByRole("alert").waitFor();
  },
  "admin-key-made": async (page) => {
    await page.getByLabel("Number of devices").fill("40");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByRole("heading", { name: "The key was made" }).waitFor();
  },
  "admin-key-gone": at(`/keys/${"1".repeat(12)}/made`),
  "admin-key-revoke": at(`/keys/${"0".repeat(12)}/revoke`),
  "admin-audit": at("/audit"),
  "admin-audit-chosen": at(`/audit?event=device_renamed&device=${idOf(59)}`),
  "admin-kept": async (page) => {
    await at(`/devices/${idOf(55)}`)(page);
    await page.getByLabel("Name of the device").fill("kept");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Save the name" }).click();
    await page.getByRole("alert").waitFor();
  },
  "admin-kept-again": async (page) => {
    await page.getByLabel("Your administrator's code").fill(full!.code);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Save the name" }).waitFor();
  },
};

describe.skipIf(!CHROMIUM)(`the administrator's pages in a real browser (${NEED})`, () => {
  test.each(Object.keys(SCREENS))(
    "can be read on a %s, light and dark, and enlarged",
    async (screen) => {
      const origins = await lookedAt(browser, screen, STATES);
      expect(origins).toEqual([full!.url, empty!.url]);
    },
    120_000,
  );
});
