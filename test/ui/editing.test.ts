/** Rows are added, edited and deleted, and nothing is overwritten that the person has not seen. */
import { expect, test } from "bun:test";
import { Memory } from "../../src/memory/memory.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore, TestMemory } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";
import { fieldOf, textOf, Visitor } from "./ui.ts";

const collection = "notes";

async function withRow(text = "The pager rotates on Tuesdays.", metadata: object | null = { scope: "ops" }) {
  const v = await Visitor.open();
  await v.memory.call("add", { collection, ids: ["pager"], texts: [text], ...(metadata && { metadata: [metadata] }) });
  return v;
}

/** What the fields of a form hold, as a browser sends it: line breaks as CR LF, without the first one. */
function typedIn(body: string, name: string): string {
  const written = new RegExp(`<textarea[^>]*name="${name}"[^>]*>\\n?([^<]*)<`).exec(body)![1]!;
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  const text = written.replace(/&(lt|gt|quot|#39|amp);/g, (_, sign: string) => signs[sign]!);
  return text.replace(/\r\n?|\n/g, "\r\n");
}

async function opened(v: Visitor, id = "pager") {
  const path = `/c/notes/edit?id=${encodeURIComponent(id)}`;
  const { body } = await v.get(path);
  const fields = { digest: fieldOf(body, "digest"), text: typedIn(body, "text"), metadata: typedIn(body, "metadata") };
  return { path, fields };
}

test("a row is added with metadata in YAML or JSON; rows like it are named", async () => {
  const v = await withRow();
  const yaml = { text: "Green tea:\r\n75 degrees.", metadata: "scope: home\r\nn: 1\r\n", id: "tea" };
  const { status, body } = await v.posts("/c/notes/add", yaml);
  expect(status).toBe(200);
  expect(textOf(body)).toContain("Added.");
  expect(await v.row(collection, "tea")).toEqual({
    text: "Green tea:\n75 degrees.",
    metadata: { scope: "home", n: 1 },
  });
  const json = { text: "The pager rotates on Tuesday.", metadata: '{"scope":"ops","list":[1]}', id: "" };
  const added = await v.post("/c/notes/add", json);
  const id = new URL(added.location!, v.origin).searchParams.get("id")!;
  expect(await v.row(collection, id)).toEqual({ text: json.text, metadata: { scope: "ops", list: [1] } });
  expect(textOf((await v.get(added.location!)).body)).toContain("Row pager has nearly the same text.");
  const same = await v.posts("/c/notes/add", { ...yaml, id: "" });
  expect(textOf(same.body)).toContain("Row tea has the same text.");
});

test("what is wrong with a new row is said above what was typed", async () => {
  const v = await withRow();
  const wrong: [Record<string, string>, string][] = [
    [{ text: "", metadata: "", id: "" }, "the text is empty"],
    [{ text: "a <b>", metadata: "scope: [", id: "" }, "the metadata is not YAML"],
    [{ text: "a <b>", metadata: "{", id: "" }, "the metadata is not JSON"],
    [{ text: "a <b>", metadata: "a: 1\nb: 2\na: 3", id: "" }, "the metadata has the key 'a' twice"],
    [{ text: "a <b>", metadata: "- list", id: "" }, 'is not a list of "key: value"'],
    [{ text: "a <b>", metadata: "", id: "pager" }, "pager"],
  ];
  for (const [values, problem] of wrong) {
    const { status, body } = await v.post("/c/notes/add", values);
    expect([values, status]).toEqual([values, 400]);
    expect(textOf(body)).toContain(problem);
    expect(typedIn(body, "text")).toBe(values.text!);
    expect(typedIn(body, "metadata")).toBe(values.metadata!.replaceAll("\n", "\r\n"));
  }
  expect((await v.memory.call("count", { collection })).count).toBe(1);
});

test("an edit saves text and metadata, and keeps what a browser would change", async () => {
  const texts = ["one\r\ntwo\r\n", "\n\nlines <b> &amp; 'quotes'\n", "mixed\r\nand\nand\rmore", "\u001b[31m tabs\t"];
  for (const [i, text] of texts.entries()) {
    const metadata = i === 0 ? null : { scope: "1", n: 1, "key: x": [null, true, "true"], text: "a\nb" };
    const v = await withRow(text, metadata);
    const before = await v.row(collection, "pager");
    const { path, fields } = await opened(v);
    expect(textOf((await v.posts(path, fields)).body)).toContain("Nothing was changed.");
    expect(await v.row(collection, "pager")).toEqual(before!);
    await v.posts(path, { ...fields, metadata: `${fields.metadata}more: 1\r\n` });
    expect(await v.row(collection, "pager")).toEqual({ text, metadata: { scope: "default", ...metadata, more: 1 } });
    const again = await opened(v);
    expect(textOf((await v.posts(path, { ...again.fields, text: `${fields.text}!` })).body)).toContain("Saved.");
    const saved = await v.row(collection, "pager");
    expect(saved!.text.endsWith("!")).toBe(true);
    if (i === 0) expect(saved!.text).toBe("one\r\ntwo\r\n!");
  }
});

test("a row that was changed while it was edited is not overwritten unseen", async () => {
  const v = await withRow();
  const { path, fields } = await opened(v);
  await v.memory.call("update", { collection, ids: ["pager"], texts: ["The pager rotates on Fridays."] });
  const typed = { ...fields, text: "The pager rotates on Mondays." };
  const conflict = await v.post(path, typed);
  expect(conflict.status).toBe(409);
  expect(conflict.body).toContain("rotates on <del>Fridays</del>.");
  expect(conflict.body).toContain("rotates on <ins>Mondays</ins>.");
  expect((await v.row(collection, "pager"))!.text).toBe("The pager rotates on Fridays.");
  // Saved over it on purpose, unless it was changed once more.
  const over = { ...typed, digest: fieldOf(conflict.body, "digest") };
  expect(typedIn(conflict.body, "text")).toBe(typed.text);
  await v.memory.call("update", { collection, ids: ["pager"], texts: ["The pager rotates on Sundays."] });
  const again = await v.post(path, over);
  expect(again.status).toBe(409);
  expect(again.body).toContain("<del>Sundays</del>");
  const saved = await v.posts(path, { ...typed, digest: fieldOf(again.body, "digest") });
  expect(saved.status).toBe(200);
  expect((await v.row(collection, "pager"))!.text).toBe(typed.text);
});

test("both of two texts as long as forms take are shown, in a page of bounded size", async () => {
  const metadata = { scope: "ops", list: Array.from({ length: 350 }, (_, i) => `item ${i}`) };
  const v = await withRow("a < b & c ".repeat(800), metadata);
  const { path, fields } = await opened(v);
  await v.memory.call("update", {
    collection,
    ids: ["pager"],
    texts: ["d > e ".repeat(3_000)],
    metadata: [{ scope: "home" }],
  });
  const conflict = await v.post(path, fields);
  expect(conflict.status).toBe(409);
  expect(typedIn(conflict.body, "text")).toBe(fields.text);
  expect(conflict.body).toContain("<del>");
  const tooLong = await v.post(path, { ...fields, text: "x".repeat(100_000) });
  expect(textOf(tooLong.body)).toContain("go back in the browser to find it");
});

test("a row that was deleted while it was edited can be added again", async () => {
  const v = await withRow();
  const { path, fields } = await opened(v);
  await v.memory.call("delete", { collection, ids: ["pager"] });
  const gone = await v.post(path, { ...fields, text: "The pager rotates on Mondays." });
  expect(gone.status).toBe(409);
  expect(textOf(gone.body)).toContain("This row was deleted while you edited it.");
  expect(await v.row(collection, "pager")).toBeUndefined();
  expect(gone.body).toContain('action="/c/notes/add?id=pager"');
  await v.posts("/c/notes/add?id=pager", { text: "The pager rotates on Mondays.", metadata: "scope: ops" });
  expect((await v.row(collection, "pager"))!.text).toBe("The pager rotates on Mondays.");
});

test("ids with any character are edited and deleted", async () => {
  const v = await Visitor.open();
  for (const id of ["a\nb\r\nc", "../x", "a&b=c?d#e", "<script>", "\u202e", " ", "..", "%2e"]) {
    await v.memory.call("add", { collection, ids: [id], texts: ["first"] });
    const { path, fields } = await opened(v, id);
    expect((await v.posts(path, { ...fields, text: "second" })).status).toBe(200);
    expect((await v.row(collection, id))!.text).toBe("second");
    const asks = await v.get(`/c/notes/delete?id=${encodeURIComponent(id)}`);
    const action = /<form method="post" action="([^"]*)"/.exec(asks.body)![1]!.replaceAll("&amp;", "&");
    await v.posts(action, { digest: fieldOf(asks.body, "digest") });
    expect(await v.row(collection, id)).toBeUndefined();
  }
});

