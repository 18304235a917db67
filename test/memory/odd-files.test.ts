/** Odd files of a repository: indexed or counted as skipped, found by their readable text, without effect on others. */
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

const FILES: Record<string, string | Uint8Array> = {
  "plain.md": "The lighthouse keeper counts the ships.\n",
  "empty.txt": "",
  "blank.txt": `${" ".repeat(100_000)}\n`.repeat(3),
  "latin1.txt": bytes("Der Gru", [0xdf], " aus K", [0xf6], "nigsberg: Bernsteinzimmer\n"),
  "broken.txt": bytes([0xff, 0xfe, 0xc0, 0x80], "kookaburra", [0xed, 0xa0, 0x80, 0xf5], "\n", [0xe2, 0x82]),
  "bom.txt": bytes([0xef, 0xbb, 0xbf], "pangolin first\n"),
  "utf16.txt": Buffer.from("\ufeffa text in UTF-16", "utf16le"),
  "nul-late.txt": bytes("axolotl\n", "x\n".repeat(8000), [0], "salamander\n"),
  "one-word.txt": "z".repeat(1024 * 1024),
  "minified.js": `function a(){return 1};`.repeat(20_000) + "var bandicoot=1;",
  "cr.txt": "wallaby\rwallaroo\r",
  "marks.txt": `${"\u0301".repeat(10_000)}\nquetzal\n`,
  "stuffed.txt": "lighthouse ".repeat(10_000),
  "日本語.md": "会議は水曜日に東京で行われます\n",
  [`${"Ångström".normalize("NFD")}.md`]: "a unit of length\n",
  "emoji 👩‍👩‍👧.md": "🦑🦑 giant squid\n",
};

const FOUND: [string, string][] = [
  ["the lighthouse keeper counts ships", "plain.md"],
  ["Bernsteinzimmer", "latin1.txt"],
  ["kookaburra", "broken.txt"],
  ["pangolin", "bom.txt"],
  ["axolotl", "nul-late.txt"],
  ["salamander", "nul-late.txt"],
  ["bandicoot", "minified.js"],
  ["wallaroo", "cr.txt"],
  ["quetzal", "marks.txt"],
  ["水曜日に東京", "日本語.md"],
  ["🦑", "emoji 👩‍👩‍👧.md"],
  ["Ångström", `${"Ångström".normalize("NFD")}.md`],
  ["angstrom", `${"Ångström".normalize("NFD")}.md`],
];

test("odd files of a repository", async () => {
  const root = join(scratchDir(), "dir with 👩‍👧 and عربي");
  mkdirSync(root);
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(root, name), content);
  const m = await TestMemory.open(undefined, root);
  const built = await m.call("index_repo");
  expect(built).toMatchObject({ status: "built", files_tracked: 15, files_skipped: { binary: 1, unreadable: 0 } });
  const expectFound = async () => {
    for (const [query, path] of FOUND) {
      const { hits } = await m.call("repo_search", { query, with_text: true, top_k: 100, max_bytes: 0 });
      expect([query, hits[0].metadata.path]).toEqual([query, path]);
      expect(hits.every((hit: { text: string }) => hit.text.isWellFormed())).toBe(true);
      const ids = hits.map((hit: { id: string }) => hit.id);
      expect(new Set(ids).size).toBe(ids.length);
      const { rows } = await m.call("get", { collection: "repo_symbols", ids, max_bytes: 0 });
      expect(rows.map((row: { text: string }) => row.text)).toEqual(hits.map((hit: { text: string }) => hit.text));
    }
  };
  await expectFound();
  await m.call("build_lexical", { collection: "repo_symbols" });
  await expectFound();
  const { hits } = await m.call("search_lexical", { collection: "repo_symbols", query: "kookaburra", explain: true });
  expect(hits.map((hit: { metadata: { path: string } }) => hit.metadata.path)).toEqual(["broken.txt"]);

  // Files change kind: what was text is binary, what was binary is text.
  writeFileSync(join(root, "broken.txt"), bytes([0], "kookaburra"));
  writeFileSync(join(root, "utf16.txt"), "now in UTF-8: ocelot\n");
  rmSync(join(root, "one-word.txt"));
  const first = async (query: string) =>
    (await m.call("repo_search", { query, top_k: 1 })).hits.map(
      (hit: { metadata: { path: string } }) => hit.metadata.path,
    );
  expect(await first("ocelot")).toEqual(["utf16.txt"]);
  expect(await first("kookaburra")).not.toEqual(["broken.txt"]);
  expect((await m.call("workspace_info")).files_tracked).toBe(14);
});
