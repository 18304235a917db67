/** Requests with random parts: every answer is a page, no text of the request is markup in it, and nothing is lost. */
import { expect, test } from "bun:test";
import { scratchDir, TestMemory } from "../fixture.ts";
import { random } from "../random.ts";
import { type Browsing, browsing } from "./opened.ts";

const SEED = Number(process.env.UI_SEED ?? 1);
const REQUESTS = Number(process.env.UI_REQUESTS ?? 150);

/** What breaks out of HTML, headers, paths, shells and JSON, and what is not text. */
const PIECES = [
  "<script>alert(1)</script>",
  "'\"><img src=x onerror=alert(1)>",
  "&amp;&#x3c;",
  "\r\nset-cookie: a=b",
  "../../etc/passwd",
  "..",
  "%00",
  "\0",
  "\u202e\u2066",
  "\u{1f600}",
  "é".repeat(100),
  "\ud800",
  "notes",
  "a,b,,c",
  "*",
  '{"a":1}',
  "$(reboot)",
  " ",
  "",
  "x".repeat(5000),
  "-1",
  "1e999",
];

const FIELDS = [
  "do",
  "description",
  "to",
  "confirm",
  "meaning",
  "history",
  "name",
  "columns",
  "lexical",
  "folder",
  "copy",
];
const PATHS = [
  "/",
  "/new",
  "/files",
  "/repositories",
  "/repositories/search",
  "/health",
  "/c/X/settings",
  "/c/X/export",
];
const FORMS = ["/new", "/c/X/settings", "/files/import", "/files/backup", "/files/export", "/nowhere"];
const ACTIONS = ["describe", "meaning", "compact", "rename", "drop"];

test(`seed ${SEED}`, async () => {
  const m = await TestMemory.open();
  await m.call("add", { collection: "kept", texts: ["one", "two"] });
  const person = await browsing(m);
  const next = random(SEED);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const text = () => Array.from({ length: 1 + Math.floor(next() * 3) }, () => pick(PIECES)).join("");
  const path = (list: readonly string[]) => pick(list).replace("X", () => encodeURIComponent(text().toWellFormed()));
  for (let i = 0; i < REQUESTS; i++) {
    const answer = next() < 0.5 ? await asked() : await sent();
    if (answer.status >= 500) throw new Error(`request ${i}: ${/id="problem">([^<]*)/.exec(answer.body)?.[1]}`);
    if (!answer.body.startsWith("<!doctype html>")) continue; // a download
    // A field holds what was typed; the plots isolate labels.
    const shown = answer.body.replace(/value="[^"]*"/g, "").replace(/\u2068[^\u2069]*\u2069/g, "");
    expect(shown).not.toMatch(/<script>alert|<img|[\u202a-\u202e\u2066]/);
    expect(Buffer.byteLength(answer.body)).toBeLessThan(60 * 1024);
  }
  expect((await m.call("count", { collection: "kept" })).count).toBe(2);

  function asked(): ReturnType<Browsing["get"]> {
    const query = new URLSearchParams([[pick(["q", "after", "repo", "in", "hint", "vectors"]), text().toWellFormed()]]);
    return person.get(`${path(PATHS)}?${query}`);
  }

  function sent(): ReturnType<Browsing["post"]> {
    const form = new FormData();
    if (next() < 0.8) form.set("do", pick(ACTIONS));
    for (const name of FIELDS) if (next() < 0.3) form.set(name, text().toWellFormed());
    // Never a folder outside of this test.
    const below = () =>
      text()
        .toWellFormed()
        .replace(/\.\.|\//g, "");
    for (const name of ["folder", "to"]) form.set(name, next() < 0.5 ? `${scratchDir()}/${below()}` : below());
    if (next() < 0.5) form.set("collection", text().toWellFormed());
    if (next() < 0.5) {
      const bytes = next() < 0.5 ? text() : new Uint8Array(Array.from({ length: 99 }, () => next() * 256));
      form.set(
        "file",
        new File([bytes], `${text().toWellFormed()}.${pick(["jsonl", "csv", "md", "json", "txt", "gz", "sqlite3"])}`),
      );
    }
    if (next() < 0.3) form.set("lenient", "1");
    return person.post(path(FORMS), form);
  }
}, 120_000);
