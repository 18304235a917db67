/** How the pages about rows look: on a desktop and on a phone, light, dark, enlarged, in forced colors. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { CHROMIUM, NEED, startChromium } from "../../trust/authority/browser/chromium.ts";
import { lookedAt, SCREENS, type States } from "../../trust/authority/browser/looks.ts";
import type { Visitor } from "../ui.ts";
import { filledSite } from "./memory.ts";

let browser: Browser;
let v: Visitor;
beforeAll(async () => {
  if (!CHROMIUM) return;
  browser = await startChromium();
  v = await filledSite();
}, 120_000);
afterAll(() => browser?.close());

const at = (path: string) => async (page: Page) => {
  await v.enter(page.context());
  await page.goto(v.origin + path);
};

const LONG = encodeURIComponent(
  "an-id-of-many-characters-without-a-space-that-no-narrow-screen-can-show-on-one-line-x",
);
const EVIL = encodeURIComponent("evil\u202egpj.exe");

/** Types into a form, saves, and comes back to what it says. */
const refused = async (page: Page) => {
  await at("/c/notes/add")(page);
  await page.getByLabel("Text").fill("A text that stays.");
  await page.getByLabel("Metadata").fill("scope: [");
  await page.getByRole("button", { name: "Add" }).click();
  await page.getByRole("alert").waitFor();
};

/** An update to the same text is not a change. */
let degrees = 80;

const conflicting = async (page: Page) => {
  await at("/c/notes/edit?id=tea")(page);
  await page.getByLabel("Text").fill("Green tea wants water of 70 degrees, for two minutes.");
  const text = `Green tea wants water of ${degrees++} degrees.`;
  await v.memory.call("update", { collection: "notes", ids: ["tea"], texts: [text] });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
};

const gone = async (page: Page) => {
  await v.memory.call("upsert", { collection: "notes", ids: ["gone"], texts: ["Soon gone."] });
  await at("/c/notes/edit?id=gone")(page);
  await v.memory.call("delete", { collection: "notes", ids: ["gone"] });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
};

const STATES: States = {
  "ui-list": at("/c/notes"),
  "ui-list-filtered": at("/c/notes?column=scope&value=home&since=2026-01-01"),
  "ui-list-wrong": at("/c/notes?column=nothing&value=x"),
  "ui-search": at("/c/notes?q=deplyo+pager"),
  "ui-search-all": at("/search?q=tea"),
  "ui-row": at("/c/notes/row?id=deploy-rules"),
  "ui-row-stored": at("/c/notes/row?id=deploy-rules&as=text"),
  "ui-row-long-id": at(`/c/notes/row?id=${LONG}`),
  "ui-row-hidden": at(`/c/notes/row?id=${EVIL}`),
  "ui-row-deleted": at("/c/notes/row?id=note-3"),
  "ui-versions": at("/c/notes/versions?id=deploy-rules"),
  "ui-add": at("/c/notes/add"),
  "ui-add-refused": refused,
  "ui-edit": at("/c/notes/edit?id=deploy-rules"),
  "ui-edit-conflict": conflicting,
  "ui-edit-deleted": gone,
  "ui-delete": at("/c/notes/delete?id=pager"),
  "ui-history": at("/c/notes/history"),
  "ui-undo": at("/c/notes/undo?save=2"),
  "ui-duplicates": at("/c/notes/duplicates"),
};

describe.skipIf(!CHROMIUM)(`pages about rows in a real browser (${NEED})`, () => {
  for (const screen of Object.keys(SCREENS)) {
    test(`each fits on a ${screen}, has contrast, and asks no other site for anything`, async () => {
      const asked = await lookedAt(browser, screen, STATES);
      expect(asked).toEqual([v.origin]);
    }, 300_000);
  }
});
