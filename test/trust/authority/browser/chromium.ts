/** A real browser without a window, where the machine has one: Debian's chromium, or any of its kind. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { ROOT } from "../../../e2e/home.ts";

/** The program: SVC_TEST_CHROMIUM, or the first on the path. */
export const CHROMIUM =
  process.env.SVC_TEST_CHROMIUM ||
  ["chromium", "chromium-browser", "google-chrome"].map((name) => Bun.which(name)).find((path) => path !== null);

/** What a skipped test is named with. */
export const NEED = "needs Chromium on the path, or SVC_TEST_CHROMIUM";

/** Where pictures of the pages go, to be looked at. No test reads them, and they take a third of the tests' time. */
const PICTURES = process.env.SVC_TEST_PICTURES === "all" ? join(ROOT, ".build/pictures") : undefined;

/** A browser of its own. The caller closes it. */
export async function startChromium(): Promise<Browser> {
  // Nothing that the browser does by itself may look like a request of the page.
  const args = ["--disable-background-networking", "--disable-component-update", "--no-first-run"];
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args });
}

/** Makes a picture of a page if SVC_TEST_PICTURES is set. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** A person at a browser: cookies of their own, and the addresses that their pages asked for. */
export class Person implements AsyncDisposable {
  readonly asked: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async at(browser: Browser, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await browser.newContext(options);
    const person = new Person(context, await context.newPage());
    context.on("request", (request) => person.asked.push(request.url()));
    return person;
  }

  /** The title of the page and what is announced of it, once they are there. */
  async reads(title: string): Promise<string> {
    // Not waitForFunction: the policy of our pages forbids what it evaluates.
    const deadline = performance.now() + 30_000;
    for (let found = ""; found !== `${title} · svc`; await Bun.sleep(10)) {
      if (performance.now() > deadline) throw new Error(`the page is "${found}" and not "${title}"`);
      found = await this.page.title();
    }
    return this.page.locator("main").ariaSnapshot();
  }

  /** The element that has the focus: its label, or its text. */
  async focused(): Promise<string> {
    return this.page.evaluate("document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}
