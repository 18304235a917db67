/** How the pages of a login look. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { newCode, proxied } from "../client.ts";
import { CHROMIUM, NEED, startChromium } from "./chromium.ts";
import { lookedAt, SCREENS, type States } from "./looks.ts";

let browser: Browser;
let authority: Awaited<ReturnType<typeof proxied>>;
beforeAll(async () => {
  if (!CHROMIUM) return;
  browser = await startChromium();
  authority = await proxied();
});
afterAll(() => browser?.close());

const ADDRESS = "2001:db8:85a3:8d3:1319:8a2e:370:7348";

/** Brings a page into each state that a person can see. */
const STATES: States = {
  enter: (page) => page.goto(`${authority.url}/device`),
  wrong: (page) => page.goto(`${authority.url}/device?user_code=BBBB-BBBB`),
  confirm: async (page) =>
    page.goto((await newCode(authority.url, { address: ADDRESS, platform: "macos-arm64" })).verification_uri_complete),
  refused: async (page) => {
    await STATES.confirm!(page);
    await page.getByLabel("Name or e-mail").fill("<b>Ada</b> ".repeat(9));
    await page.getByLabel("Approval code").fill("wrong");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("alert").waitFor();
  },
  problem: async (page) => {
    await STATES.confirm!(page);
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("alert").waitFor();
  },
  approved: async (page) => {
    await STATES.refused!(page);
    await page.getByLabel("Approval code").fill(authority.approvalCode);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").waitFor();
  },
  denied: async (page) => {
    await STATES.confirm!(page);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("status").waitFor();
  },
};

describe.skipIf(!CHROMIUM)(`the pages in a real browser (${NEED})`, () => {
  test.each(Object.keys(SCREENS))(
    "can be read on a %s, light and dark, and enlarged",
    async (screen) => {
      const origins = await lookedAt(browser, screen, STATES, { extraHTTPHeaders: { "x-forwarded-for": ADDRESS } });
      expect(origins).toEqual([authority.url]);
    },
    120_000,
  );
});
