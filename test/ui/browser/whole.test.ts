/** The pages about whole collections, files, repositories and health in a real browser: what a person does, and how they look. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { HealthFinding } from "../../../src/ui/memory/site.ts";
import type { RunningUi } from "../../../src/ui/server/server.ts";
import { scratchDir, TestMemory } from "../../fixture.ts";
import { CHROMIUM, NEED, Person, startChromium } from "../../trust/authority/browser/chromium.ts";
import { lookedAt, SCREENS, type States } from "../../trust/authority/browser/looks.ts";
import { localParts, opening } from "../opened.ts";

const DAY_MS = 86_400_000;
const NAMES = [
  "notes",
  "a-collection-with-a-name-of-sixty-four-characters-and-not-one-space",
  "ملاحظات الفريق",
  "空白",
];
const FINDINGS: HealthFinding[] = [
  { area: "executable", level: "ok", message: "this is svc 1.0.0, from a release", remedy: null },
  {
    area: "memory",
    level: "problem",
    message: "collection 'notes' is damaged",
    remedy: "svc mem check notes --repair",
  },
  { area: "memory", level: "ok", message: "4 collections of 12 MB", remedy: null },
  {
    area: "clients",
    level: "warning",
    message: "Cursor starts another svc",
    remedy: "mend the file, then svc mcp install",
  },
];

let browser: Browser;
let m: TestMemory;
beforeAll(async () => {
  if (!CHROMIUM) return;
  browser = await startChromium();
  m = await TestMemory.open();
  await fill(m);
});
afterAll(() => browser?.close());

/** Collections with rows of a year, in scopes, and a repository. */
async function fill({ memory, call }: TestMemory): Promise<void> {
  const terminal = await memory.terminal();
  const now = Date.now();
  const rows = Array.from({ length: 400 }, (_, i) => {
    const at = now - ((i * i) % 360) * DAY_MS;
    const metadata = { scope: `scope ${i % (1 + (i % 17))}` };
    return { id: `n${i}`, text: `note ${i} about deploys`, metadata, created: at, updated: at, where: `line ${i}` };
  });
  for (const [at, collection] of NAMES.entries()) {
    const some = rows.slice(0, 400 / (at + 1));
    await terminal.import_rows({ collection, rows: some, schema: {}, times: true }, {});
  }
  await terminal.describe({ collection: NAMES[0]!, description: "decisions of the team, one a note" }, {});
  const root = join(scratchDir(), "project");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "src/header.ts"), `export function parseHeader() {\n  return "${"x".repeat(200)}";\n}\n`);
  await call.call(m, "index_repo", { path: root });
}

const local = () => localParts(m, async () => FINDINGS);

/** Goes to a page; the first time by the address that works once. */
function visits(ui: RunningUi): (path: string) => (page: Page) => Promise<unknown> {
  const { origin } = new URL(ui.address);
  return (path) => async (page) => {
    if (page.url() === "about:blank") await page.goto(ui.address);
    await page.goto(origin + path);
  };
}

