/** `svc mem history`: what it asks for, and what a person reads. */
import { expect, test } from "bun:test";
import { FAKE_GATE, type RunOptions, svc } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", "history", "notes", ...words], { ...options, preload: [FAKE_GATE] });
const answered = (answer: object, ...words: string[]) =>
  fake(words, { env: { FAKE_HISTORY: JSON.stringify({ collection: "notes", ...answer }) } });

const time = Date.UTC(2026, 10, 22, 18, 40);
const none = { added: 0, replaced: 0, deleted: 0 };
const SAVES = [
  { save: 12, time, origin: { client: "terminal", version: "1.0", undoes: [[3, 3]] }, ...none, added: 2 },
  {
    save: 11,
    time,
    origin: {
      client: "svc serve",
      version: "1.0",
      undoes: [
        [4, 7],
        [9, 9],
      ],
    },
    ...none,
    deleted: 1,
  },
  { save: 4, time, origin: {}, ...none, added: 1, undone_by: 11 },
  {
    save: 3,
    time,
    origin: { client: "claude-code", version: "2.1", tool: "svc_upsert", session: "ab", author: "ann" },
    ...none,
    added: 1200,
    replaced: 3,
    deleted: 1,
    undone_by: 12,
  },
];

test("saves are a table, with who made them and what undid them", async () => {
  const { stdout, stderr } = await answered({ saves: SAVES, more: true });
  expect(stdout).toBe(
    [
      "SAVE  TIME               UNDONE BY  BY                     WITH               ROWS",
      "12    2026-11-22 18:40Z             terminal 1.0           undo of 3          2 added",
      "11    2026-11-22 18:40Z             svc serve 1.0          undo of 4 to 7, 9  1 deleted",
      "4     2026-11-22 18:40Z  11                                                   1 added",
      "3     2026-11-22 18:40Z  12         ann (claude-code 2.1)  svc_upsert         1200 added, 3 replaced, 1 deleted",
      "",
    ].join("\n"),
  );
  expect(stderr).toBe("there is more: --limit 0 shows all\n");
});

test("the ids of a save, and the versions of a row", async () => {
  const changes = [
    { id: "a", kind: "added" },
    { id: "li\nne", kind: "replaced" },
  ];
  expect((await answered({ save: SAVES[3], changes }, "--save", "3")).stdout).toBe(
    "save 3  2026-11-22 18:40Z  ann (claude-code 2.1), svc_upsert  1200 added, 3 replaced, 1 deleted, undone by 12\n" +
      "  a  added\n  li\\x0ane  replaced\n",
  );
  const row = { text: "blue\ngreen", metadata: { n: 1 }, created: time, updated: time };
  const versions = [
    { save: SAVES[1], kind: "deleted" },
    { save: SAVES[3], kind: "replaced", row },
    { save: SAVES[2], kind: "replaced" },
    { save: SAVES[0], kind: "added", row: { created: time, updated: time } },
  ];
  expect((await answered({ id: "a", versions }, "a")).stdout).toBe(
    [
      "a",
      "",
      "save 11  2026-11-22 18:40Z  svc serve 1.0, undo of 4 to 7, 9  deleted",
      "",
      'save 3  2026-11-22 18:40Z  ann (claude-code 2.1), svc_upsert  undone by 12  replaced  {"n":1}',
      "blue",
      "green",
      "",
      "save 4  2026-11-22 18:40Z  undone by 11  replaced",
      "(this version is damaged)",
      "",
      "save 12  2026-11-22 18:40Z  terminal 1.0, undo of 3  added",
      "",
    ].join("\n"),
  );
});

test("where there is nothing, a note says so; --json prints the answer", async () => {
  expect(await answered({ saves: [] })).toEqual({ code: 0, stdout: "", stderr: "the history of notes is empty\n" });
  expect(await answered({ id: "x", versions: [] }, "x")).toEqual({
    code: 0,
    stdout: "",
    stderr: "the history of notes has no change of this id\n",
  });
  const answer = { collection: "notes", saves: SAVES };
  expect(JSON.parse((await answered(answer, "--json")).stdout)).toEqual(answer);
  expect((await fake(["a", "b"], { env: { FAKE_CLOSED: "1" } })).code).toBe(2);
  expect((await fake(["--limit", "-1"], { env: { FAKE_CLOSED: "1" } })).code).toBe(2);
});

test("nothing that a terminal would obey gets there, and no line is wider than it", async () => {
  const evil = "\u001b[31mred\u0007 and \u009b2J\n漢字".repeat(2);
  const saves = SAVES.map((save) => ({
    ...save,
    origin: { ...save.origin, client: evil, tool: evil, version: evil, author: evil },
  }));
  const row = {
    text: evil.repeat(4),
    metadata: { [evil]: evil, long: "x y ".repeat(90) },
    created: time,
    updated: time,
  };
  const answers: [string[], object][] = [
    [[], { saves }],
    [["--save", "3"], { save: saves[3], changes: [evil, "漢 字 ".repeat(50)].map((id) => ({ id, kind: "replaced" })) }],
    [["a"], { id: "a", versions: [{ save: saves[3], kind: "replaced", row }] }],
  ];
  for (const columns of [60, 120]) {
    for (const [words, answer] of answers) {
      const env = { FAKE_HISTORY: JSON.stringify({ collection: "notes", ...answer }), COLUMNS: String(columns) };
      using screen = new Screen(svcCommand(["mem", "history", "notes", ...words], [FAKE_GATE]), env);
      expect(await screen.ended).toBe(0);
      const lines = Bun.stripANSI(screen.text).split("\r\n");
      for (const line of lines) expect([line, Bun.stringWidth(line) <= columns]).toEqual([line, true]);
      for (const code of ["\u001b[31m", "\u0007", "\u009b"]) expect(screen.text).not.toContain(code);
    }
  }
});
