/** How pages look: contrast and width in each state, on each screen, and on request a picture of each. */
import { expect } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { Person, picture } from "./chromium.ts";

/** The lowest contrast (WCAG 2.2 §1.4.3) of the texts on the page, and which text has it. */
const LOWEST_CONTRAST = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
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

/**
 * What makes the page wider than the screen. Not by innerWidth: on a phone that grows with what is too wide. Text for
 * screen readers alone has no place of its own.
 */
export const TOO_WIDE = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const ends = [...document.querySelectorAll("body *")].map((each) => [each.getBoundingClientRect().right, each]);
  return ends.filter(([right]) => right > clientWidth + 0.5).slice(0, 4)
    .map(([, each]) => each.tagName + ": " + each.textContent);
})()`;

export const SCREENS: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
};

/** Brings a page into a state that a person can see. */
export type States = Readonly<Record<string, (page: Page) => Promise<unknown>>>;

/**
 * Looks at each state on a screen, light and dark, and enlarged. SVC_TEST_PICTURES makes pictures of each, on the
 * phone enlarged and in forced colors too.
 * @returns the origins that the pages asked for anything
 */
export async function lookedAt(
  browser: Browser,
  screen: keyof typeof SCREENS,
  states: States,
  options: BrowserContextOptions = {},
): Promise<string[]> {
  await using person = await Person.at(browser, { ...SCREENS[screen], ...options, reducedMotion: "reduce" });
  const { page } = person;
  const overflow = () => page.evaluate<string[]>(TOO_WIDE);
  for (const [state, reach] of Object.entries(states)) {
    await reach(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const [contrast, text] = await page.evaluate<[number, string]>(LOWEST_CONTRAST);
      expect(contrast, `${state}, ${colorScheme}: ${text}`).toBeGreaterThanOrEqual(4.5);
      await picture(page, `${state}-${screen}-${colorScheme}`);
    }
    expect(await overflow(), state).toEqual([]);
    expect(await page.evaluate("document.getAnimations().length"), state).toBe(0);
    if (screen !== "desktop") {
      await page.emulateMedia({ forcedColors: "active" });
      await picture(page, `${state}-${screen}-forced-colors`);
      await page.emulateMedia({ forcedColors: "none" });
    }
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    expect(await overflow(), `${state}, enlarged`).toEqual([]);
    if (screen !== "desktop") await picture(page, `${state}-${screen}-enlarged`);
  }
  return [...new Set(person.asked.map((address) => new URL(address).origin))];
}
