/** One row: its text, its versions, what is like it. */
import { expect, test } from "bun:test";
import { textOf, Visitor } from "./ui.ts";

const collection = "notes";

async function withRow(text: string, metadata: Record<string, unknown> = {}) {
  const v = await Visitor.open();
  await v.memory.call("add", { collection, ids: ["x"], texts: [text], metadata: [metadata] });
  return v;
}

const main = (body: string) => body.slice(body.indexOf("<main"), body.indexOf("</main>"));

test("a text is shown as Markdown, and as it is stored", async () => {
  const v = await withRow("# Deploy\n\n- blue\n- *green*\n\n`code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
  const { body } = await v.get("/c/notes/row?id=x");
  expect(body).toContain("<h3>Deploy</h3>");
  expect(body).toContain("<em>green</em>");
  expect(body).toContain('<td role="cell" data-column="b"><span>2</span></td>');
  const stored = await v.get("/c/notes/row?id=x&as=text");
  expect(stored.body).toContain("# Deploy\n\n- blue\n- *green*");
});

test("Markdown runs nothing, loads nothing, and says where its links lead", async () => {
  const text = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](/c/notes/delete?id=x)",
    "[f](//evil.example/x) [g](file:///etc/passwd) [h](  javascript:alert(1)) [i](&#106;avascript:alert(1))",
    "![picture](https://evil.example/pixel.png) [![badge](https://evil.example/b.svg)](https://ok.example/)",
    '[good](https://ok.example/a?b=c&d "a title") <https://auto.example/> [mail](mailto:ada@example.org)',
    "[ref] &#x202e;reversed \u202e\u001b[31m",
    "",
    "[ref]: javascript:alert(2)",
  ].join("\n");
  const { body } = await (await withRow(text)).get("/c/notes/row?id=x");
  const shown = main(body);
  expect(shown).not.toMatch(/<(?:script|img|iframe|object|video|audio|source|link|style|base|meta)\b/i);
  expect(shown).not.toMatch(/<[^>]*\son\w+=/i);
  expect(shown).not.toMatch(/[\u202e]/);
  const links = [...shown.matchAll(/<a ([^>]*)>/g)].map(([, attributes]) => attributes!);
  const outside = links.filter((link) => !/href="\//.test(link));
  expect(outside.map((link) => /href="([^"]*)"/.exec(link)![1]!)).toEqual([
    "https://evil.example/pixel.png",
    "https://ok.example/",
    "https://ok.example/a?b=c&amp;d",
    "https://auto.example/",
    "mailto:ada@example.org",
  ]);
  for (const link of outside) expect(link).toContain('rel="noreferrer noopener"');
  expect(shown).toContain('good</a> <span class="address">(https://ok.example/a?b=c&amp;d)</span>');
  // No row of the text is a link within this site.
  expect(shown).toContain("[e](/c/notes/delete?id=x)");
});

test("a text of 16 MB, and one of bytes that are not text, show their beginning and their size", async () => {
  const v = await withRow(`begin ${"word ".repeat(3_300_000)}`.slice(0, 16 * 1024 * 1024));
  const { body } = await v.get("/c/notes/row?id=x");
  expect(textOf(body)).toContain("The beginning of a text of 16.5 MB.");
  expect(textOf((await v.get("/c/notes")).body)).toContain("begin word");
  let path = "/c/notes/row?id=x&as=text";
  let parts = 0;
  for (; parts < 3; parts++)
    path = /<a href="([^"]*)">Next part/.exec((await v.get(path)).body)![1]!.replaceAll("&amp;", "&");
  expect(textOf((await v.get(path)).body)).toMatch(/From byte [\d,]+ of a text of/);
  await v.memory.call("add", {
    collection,
    ids: ["bytes"],
    texts: [String.fromCharCode(...Array(256).keys()).repeat(800)],
  });
  const binary = await v.get("/c/notes/row?id=bytes");
  expect(binary.status).toBe(200);
  expect(textOf(binary.body)).toContain("[U+0000][U+0001]");
});

test("metadata, times, pins, and rows like it", async () => {
  const v = await withRow("We deploy blue-green on Tuesdays.", { scope: "ops", list: [1, { a: "<b>" }], "": "" });
  await v.memory.call("add", {
    collection,
    ids: ["y", "z"],
    texts: ["We deploy blue-green on Fridays.", "Green tea."],
  });
  const { body } = await v.get("/c/notes/row?id=x");
  expect(textOf(body)).toContain('list [1,{"a":"<b>"}]');
  const similar = body.slice(body.indexOf("Similar rows"));
  expect(similar).toContain('href="/c/notes/row?id=y"');
  expect(similar).not.toContain('href="/c/notes/row?id=x"');
  expect(textOf((await v.posts("/c/notes/pin?id=x", { remove: "" })).body)).toContain("The row is pinned.");
  expect(textOf((await v.get("/c/notes/row?id=x")).body)).toContain("Unpin");
  const terminal = await v.memory.memory.terminal();
  expect((await terminal.pin({ collection }, {})).pinned).toEqual(["x"]);
  expect(textOf((await v.posts("/c/notes/pin?id=x", { remove: "1" })).body)).toContain("not pinned any more");
  expect((await terminal.pin({ collection }, {})).pinned).toEqual([]);
});

test("versions say who saved what, with the differences; a deleted row still has them", async () => {
  const v = await withRow("The pager rotates on Tuesdays.", { scope: "ops" });
  await v.memory.call("update", {
    collection,
    ids: ["x"],
    texts: ["The pager rotates on Mondays."],
    metadata: [{ scope: "home" }],
  });
  const { body } = await v.get("/c/notes/versions?id=x");
  expect(body).toContain("The pager rotates on <del>Tuesdays</del><ins>Mondays</ins>.");
  expect(body).toContain("scope: <del>ops</del><ins>home</ins>");
  expect(textOf(body)).toContain("Save 2: replaced");
  await v.memory.call("delete", { collection, ids: ["x"] });
  const gone = await v.get("/c/notes/row?id=x");
  expect(gone.status).toBe(404);
  expect(textOf(gone.body)).toContain("It was deleted.");
  expect(textOf(gone.body)).toContain("3: deleted");
  expect(gone.body).toContain("/c/notes/undo?id=x");
  expect((await v.get("/c/notes/row?id=never")).status).toBe(404);
  expect((await v.get("/c/notes/row?id=")).status).toBe(400);
});

test("versions of a row come page by page", async () => {
  const v = await withRow("version 0");
  for (let i = 1; i < 25; i++) await v.memory.call("update", { collection, ids: ["x"], texts: [`version ${i}`] });
  const saves: string[] = [];
  let path: string | undefined = "/c/notes/versions?id=x";
  for (; path !== undefined; ) {
    const { body } = await v.get(path);
    saves.push(...[...body.matchAll(/<h2>Save (\d+)/g)].map(([, save]) => save!));
    path = /<a href="([^"]*)">Older versions/.exec(body)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(saves).toEqual(Array.from({ length: 25 }, (_, i) => `${25 - i}`));
});
