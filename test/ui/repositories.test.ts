/** The pages about repositories: what is indexed, and a search in one. */
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";
import { browsing } from "./opened.ts";

const PAGE_BYTES_MAX = 60 * 1024;

function repository(): string {
  const dir = join(scratchDir(), "project <b>");
  mkdirSync(join(dir, "src"), { recursive: true });
  const body = ["", "export function parseHeader(text) {", '\tconst evil = "<script>\u202e";', "  return text;", "}"];
  writeFileSync(join(dir, "src/header.ts"), body.join("\n"));
  writeFileSync(join(dir, "src/other.ts"), "export const unrelated = 1;\n");
  return dir;
}

test("lists what is indexed, and finds files with their lines as they are on disk", async () => {
  const m = await TestMemory.open();
  const person = await browsing(m);
  expect((await person.get("/repositories")).body).toContain("No repository is indexed");
  const root = repository();
  await m.call("index_repo", { path: root });
  const list = await person.get("/repositories");
  expect(list.body).toContain("project &lt;b&gt;");
  expect(list.body).toContain("One repository");
  const link = /href="(\/repositories\/search[^"]+)"/.exec(list.body)![1]!.replaceAll("&amp;", "&");
  const form = await person.get(link);
  expect(form.body).toContain('role="search"');
  const { body, status } = await person.get(`${link}&q=parseHeader`);
  expect(status).toBe(200);
  expect(body).toContain("src/header.ts:2");
  expect(body).toContain("<strong><bdi>parseHeader</bdi></strong>");
  expect(body).toMatch(/<span class="number">2<\/span> export function parseHeader/);
  expect(body).toContain("&lt;script&gt;[U+202E]");
  expect(body).not.toMatch(/\u202e|<script>\[/);
  writeFileSync(join(root, "src/header.ts"), "// moved\n\n\nexport function parseHeader() {}\n");
  expect((await person.get(`${link}&q=parseHeader`)).body).toContain("src/header.ts:4");
  const hinted = await person.get(`${link}&q=parseHeader&hint=docs`);
  expect(hinted.body).toMatch(/Nothing was found|no file/);
});

test("an address cannot name a folder to index, and one that is gone has no search", async () => {
  const m = await TestMemory.open();
  const person = await browsing(m);
  const root = repository();
  await m.call("index_repo", { path: root });
  const unknown = await person.get(`/repositories/search?repo=${encodeURIComponent(scratchDir())}&in=repo_symbols&q=x`);
  expect(unknown.status).toBe(404);
  const list = await person.get("/repositories");
  const link = /href="(\/repositories\/search[^"]+)"/.exec(list.body)![1]!.replaceAll("&amp;", "&");
  rmSync(root, { recursive: true });
  expect((await person.get(`${link}&q=x`)).status).toBe(404);
  expect((await person.get("/repositories")).body).toContain("the folder is missing");
});

test("the page of many hits with long lines stays small", async () => {
  const m = await TestMemory.open();
  const root = scratchDir();
  for (let i = 0; i < 30; i++)
    writeFileSync(join(root, `f${i}.ts`), `// needle ${"<&\u202e".repeat(300)}\n`.repeat(60));
  await m.call("index_repo", { path: root });
  const person = await browsing(m);
  const list = await person.get("/repositories");
  const link = /href="(\/repositories\/search[^"]+)"/.exec(list.body)![1]!.replaceAll("&amp;", "&");
  const { body } = await person.get(`${link}&q=needle`);
  expect(body).toContain("f1");
  expect(Buffer.byteLength(body)).toBeLessThan(PAGE_BYTES_MAX);
});

test("the settings of their collection have neither rename nor meaning", async () => {
  const m = await TestMemory.open();
  await m.call("index_repo", { path: repository() });
  const { body } = await (await browsing(m)).get("/c/repo_symbols/settings");
  expect(body).not.toContain('value="rename"');
  expect(body).not.toContain('value="meaning"');
  expect(body).toContain('value="drop"');
});
