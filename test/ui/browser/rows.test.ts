/** A person at the pages about rows with a real browser, while an agent writes to the same memory. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import type { Session } from "../../e2e/home.ts";
import { CHROMIUM, NEED, Person, startChromium } from "../../trust/authority/browser/chromium.ts";
import type { Visitor } from "../ui.ts";
import { agentOn, filledSite, NOTES } from "./memory.ts";

let browser: Browser;
beforeAll(async () => {
  if (CHROMIUM) browser = await startChromium();
});
afterAll(() => browser?.close());

const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

async function personAt(v: Visitor, path: string, options = {}): Promise<Person> {
  const person = await Person.at(browser, options);
  await v.enter(person.context);
  await person.page.goto(v.origin + path);
  return person;
}

/** What the agent reads of a row, with a call of its own process. */
async function read(agent: Session, id: string) {
  const { rows } = await agent.call("svc_get", { collection: NOTES, ids: [id] });
  return rows[0];
}

describe.skipIf(!CHROMIUM)(`rows in a real browser (${NEED})`, () => {
  test("the keyboard alone searches, opens, edits, and undoes", async () => {
    const v = await filledSite();
    await using person = await personAt(v, "/c/notes");
    const { page } = person;
    await page.keyboard.press("/");
    expect(await person.focused()).toBe("Search");
    await page.keyboard.type("pager rotates");
    await page.keyboard.press("Enter");
    await person.reads("pager rotates in notes");
    expect(await page.locator("mark").first().textContent()).toBe("pager");
    await page.keyboard.press("ArrowDown");
    expect(await person.focused()).toBe("pager-2");
    await page.keyboard.press("j");
    expect(await person.focused()).toBe("pager");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await person.reads("pager-2 in notes");
    await page.keyboard.press("e");
    await person.reads("Edit pager-2");
    expect(await person.focused()).toBe("Text");
    await page.keyboard.press("ControlOrMeta+a");
    // Letters in a field are text, not keys of the page.
    await page.keyboard.type("The pager rotates at eleven: u, e, d, /");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await person.reads("pager-2 in notes")).toContain("status: Saved.");
    expect((await v.row(NOTES, "pager-2"))!.text).toBe("The pager rotates at eleven: u, e, d, /");
    await page.keyboard.press("u");
    await page.getByRole("button", { name: "Undo one row" }).waitFor();
    await page.keyboard.press("Enter");
    expect(await person.reads("pager-2 in notes")).toContain("Undone: one row is as before.");
    expect((await v.row(NOTES, "pager-2"))!.text).toBe("The pager rotates on Tuesdays at 10.");
  }, 120_000);

  test("an edit that an agent overtakes is shown beside its change, and saved only on purpose", async () => {
    const v = await filledSite();
    const agent = await agentOn(v);
    await using person = await personAt(v, "/c/notes/edit?id=tea");
    const { page } = person;
    await page.getByLabel("Text").fill("Green tea wants 70 degrees.");
    await agent.call("svc_update", { collection: NOTES, ids: ["tea"], texts: ["Green tea wants 90 degrees."] });
    await page.getByRole("button", { name: "Save" }).click();
    const seen = await person.reads("Changed meanwhile: tea");
    expect(seen).toContain("alert: This row was changed while you edited it. Nothing was saved.");
    expect(await page.locator("del").textContent()).toBe("90");
    expect(await page.locator("ins").textContent()).toBe("70");
    expect((await read(agent, "tea")).text).toBe("Green tea wants 90 degrees.");
    await page.getByRole("button", { name: "Save over the stored one" }).click();
    await person.reads("tea in notes");
    expect((await read(agent, "tea")).text).toBe("Green tea wants 70 degrees.");
    // Both are in the history, each with who saved it.
    await page.getByRole("link", { name: "What each version changed" }).click();
    const versions = await person.reads("Versions of tea");
    expect(versions).toContain("e2e 1, svc_update");
    expect(versions).toContain("terminal");
  }, 120_000);

  test("a row that an agent deletes meanwhile is not lost, and not brought back unseen", async () => {
    const v = await filledSite();
    const agent = await agentOn(v);
    await using person = await personAt(v, "/c/notes/edit?id=tea");
    const { page } = person;
    await page.getByLabel("Text").fill("Tea, typed by hand.");
    await agent.call("svc_delete", { collection: NOTES, ids: ["tea"] });
    await page.getByRole("button", { name: "Save" }).click();
    await person.reads("Deleted meanwhile: tea");
    expect((await read(agent, "tea")).found).toBe(false);
    await page.getByRole("button", { name: "Add it again" }).click();
    expect(await person.reads("tea in notes")).toContain("status: Added.");
    expect((await read(agent, "tea")).text).toBe("Tea, typed by hand.");
  }, 120_000);

  test("an undo and a delete of what an agent changes meanwhile ask again", async () => {
    const v = await filledSite();
    const agent = await agentOn(v);
    await agent.call("svc_update", { collection: NOTES, ids: ["tea"], texts: ["Green tea wants 90 degrees."] });
    await using person = await personAt(v, "/c/notes/history");
    const { page } = person;
    await page
      .getByRole("link", { name: /^Undo save/ })
      .first()
      .click();
    await page.getByRole("button", { name: "Undo one row" }).waitFor();
    await agent.call("svc_update", { collection: NOTES, ids: ["tea"], texts: ["Green tea wants 95 degrees."] });
    await page.getByRole("button", { name: "Undo one row" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("Nothing was undone");
    await page.goto(`${v.origin}/c/notes/delete?id=tea`);
    await agent.call("svc_update", { collection: NOTES, ids: ["tea"], texts: ["Green tea wants 99 degrees."] });
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alert").waitFor();
    expect((await read(agent, "tea")).text).toBe("Green tea wants 99 degrees.");
    await page.getByRole("button", { name: "Delete" }).click();
    expect(await person.reads("notes")).toContain("status: Deleted tea.");
    expect((await read(agent, "tea")).found).toBe(false);
  }, 120_000);

  test("everything works while an agent writes without a pause", async () => {
    const v = await filledSite();
    const agent = await agentOn(v);
    let isOver = false;
    let saves = 0;
    const writing = (async () => {
      for (; !isOver; saves++) {
        await agent.call("svc_upsert", {
          collection: NOTES,
          ids: [`agent-${saves % 5}`],
          texts: [`The agent wrote note ${saves}.`],
        });
      }
    })();
    try {
      await using person = await personAt(v, "/c/notes/add");
      const { page } = person;
      await page.getByLabel("Text").fill("Typed while an agent writes.");
      await page.getByLabel("Metadata").fill("scope: home");
      await page.getByLabel("Id").fill("mine");
      await page.getByRole("button", { name: "Add" }).click();
      expect(await person.reads("mine in notes")).toContain("status: Added.");
      await page.getByRole("button", { name: "Pin" }).click();
      await page.getByText("The row is pinned.").waitFor();
      await page.getByRole("link", { name: "Edit" }).click();
      await page.getByLabel("Text").fill("Changed while an agent writes.");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved.", { exact: true }).waitFor();
      for (const path of ["", "?q=agent", "/history", "/duplicates", "/versions?id=mine"]) {
        const answer = await page.goto(`${v.origin}/c/notes${path}`);
        expect([path, answer!.status()]).toEqual([path, 200]);
      }
    } finally {
      isOver = true;
      await writing;
    }
    expect(saves).toBeGreaterThan(0);
    expect(await read(agent, "mine")).toMatchObject({
      text: "Changed while an agent writes.",
      metadata: { scope: "home" },
    });
  }, 120_000);

  test("duplicates are compared, marked and deleted on a phone, without the script", async () => {
    const v = await filledSite();
    await using person = await personAt(v, "/c/notes/duplicates", { ...PHONE, javaScriptEnabled: false });
    const { page } = person;
    const pair = page.locator("article").filter({ hasText: "pager-2" });
    await pair.getByRole("button", { name: "Mark as replaced" }).tap();
    expect(await person.reads("Duplicates in notes")).toContain("Marked pager as replaced by pager-2");
    expect((await v.row(NOTES, "pager"))!.metadata).toMatchObject({ superseded_by: "pager-2" });
    const same = page.locator("article").filter({ hasText: "The same text" });
    await same.getByRole("link", { name: "Delete" }).first().tap();
    await page.getByRole("button", { name: "Delete" }).tap();
    expect(await person.reads("notes")).toContain("status: Deleted tea.");
  }, 120_000);

  test("what is wrong in a form gets the focus, and nothing that was typed is lost", async () => {
    const v = await filledSite();
    await using person = await personAt(v, "/c/notes/add");
    const { page } = person;
    await page.getByLabel("Text").fill("A text\nof two lines.");
    await page.getByLabel("Metadata").fill("scope: [");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("alert").waitFor();
    expect(await person.focused()).toBe("Metadata");
    expect(await page.getByLabel("Metadata").getAttribute("aria-describedby")).toBe("problem metadata-hint");
    expect(await page.getByLabel("Text").inputValue()).toBe("A text\nof two lines.");
    await page.getByLabel("Metadata").fill("scope: home");
    await page.getByRole("button", { name: "Add" }).click();
    expect(await page.getByRole("status").textContent()).toContain("Added.");
  }, 120_000);

  test("hostile rows run and load nothing", async () => {
    const v = await filledSite();
    await using person = await personAt(v, "/c/notes/row?id=deploy-rules");
    const { page } = person;
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    for (const path of [
      "/c/notes",
      "/c/notes/versions?id=deploy-rules",
      "/c/notes/edit?id=deploy-rules",
      "/c/notes?q=deploys",
    ]) {
      await page.goto(v.origin + path);
    }
    expect(dialogs).toEqual([]);
    expect([...new Set(person.asked.map((address) => new URL(address).origin))]).toEqual([v.origin]);
  }, 120_000);
});
