/** Hits for a person, in any number of columns. */
import { describe, expect, test } from "bun:test";
import { renderHits } from "../../../src/cli/mem/render/hits.ts";
import { FAKE_GATE } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

const LONG = `${"nothing of it here, line after line. ".repeat(100)}We deploy blue green on Tuesdays. ${"And so on. ".repeat(100)}`;
const lines = (text: string) => text.split("\n");

describe("where stdout is not a terminal", () => {
  const shown = (text: string, query = "deploy") => renderHits([{ id: "a", text }], { query, columns: undefined });

  test("a short text is whole, on one line", () => {
    expect(shown("we  deploy\n\non Tuesdays")).toBe("1. a\n   we deploy on Tuesdays");
  });

  test("of a long one as much as a line has room for", () => {
    const line = lines(shown(LONG, "quokka"))[1]!;
    expect(line).toMatch(/^ {3}nothing of it .*…$/);
    expect(line.length).toBeLessThan(170);
  });

  test("an excerpt has an ellipsis where text is left out", () => {
    const excerpt = (start: number) => renderHits([{ id: "a", text: "we deploy", truncated: true, start }], at);
    const at = { query: "deploy", columns: undefined };
    expect([excerpt(0), excerpt(7)]).toEqual(["1. a\n   we deploy…", "1. a\n   …we deploy…"]);
  });

  test("a hit of all collections names its own", () => {
    const page = renderHits([{ collection: "ops notes", id: "a" }], { query: "deploy", columns: undefined });
    expect(page).toBe("1. ops notes  a");
  });

  test("a hit that hardly fits says how to read it", () => {
    const page = renderHits([{ id: "a", weak: true }], { query: "deploy", columns: undefined });
    expect(page).toBe("1. a\n   few of the question's words; 'svc mem get' prints it");
  });

  test("the turns beside a hit are a line each", () => {
    const after = { id: "c", text: `then\n\x1b[2Jthis ${"and that ".repeat(30)}`, truncated: true } as const;
    const neighbours = { before: { id: "a", text: "deploy\nfirst" }, after };
    const hits = [
      { id: "b", text: "deploy", neighbours },
      { id: "d", text: "alone", neighbours: {} },
      { id: "e", neighbours_bytes: 700 },
    ];
    const page = lines(renderHits(hits, { query: "deploy", columns: undefined }));
    expect(page.slice(0, 3)).toEqual(["1. b", "   before: deploy first", "   deploy"]);
    expect(page[3]).toMatch(/^ {3}after: then \\x1b\[2Jthis and that .{120,140}…$/);
    expect(page.slice(4)).toEqual(["2. d", "   alone", "3. e  (neighbours of 700 bytes)"]);
  });

  test("what a terminal would obey is visible", () => {
    expect(shown("a\x1b]0;owned\x07 deploy")).toBe("1. a\n   a\\x1b]0;owned\\x07 deploy");
  });
});

describe("on a terminal", () => {
  const metadata = { scope: "ops", author: "Ada Lovelace of the analytical engine", tags: ["deploy", "release"] };
  const hits = [LONG, "short", "名前を付けて保存する。".repeat(60), "x".repeat(500)].map((text, i) => {
    return { id: `row-${i}`, text, metadata, created: 1, updated: 2, score: 0.5 };
  });

  test.each([60, 80, 120, 200])(
    "nothing is wider than %p columns but words that are, and a text has two lines",
    (columns) => {
      const page = lines(renderHits(hits.slice(0, 3), { query: "deploy", columns }));
      for (const line of page) {
        if (line.trim().includes(" ")) expect([line, Bun.stringWidth(line) <= columns]).toEqual([line, true]);
      }
      const first = page.slice(
        0,
        page.findIndex((line) => line.startsWith("2. ")),
      );
      expect(first.filter((line) => line.includes("blue green") || line.includes("…")).length).toBeLessThanOrEqual(2);
      expect(page.join(" ").replace(/\s+/g, " ")).toContain('"author":"Ada Lovelace of the analytical engine"');
    },
  );

  test.each([60, 200])("a turn beside a hit is one line of at most %p columns", (columns) => {
    const turn = { id: "c".repeat(200), text: "保存する。".repeat(60), truncated: true } as const;
    const hit = { id: "b", text: "deploy", neighbours: { before: turn, after: turn } };
    const page = lines(renderHits([hit], { query: "deploy", columns }));
    expect(page).toHaveLength(4);
    for (const line of page) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
  });

  test("with whole texts every line of them", () => {
    const text = "first line deploy\n\n  second line";
    const options = { query: "deploy", isWhole: true, columns: 60 };
    expect(
      renderHits(
        [
          { id: "a", text },
          { id: "b", text: "c" },
        ],
        options,
      ),
    ).toBe("1. a\n   first line deploy\n\n     second line\n\n2. b\n   c");
  });

  test("words of the question stand out, in the forms that they have, and nothing else does", async () => {
    const answer = { hits: [{ id: "a", text: "Deploying: we deployed, the deployment, redeploy" }] };
    const env = { TERM: "xterm", FAKE_SEARCH: JSON.stringify(answer) };
    using screen = new Screen(svcCommand(["mem", "search", "notes", "deploy"], [FAKE_GATE]), env);
    expect(await screen.ended).toBe(0);
    const marked = screen.text
      .split("\x1b[33m")
      .slice(1)
      .map((part) => part.split("\x1b[39m")[0]);
    expect(marked).toEqual(["Deploying", "deployed", "deployment"]);
  });
});
