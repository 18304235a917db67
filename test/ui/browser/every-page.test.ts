/**
 * Every page that links lead to: its size, what axe-core finds, its width on a narrow screen, the policy that it breaks, and
 * pictures of it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { type Home, signedIn, svc } from "../../e2e/home.ts";
import { CHROMIUM, NEED, Person, picture, startChromium } from "../../trust/authority/browser/chromium.ts";
import { TOO_WIDE } from "../../trust/authority/browser/looks.ts";
import { RunningUi } from "../running.ts";

/** Bytes of a page, with its style and script. */
const PAGE_BYTES_MAX = 60_000;
/** Pages of one kind, as two rows of a collection are. */
const OF_A_KIND = 2;

/** Rows as agents and attackers store them. */
const TEXTS = [
  "We deploy **blue-green** and switch after five green minutes.\n\n- first\n- second\n\n| a | b |\n|---|---|\n| 1 | 2 |",
  "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\"><b>bold</b>",
  "[click](javascript:document.title='owned') ![](http://127.0.0.1:1/track.png) <http://127.0.0.1:1/auto>",
  "\u001b[31mred\u001b[0m \u202egpj.exe \u0007 a\u200bb",
  `${"a-word-without-a-space".repeat(400)}\n${"# heading\n".repeat(400)}`,
  `${"wide | ".repeat(2000)}\n${"---|".repeat(2000)}`,
];

let browser: Browser;
let home: Home;
beforeAll(async () => {
  if (!CHROMIUM) return;
  browser = await startChromium();
  home = await signedIn();
  for (const [at, text] of TEXTS.entries()) {
    const metadata = JSON.stringify({ scope: at % 2 ? "ops" : "dev", "<b>key": "<i>value", kind: "note" });
    await svc(home, ["mem", "upsert", "notes", "-", "--id", `row ${at} <b>`, "--metadata", metadata], text);
  }
  await svc(home, ["mem", "upsert", "notes", "We deploy blue-green, on Tuesdays only.", "--id", "row 0 <b>"]);
  await svc(home, ["mem", "delete", "notes", "row 3 <b>"]);
  await svc(
    home,
    ["mem", "add", "notes", "--lines", "-"],
    Array.from({ length: 60 }, (_, n) => `note ${n}`).join("\n"),
  );
  await svc(home, ["mem", "create", "empty"]);
});
afterAll(() => browser?.close());

/** What of an address tells one kind of page from another: names, ids and texts do not. */
function kindOf(address: string): string {
  const { pathname, searchParams } = new URL(address);
  return `${pathname.replace(/^\/c\/[^/]+/, "/c/NAME")} ${[...searchParams.keys()].sort().join(" ")}`;
}

/** A minute where many processes share two cores. */
const MOST_MS = 300_000;

interface Seen {
  readonly page: Page;
  readonly address: string;
  /** As the name of a file. */
  readonly name: string;
}

/** Follows links from the first page, and calls `look` on each page. @returns how many it saw */
async function everyPage(ui: RunningUi, person: Person, look: (seen: Seen) => Promise<void>): Promise<number> {
  const { page } = person;
  await page.goto(ui.address);
  const queue = [`${ui.origin}/`];
  const known = new Set(queue);
  const kinds = new Map<string, number>();
  let seen = 0;
  for (let address = queue.shift(); address !== undefined; address = queue.shift()) {
    const kind = kindOf(address);
    const count = (kinds.get(kind) ?? 0) + 1;
    if (count > OF_A_KIND) continue;
    kinds.set(kind, count);
    await page.goto(address);
    seen++;
    await look({ page, address, name: `ui-${kind.replace(/\W+/g, "-")}-${count}` });
    const links = "[...document.querySelectorAll('a[href]:not([download])')].map((a) => a.href)";
    for (const found of await page.evaluate<string[]>(links)) {
      const link = found.replace(/#.*/, "");
      if (!link.startsWith(`${ui.origin}/`) || known.has(link)) continue;
      known.add(link);
      queue.push(link);
    }
  }
  return seen;
}

/** What axe-core, which the page has, finds: a line for each element. */
async function findings(page: Page): Promise<string[]> {
  const run = "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations)";
  const violations = await page.evaluate<{ id: string; help: string; nodes: { html: string }[] }[]>(run);
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}

describe.skipIf(!CHROMIUM)(`every page of svc ui (${NEED})`, () => {
  test(
    "light and dark, 1,400 px: small, usable with a screen reader, and no script of a row runs",
    async () => {
      const ui = await RunningUi.start(home);
      await using person = await Person.at(browser, { viewport: { width: 1400, height: 900 } });
      const broken: string[] = [];
      person.page.on("console", (message) => message.type() === "error" && broken.push(message.text()));
      person.page.on("pageerror", (error) => broken.push(error.message));
      const problems: string[] = [];
      const seen = await everyPage(ui, person, async ({ page, address, name }) => {
        const bytes = Buffer.byteLength(await page.content());
        if (bytes > PAGE_BYTES_MAX) problems.push(`${address}: ${bytes} bytes`);
        await page.evaluate(axe.source);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          problems.push(...(await findings(page)).map((one) => `${address}, ${colorScheme}: ${one}`));
          await picture(page, `${name}-1400-${colorScheme}`);
        }
        if ((await page.title()).includes("owned")) problems.push(`${address}: a script of a row ran`);
      });
      expect(problems).toEqual([]);
      expect(broken).toEqual([]);
      expect(person.asked.filter((address) => !address.startsWith(ui.origin))).toEqual([]);
      expect(seen).toBeGreaterThan(0);
    },
    MOST_MS,
  );

  test(
    "at 320 px, and with text of twice the size, nothing scrolls sideways",
    async () => {
      const ui = await RunningUi.start(home);
      await using person = await Person.at(browser, { viewport: { width: 320, height: 640 } });
      const problems: string[] = [];
      await everyPage(ui, person, async ({ page, address, name }) => {
        const overflow = async (how: string) => {
          for (const one of await page.evaluate<string[]>(TOO_WIDE))
            problems.push(`${address}, ${how}: ${one.slice(0, 100)}`);
        };
        await overflow("320 px");
        await picture(page, `${name}-320`);
        await page.evaluate("document.documentElement.style.fontSize = '200%'");
        await overflow("200 %");
      });
      expect(problems).toEqual([]);
    },
    MOST_MS,
  );
});