describe.skipIf(!CHROMIUM)(`in a browser (${NEED})`, () => {
  test("a collection is made, described, renamed and dropped with the keyboard", async () => {
    const ui = opening(m, { local: local() });
    await using person = await Person.at(browser);
    const { page } = person;
    await page.goto(ui.address);
    await person.reads("Collections");
    expect(page.url()).not.toContain("key=");
    await page.keyboard.press("n");
    await person.reads("New collection");
    await page.getByLabel("Name").fill("plans");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/c/plans");
    await page.goto(`${new URL(ui.address).origin}/c/plans/settings`);
    await person.reads("Settings of plans");
    await page.getByLabel("What the collection is for").fill("what comes next");
    await page.keyboard.press("Enter");
    await page.getByText("Saved the description.").waitFor();
    await page.getByLabel("New name").fill(NAMES[0]!);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    // The browser moves the focus a moment after it shows the page.
    await page.locator(":focus").and(page.getByLabel("New name")).waitFor();
    await page.getByLabel("New name").fill("intentions");
    await page.keyboard.press("Enter");
    await page.getByText("Renamed plans to intentions.").waitFor();
    await page.getByLabel("Type the collection's name to confirm").fill("intentions");
    await page.keyboard.press("Enter");
    await page.getByText("Dropped intentions with 0 rows.").waitFor();
    expect(await person.reads("Collections")).not.toContain('link "intentions"');
    const origins = new Set(person.asked.map((address) => new URL(address).origin));
    expect([...origins]).toEqual([new URL(ui.address).origin]);
  });

  test("plots are images with a title and a description, and their figures are in tables", async () => {
    const ui = opening(m, { local: local() });
    await using person = await Person.at(browser);
    const { page } = person;
    await page.goto(ui.address);
    expect(await person.reads("Collections")).toContain('img "Size on disk by collection"');
    await page.goto(`${new URL(ui.address).origin}/c/notes/settings`);
    const read = await person.reads("Settings of notes");
    expect(read).toContain('img "Rows by scope"');
    expect(read).toMatch(/img "Rows by the week in which they were created"/);
    await page.getByText("Figures of this plot").first().click();
    expect(await person.reads("Settings of notes")).toContain('table "The largest 10');
    const boxes = await page.evaluate<number[][]>(
      `[...document.querySelectorAll("svg rect")].map((one) => { const b = one.getBoundingClientRect(); const s = one.ownerSVGElement.getBoundingClientRect(); return [b.left - s.left, b.right - s.right, b.top - s.top, b.bottom - s.bottom]; })`,
    );
    expect(boxes.length).toBeGreaterThan(20);
    for (const [left, right, top, bottom] of boxes) {
      expect(left).toBeGreaterThanOrEqual(-1);
      expect(right).toBeLessThanOrEqual(1);
      expect(top).toBeGreaterThanOrEqual(-1);
      expect(bottom).toBeLessThanOrEqual(1);
    }
  });

  test("a file is dropped on the page and imported, and a collection is downloaded", async () => {
    const ui = opening(m, { local: local() });
    await using person = await Person.at(browser);
    const { page } = person;
    await page.goto(ui.address);
    await page.getByRole("link", { name: "Import and backup" }).click();
    await person.reads("Import and backup");
    await page.getByLabel("Collection", { exact: true }).fill("dropped");
    const transfer = await page.evaluateHandle(
      `(() => { const t = new DataTransfer(); t.items.add(new File(['{"text":"from a drop"}\\n{"text":7}\\n'], "drop.jsonl")); return t; })()`,
    );
    await page.dispatchEvent("h1", "dragover", { dataTransfer: transfer });
    await page.dispatchEvent("h1", "drop", { dataTransfer: transfer });
    expect(await person.focused()).toBe("File");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    const read = await person.reads("Imported");
    expect(read).toContain("Imported 1 row from drop.jsonl into dropped.");
    expect(read).toContain("drop.jsonl', line 2");
    await page.goto(`${new URL(ui.address).origin}/c/dropped/settings`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("dropped.jsonl");
    expect(readFileSync(await download.path(), "utf8")).toContain('"text":"from a drop"');
  });

  test("a file that is too large is refused before it is sent, and without the script by a page", async () => {
    const ui = opening(m, { local: local() });
    const path = join(scratchDir(), "large.jsonl");
    await Bun.$`truncate -s 300M ${path}`.quiet();
    await using person = await Person.at(browser);
    const { page } = person;
    await page.goto(ui.address);
    await page.goto(`${new URL(ui.address).origin}/files`);
    await page.getByLabel("File", { exact: true }).setInputFiles(path);
    await page.getByText("This file is larger than").waitFor();
    await page.getByLabel("Collection", { exact: true }).fill("large");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    expect(await page.title()).toBe("Import and backup · svc");
    await page.evaluate(`document.querySelector("form").submit()`);
    const read = await person.reads("Error: not possible");
    expect(read).toContain("larger than 256 MiB");
    expect(read).toContain("svc mem import");
  });

  test("a repository is found and searched with the keyboard", async () => {
    const ui = opening(m, { local: local() });
    await using person = await Person.at(browser);
    const { page } = person;
    await page.goto(ui.address);
    await page.getByRole("link", { name: "Repositories" }).click();
    await person.reads("Repositories");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await person.reads("Search a repository");
    await page.keyboard.press("/");
    await page.keyboard.type("parseHeader");
    await page.keyboard.press("Enter");
    expect(await person.reads("parseHeader – repository")).toContain("src/header.ts:1");
  });

  test.each(Object.keys(SCREENS))(
    "looks right on a %s",
    async (screen) => {
      const ui = opening(m, { local: local() });
      const at = visits(ui);
      const { repositories } = await m.repos();
      const { repo_id, collection } = repositories[0]!;
      const states: States = {
        "ui-collections": at("/"),
        "ui-settings": at("/c/notes/settings"),
        "ui-settings-open": async (page) => {
          await at("/c/notes/settings")(page);
          for (const each of await page.locator("summary").all()) await each.click();
        },
        "ui-new": at("/new"),
        "ui-files": at("/files"),
        "ui-imported": async (page) => {
          await at("/files")(page);
          await page.getByLabel("Collection", { exact: true }).fill("looked-at");
          const bad = `{"text":"a"}\n${`{"text":7,"${"long".repeat(40)}":1}\n`.repeat(3)}`;
          await page.getByLabel("File", { exact: true }).setInputFiles({
            name: "notes.jsonl",
            mimeType: "text/plain",
            buffer: Buffer.from(bad),
          });
          await page.getByRole("button", { name: "Import", exact: true }).click();
          await page.getByRole("heading", { name: "Import", exact: true }).waitFor();
        },
        "ui-repositories": at("/repositories"),
        "ui-repository": at(`/repositories/search?repo=${repo_id}&in=${collection}&q=parseHeader`),
        "ui-health": at("/health"),
        "ui-missing": at("/c/none/settings"),
      };
      const origins = await lookedAt(browser, screen, states);
      expect(origins).toEqual([new URL(ui.address).origin]);
    },
    120_000,
  );

  test("looks right on a wide screen", async () => {
    const ui = opening(m, { local: local() });
    const at = visits(ui);
    const states = { "ui-collections-wide": at("/"), "ui-settings-wide": at("/c/notes/settings") };
    await lookedAt(browser, "desktop", states, { viewport: { width: 1400, height: 900 } });
  });
});
