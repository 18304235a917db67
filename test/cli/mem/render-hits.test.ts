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

  test("of a long one the piece that the question is about", () => {
    const line = lines(shown(LONG))[1]!;
    expect(line).toContain("We deploy blue green on Tuesdays.");
    expect(line).toMatch(/^ {3}….*…$/);
    expect(line.length).toBeLessThan(170);
  });

  test("of a long one without the question's words the beginning", () => {
    expect(lines(shown(LONG, "quokka"))[1]).toMatch(/^ {3}nothing of it .*…$/);
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
