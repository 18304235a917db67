/** Texts that are there already, on a terminal. */
import { expect, test } from "bun:test";
import { noteSame } from "../../../src/cli/mem/render/duplicates.ts";
import { joinAnswers } from "../../../src/cli/mem/render/joined.ts";
import { FAKE_GATE, svc } from "../support.ts";

test("--skip-duplicates is the tools' argument", async () => {
  for (const verb of ["add", "upsert"]) {
    const { stdout } = await svc(["mem", verb, "notes", "text", "--skip-duplicates", "--json"], {
      preload: [FAKE_GATE],
    });
    expect(JSON.parse(stdout).args).toMatchObject({ texts: ["text"], skip_duplicates: true });
  }
});

test("the first are named on stderr, the others counted", async () => {
  const duplicates = Array.from({ length: 5 }, (_, i) => ({ index: i, id: `n\n${i}`, of: `o${i}` }));
  const payload = { added: 9, collection: "notes", duplicates, duplicates_omitted: 2 };
  const env = { FAKE_ADD: JSON.stringify(payload) };
  const { stdout, stderr } = await svc(["mem", "add", "notes", "text"], { preload: [FAKE_GATE], env });
  expect(stdout).toBe("added 9 texts to notes\n");
  expect(stderr.split("\n")).toEqual([
    "text 1 is the same as that of o0: added as n\\x0a0",
    "text 2 is the same as that of o1: added as n\\x0a1",
    "text 3 is the same as that of o2: added as n\\x0a2",
    "and 4 more texts are there already",
    "",
  ]);
  const json = await svc(["mem", "add", "notes", "text", "--json"], { preload: [FAKE_GATE], env });
  expect([JSON.parse(json.stdout), json.stderr]).toEqual([payload, ""]);
  const skipped = duplicates.slice(0, 4).map(({ index, of }) => ({ index, of }));
  expect(noteSame({ duplicates: skipped, skipped: 4 }).slice(2)).toEqual([
    "text 3 is the same as that of o2: skipped",
    "and 1 more text is there already (4 skipped in all)",
  ]);
  expect(noteSame({})).toEqual([]);
});

test("of texts that went in several calls the places are those on the command line", () => {
  const same = (index: number) => ({ duplicates: [{ index, of: "x" }], duplicates_omitted: 1, skipped: 2 });
  expect(joinAnswers<object>([same(3), {}, same(4)])).toEqual({
    duplicates: [
      { index: 3, of: "x" },
      { index: 20_004, of: "x" },
    ],
    duplicates_omitted: 2,
    skipped: 4,
  });
});

test("answers to several calls are added up, and a notice that they share stands once", () => {
  const first = { collection: "notes", upserted: 2, ids: ["a", "b"], notice: "x" };
  const second = { collection: "notes", upserted: 1, ids: ["c"], notice: "y", masked: 1 };
  expect(joinAnswers<object>([first, second])).toEqual({
    collection: "notes",
    upserted: 3,
    ids: ["a", "b", "c"],
    notice: "x; y",
    masked: 1,
  });
  expect(joinAnswers([first, first]).notice).toBe("x");
});
