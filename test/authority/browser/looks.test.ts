/** How the pages look: contrast and width in each state, and a picture of each to be looked at. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { newCode, proxied } from "../client.ts";
import { CHROMIUM, NEED, Person, PICTURES, startChromium } from "./chromium.ts";

let browser: Browser;
let authority: Awaited<ReturnType<typeof proxied>>;
beforeAll(async () => {
  if (!CHROMIUM) return;
  browser = await startChromium();
  authority = await proxied();
});
afterAll(async () => {
  if (!CHROMIUM) return;
  await browser.close();
  console.log(`pictures of the pages: ${PICTURES}`);
});

/** The lowest contrast (WCAG 2.2 §1.4.3) of the texts on the page, and which text has it. */
const LOWEST_CONTRAST = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [r, g, b] = rgba(color).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const color = getComputedStyle(element).backgroundColor;
      if (rgba(color)[3] === 255) return color;
    }
    return "Canvas";
  };
  const contrast = (front, back) => {
    const [a, b] = [luminance(front), luminance(back)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  let lowest = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const style = getComputedStyle(element);
    const found = own ? [contrast(style.color, ground(element)), element.textContent] :
      element.placeholder ? [contrast(getComputedStyle(element, "::placeholder").color, ground(element)), "placeholder"] : [99];
    if (found[0] < lowest[0]) lowest = found;
  }
  return lowest;
})()`;

const ADDRESS = "2001:db8:85a3:8d3:1319:8a2e:370:7348";

/** Brings a page into each state that a person can see. */
const STATES: Record<string, (page: Page) => Promise<unknown>> = {
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

const SCREENS: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
};

describe.skipIf(!CHROMIUM)(`the pages in a real browser (${NEED})`, () => {
  test.each(Object.entries(SCREENS))(
    "can be read on a %s, light and dark, the phone's enlarged and in forced colors too",
    async (screen, options) => {
      const extraHTTPHeaders = { "x-forwarded-for": ADDRESS };
      await using person = await Person.at(browser, { ...options, extraHTTPHeaders, reducedMotion: "reduce" });
      const { page } = person;
      const picture = (name: string) => page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
      const overflow = () => page.evaluate("document.documentElement.scrollWidth - innerWidth");
      for (const [state, reach] of Object.entries(STATES)) {
        await reach(page);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          const [contrast, text] = await page.evaluate<[number, string]>(LOWEST_CONTRAST);
          expect(contrast, `${state}, ${colorScheme}: ${text}`).toBeGreaterThanOrEqual(4.5);
          await picture(`${state}-${screen}-${colorScheme}`);
        }
        expect(await overflow(), state).toBeLessThanOrEqual(0);
        expect(await page.evaluate("document.getAnimations().length"), state).toBe(0);
        if (screen === "desktop") continue;
        await page.emulateMedia({ forcedColors: "active" });
        await picture(`${state}-${screen}-forced-colors`);
        await page.emulateMedia({ forcedColors: "none" });
        await page.evaluate("document.documentElement.style.fontSize = '200%'");
        expect(await overflow(), `${state}, enlarged`).toBeLessThanOrEqual(0);
        await picture(`${state}-${screen}-enlarged`);
      }
      expect([...new Set(person.asked.map((address) => new URL(address).origin))]).toEqual([authority.url]);
    },
  );
});
