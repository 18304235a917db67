/** The saves of a collection, and undoing them; rows that repeat or replace each other. */
import { expect, test } from "bun:test";
import { fieldOf, textOf, Visitor } from "./ui.ts";

const collection = "notes";

async function withSaves() {
  const v = await Visitor.open();
  await v.memory.call("add", { collection, ids: ["deploy", "tea"], texts: ["We deploy blue-green.", "Green tea."] });
  await v.memory.call("update", { collection, ids: ["tea"], texts: ["Green tea: 75 degrees."] });
  await v.memory.call("delete", { collection, ids: ["deploy"] });
  return v;
}

test("the history lists saves, and a save is undone after a question that names what it does", async () => {
  const v = await withSaves();
  const { body } = await v.get("/c/notes/history");
  const text = textOf(body);
  for (const part of ["2 added", "1 replaced", "1 deleted"]) expect(text).toContain(part);
  const asks = await v.get("/c/notes/undo?save=3");
  expect(textOf(asks.body)).toContain("These were deleted and come back (1) deploy");
  const done = await v.posts("/c/notes/undo?save=3", { digest: fieldOf(asks.body, "digest") });
  expect(textOf(done.body)).toContain("Undone: one row is as before.");
  expect((await v.row(collection, "deploy"))!.text).toBe("We deploy blue-green.");
  expect(textOf((await v.get("/c/notes/history")).body)).toContain("undone by save 4");
  expect(textOf((await v.get("/c/notes/undo?save=3")).body)).toContain("was undone by save 4");
});

test("an undo of what was changed meanwhile asks again", async () => {
  const v = await withSaves();
  const asks = await v.get("/c/notes/undo?save=2");
  expect(textOf(asks.body)).toContain("These were replaced and will be as before (1) tea Green tea: 75 degrees.");
  await v.memory.call("update", { collection, ids: ["tea"], texts: ["Green tea: 80 degrees."] });
  const again = await v.post("/c/notes/undo?save=2", { digest: fieldOf(asks.body, "digest") });
  expect(again.status).toBe(409);
  expect(textOf(again.body)).toContain("These stay: a later save changed them (1) tea Green tea: 80 degrees.");
  expect((await v.row(collection, "tea"))!.text).toBe("Green tea: 80 degrees.");
  const forced = await v.get("/c/notes/undo?save=2&force=1");
  await v.posts("/c/notes/undo?save=2&force=1", { digest: fieldOf(forced.body, "digest") });
  expect((await v.row(collection, "tea"))!.text).toBe("Green tea.");
});

test("the latest change of a row, and of the collection; edits of one session are undone one by one", async () => {
  const v = await withSaves();
  for (const text of ["one", "two"]) {
    const digest = fieldOf((await v.get("/c/notes/edit?id=tea")).body, "digest");
    await v.posts("/c/notes/edit?id=tea", { digest, text, metadata: "" });
  }
  expect((await v.row(collection, "tea"))!.text).toBe("two");
  const history = textOf((await v.get("/c/notes/history")).body);
  expect(history).toContain("terminal");
  for (const expected of ["one", "Green tea: 75 degrees."]) {
    const asks = await v.get("/c/notes/undo?id=tea");
    const done = await v.posts("/c/notes/undo?id=tea", { digest: fieldOf(asks.body, "digest") });
    expect(textOf(done.body)).toContain("Undone");
    expect((await v.row(collection, "tea"))!.text).toBe(expected);
  }
  const latest = await v.get("/c/notes/undo");
  expect(textOf(latest.body)).toContain("(1) deploy");
  for (const wrong of ["save=0", "save=x", "save=99", "id="]) {
    expect([wrong, (await v.get(`/c/notes/undo?${wrong}`)).status]).toEqual([wrong, wrong === "id=" ? 200 : 400]);
  }
});

test("a history has pages", async () => {
  const v = await Visitor.open();
  for (let i = 0; i < 30; i++) await v.memory.call("add", { collection, ids: [`row-${i}`], texts: [`text ${i}`] });
  const first = await v.get("/c/notes/history");
  const older = /<a href="([^"]*)">Older saves/.exec(first.body)![1]!;
  const second = await v.get(older);
  const saves = [first, second].flatMap(({ body }) =>
    [...body.matchAll(/undo\?save=(\d+)" aria/g)].map(([, save]) => save),
  );
  expect(saves).toEqual(Array.from({ length: 30 }, (_, i) => `${30 - i}`));
});

test("duplicates are the same text, nearly the same, and what a newer row replaces; they are marked or deleted", async () => {
  const v = await Visitor.open();
  const texts = [
    "The pager rotates on Tuesdays at 9.",
    "Green tea wants water of 75 degrees.",
    "We deploy blue-green.",
  ];
  await v.memory.call("add", { collection, ids: ["pager", "tea", "deploy"], texts });
  await Bun.sleep(2);
  const later = [
    "The pager rotates on Tuesdays at 10.",
    "Green tea wants water of 75 degrees.",
    "We do not deploy blue-green.",
  ];
  await v.memory.call("add", { collection, ids: ["pager-2", "tea-2", "deploy-2"], texts: later });
  const { body } = await v.get("/c/notes/duplicates");
  const text = textOf(body);
  expect(text).toContain("The same text Older: tea");
  expect(text).toContain("Nearly the same text, with other numbers Older: pager");
  expect(body).toContain("Tuesdays at <del>9</del>.");
  expect(body).toContain("Tuesdays at <ins>10</ins>.");
  expect(body.match(/class="pair-of-rows"/g)!.length).toBeGreaterThanOrEqual(2);
  const { times } = { times: (await v.memory.call("get", { collection, ids: ["pager"] })).rows[0].updated };
  const marked = await v.posts("/c/notes/replaced?id=pager&by=pager-2", {});
  expect(textOf(marked.body)).toContain("Marked pager as replaced by pager-2");
  expect(textOf(marked.body)).toContain("Replaced by a newer one Older: pager");
  const [row] = (await v.memory.call("get", { collection, ids: ["pager"] })).rows;
  expect(row).toMatchObject({ metadata: { superseded_by: "pager-2" }, updated: times });
  expect((await v.posts("/c/notes/replaced?id=pager&by=none", {})).status).toBe(400);
  expect((await v.posts("/c/notes/replaced?id=none&by=pager", {})).status).toBe(400);
  expect((await v.posts("/c/notes/replaced?id=pager&by=pager", {})).status).toBe(400);
});

test("duplicates are looked for page by page", async () => {
  const v = await Visitor.open();
  const ids = Array.from({ length: 60 }, (_, i) => `row-${i}`);
  const texts = ids.map((_, i) => `${["alpha", "beta", "gamma", "delta"][i % 4]}${i} stands for itself${i} only${i}`);
  texts[59] = texts[0]!;
  await v.memory.call("add", { collection, ids, texts });
  let [path, pages, pairs]: [string | undefined, number, number] = ["/c/notes/duplicates", 0, 0];
  for (; path !== undefined; pages++) {
    const { body } = await v.get(path);
    pairs += body.match(/The same text/g)?.length ?? 0;
    path = /<a href="([^"]*)">Compare older rows/.exec(body)?.[1]?.replaceAll("&amp;", "&");
  }
  expect([pages, pairs]).toEqual([3, 2]);
});