test("a delete asks first, and asks again where the row was changed meanwhile", async () => {
  const v = await withRow();
  const path = "/c/notes/delete?id=pager";
  const asks = await v.get(path);
  expect(textOf(asks.body)).toContain("Delete pager?");
  await v.memory.call("update", { collection, ids: ["pager"], texts: ["The pager rotates on Fridays."] });
  const again = await v.post(path, { digest: fieldOf(asks.body, "digest") });
  expect(again.status).toBe(409);
  expect(textOf(again.body)).toContain("The pager rotates on Fridays.");
  const done = await v.posts(path, { digest: fieldOf(again.body, "digest") });
  expect(textOf(done.body)).toContain("Deleted pager.");
  expect(await v.row(collection, "pager")).toBeUndefined();
  expect(textOf((await v.posts(path, { digest: "" })).body)).toContain("The row was deleted already.");
});

test("credentials are refused or masked as the memory was opened", async () => {
  const token = `ghp_${"A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8".slice(0, 36)}`;
  const embedder = new MultigramEmbedder((await native()).kernel);
  for (const secrets of ["refuse", "mask"] as const) {
    const store = await openStore();
    const repositories = () => Promise.reject(new Error("no repository is used"));
    const memory = new Memory({ store, repoStore: store, embedder, repositories, secrets, dispose: async () => {} });
    closedAtEnd(memory);
    const m = Object.assign(Object.create(TestMemory.prototype) as TestMemory, { memory });
    const v = await Visitor.open(m);
    await m.call("add", { collection, ids: ["pager"], texts: ["no token"] });
    const added = await v.posts("/c/notes/add", { text: `token ${token}`, metadata: "", id: "t" });
    const { path, fields } = await opened(v);
    const edited = await v.posts(path, { ...fields, text: `token ${token}` });
    if (secrets === "refuse") {
      expect([added.status, edited.status]).toEqual([400, 400]);
      expect(textOf(added.body)).toContain("holds a credential (GitHub token)");
      expect(textOf(edited.body)).toContain("holds a credential (GitHub token)");
      expect((await v.row(collection, "pager"))!.text).toBe("no token");
    } else {
      expect(textOf(added.body)).toContain("Credentials were masked: 1.");
      expect((await v.row(collection, "t"))!.text).toBe("token [GitHub token removed]");
      expect((await v.row(collection, "pager"))!.text).toBe("token [GitHub token removed]");
    }
  }
});

test("a text that is too long for a form is for an editor, and a read-only site has no forms", async () => {
  const v = await withRow("long ".repeat(20_000));
  expect(textOf((await v.get("/c/notes/edit?id=pager")).body)).toContain("'svc mem edit' opens it in your editor");
  const read = await Visitor.open(v.memory, { readOnly: true });
  for (const page of ["add", "edit?id=pager", "delete?id=pager"])
    expect((await read.get(`/c/notes/${page}`)).status).toBe(403);
  for (const page of ["add", "edit?id=pager", "delete?id=pager", "pin?id=pager", "undo", "replaced?id=a&by=b"]) {
    expect((await read.post(`/c/notes/${page}`, { text: "x" })).status).toBe(403);
  }
  for (const page of ["", "/row?id=pager", "/history", "/duplicates"]) {
    const { status, body } = await read.get(`/c/notes${page}`);
    expect([page, status]).toEqual([page, 200]);
    expect(body).not.toContain("<button>Add");
    expect(body).not.toContain('method="post"');
  }
});
