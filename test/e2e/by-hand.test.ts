/** `svc mem show|edit|delete` as a person uses them on a terminal, with the executable and a real memory. */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  const home = await signedIn();
  env = { ...home, TMPDIR: join(home.HOME!, "tmp"), PAGER: "cat" };
  mkdirSync(env.TMPDIR!);
});

/** What a command shows on a terminal, in which `keys` are typed once something is shown. */
async function terminal(words: string[], more: Record<string, string> = {}, cols = 80, type?: [RegExp, string]) {
  let shown = "";
  let isTyped = false;
  const child = Bun.spawn([SVC, ...words], {
    env: { ...env, TERM: "xterm", ...more },
    terminal: {
      cols,
      rows: 50,
      data(screen, bytes) {
        shown += new TextDecoder().decode(bytes);
        if (isTyped || !type?.[0].test(shown)) return;
        isTyped = true;
        screen.write(type[1]);
      },
    },
  });
  const code = await child.exited;
  // What was written last is still on its way.
  for (let length = -1; length !== shown.length; await Bun.sleep(20)) length = shown.length;
  child.terminal!.close();
  return { code, lines: shown.trimEnd().split("\r\n") };
}

/** Edits a row with a function of the shell as the editor, which gets the file as $1. */
const edit = (id: string, body: string, ...words: string[]) =>
  terminal(["mem", "edit", "notes", id, ...words], { EDITOR: `f() { ${body}; }; f` });

/** Files of edits that are still there. */
const drafts = () => readdirSync(env.TMPDIR!).filter((name) => name.startsWith("svc-edit-"));

/** The file that the last lines name, which only this user can read. */
function keptBy(lines: string[]): string {
  const [, path = ""] = /what you typed is in (\S+)$/.exec(lines.join(" ")) ?? [];
  expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
  return readFileSync(path, "latin1");
}

const rowOf = async (id: string) =>
  JSON.parse((await svc(env, ["mem", "get", "notes", id, "--json"])).out).rows[0] as Record<string, unknown>;

test("rows and collections are shown in lines that fit, and ids may be typed in part", async () => {
  const text = `${"we deploy blue green, ".repeat(30)}${"x".repeat(90)}\n  日本語のメモ 日本語のメモ 日本語のメモ \u001b[2J`;
  const metadata = ["ops", "home", "ops"].map((scope) => ({ scope, n: "1" }));
  const rows = ["--ids", "deploy,depot,pager", "--metadata", JSON.stringify(metadata)];
  expect((await svc(env, ["mem", "add", "notes", text, "tea", "rotates", ...rows])).code).toBe(0);
  const cols = 60;
  const commands = [
    ["show", "notes"],
    ["show", "notes", "depl"],
    ["recent"],
    ["list", "notes"],
    ["get", "notes", "deploy"],
  ];
  const shown = await Promise.all(commands.map((words) => terminal(["mem", ...words], {}, cols)));
  for (const { code, lines } of shown) {
    expect(code).toBe(0);
    // The first line of get is not broken.
    for (const line of lines) if (!line.includes("created 20")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(cols);
  }
  const [list, whole, recent, detail] = shown.map(({ lines }) => lines);
  expect(list![0]).toMatch(/^pager {2}added \d{4}-\d\d-\d\d \d\d:\d\d(Z|[+-]\d\d:\d\d) {2}scope=ops n="1"$/);
  expect(list!.at(-1)).toBe("one row whole: svc mem show notes pager");
  expect(whole).toContain("depl is the beginning of one id: deploy");
  expect(whole!.join(" ")).toContain("\\x1b[2J");
  expect(recent!.join(" ")).toMatch(/pager {2}added [\d-]+ \d\d:\d\d\S+ in notes/);
  expect(detail!.join(" ")).toMatch(/rows: +3 .*partitions: +ops \(2\), home \(1\)/);
  const [limited, ambiguous, json, none] = await Promise.all([
    terminal(["mem", "show", "notes", "--limit", "1", "--where", "scope=ops"]),
    terminal(["mem", "show", "notes", "dep"]),
    svc(env, ["mem", "show", "notes", "--json"]),
    svc(env, ["mem", "show", "notes", "none"]),
  ]);
  expect(limited.lines).toContain("1 of 2 rows: --limit 2 shows more");
  expect(ambiguous.lines.join(" ")).toBe(
    "svc: 2 ids of collection 'notes' begin with 'dep': 'deploy' and 'depot'; type more of the id",
  );
  expect(JSON.parse(json.out)).toMatchObject({ total: 3, rows: [{ id: "pager" }, { id: "depot" }, { text }] });
  expect(none.err).toBe("svc: collection 'notes' has no row 'none'\n");
});

test("an edit saves text and metadata once, or nothing; Ctrl-C is the editor's, and ends it", async () => {
  const stop = { EDITOR: "f() { echo started; exec sleep 30; }; f" };
  const [same, stopped, saved] = await Promise.all([
    edit("deploy", "true"),
    terminal(["mem", "edit", "notes", "pager"], stop, 80, [/started/, "\x03"]),
    edit("depo", 'printf -- "---\\nscope: ops\\nn: 1\\n---\\nblack tea\\n" > "$1"'),
  ]);
  expect(same).toEqual({ code: 0, lines: ["nothing changed: nothing was saved"] });
  expect(stopped.code).toBe(130);
  expect(saved.lines).toEqual(["depo is the beginning of one id: depot", "saved row depot of notes"]);
  expect(await rowOf("depot")).toMatchObject({ text: "black tea", metadata: { scope: "ops", n: 1 } });
  expect(drafts()).toEqual([]);
});

test("what was typed is kept where another process was faster, or a credential is refused", async () => {
  const typed = 'echo typed >> "$1"';
  const token = `ghp_${"a1f07c3be9d24865a1c9"}${"f3b8e2d7064c5a1b"}`;
  const [changed, gone, refused] = await Promise.all([
    edit("pager", `${typed}; ${SVC} mem update notes theirs --id pager`),
    edit("depot", `${typed}; ${SVC} mem delete notes depot`),
    edit("deploy", `${typed}; echo ${token} >> "$1"`, "--secrets", "refuse"),
  ]);
  expect(changed.lines.join(" ")).toContain("row 'pager' of collection 'notes' was changed by another process");
  expect(gone.lines.join(" ")).toContain("row 'depot' of collection 'notes' was deleted while you edited it");
  expect(refused.lines.join(" ")).toContain("holds a credential");
  for (const { code, lines } of [changed, gone, refused]) {
    expect(code).toBe(1);
    expect(keptBy(lines)).toContain("typed");
  }
  expect(await rowOf("pager")).toMatchObject({ text: "theirs" });
  const masked = await edit("deploy", `echo ${token} >> "$1"`, "--secrets", "mask");
  expect(masked.lines).toEqual(["saved row deploy of notes", "1 credential masked"]);
});

test("a delete of what matches is counted and asked for, and needs --yes elsewhere", async () => {
  const texts = ["one", "two", "three"];
  await svc(env, [
    "mem",
    "add",
    "old",
    ...texts,
    "--ids",
    "a1,a2,b-one",
    "--metadata",
    '[{"scope":"x"},{"scope":"x"},{}]',
  ]);
  const remove = (...words: string[]) => svc(env, ["mem", "delete", "old", ...words]);
  const [unasked, dry, part, ...typed] = await Promise.all([
    remove("--where", "scope=x"),
    remove("--where", "scope=x", "--dry-run"),
    remove("a"),
    terminal(["mem", "delete", "old", "a"]),
    terminal(["mem", "update", "old", "new", "--id", "a"]),
  ]);
  expect([unasked.code, unasked.err.split(";")[0]]).toEqual([
    2,
    "svc: this deletes all rows of old that match: say so with --yes, or --dry-run",
  ]);
  expect(dry.out).toBe("would delete 2 rows from old\n");
  // A script deletes the ids that it names; a person sees which row is meant.
  expect(part.out).toBe("deleted 0 rows from old\n");
  for (const { lines } of typed) expect(lines[0]).toContain("2 ids of collection 'old' begin with 'a'");
  const words = ["mem", "delete", "old", "--where", "scope=x"];
  const asked = /anything else deletes nothing\r\n/;
  const no = await terminal(words, {}, 80, [asked, "\n"]);
  expect(no).toMatchObject({ code: 1 });
  expect(no.lines[0]).toBe("2 rows of old:");
  expect(no.lines.at(-1)).toBe("nothing was deleted");
  const yes = await terminal(words, {}, 80, [asked, "y\n"]);
  expect(yes.lines.slice(-2)).toEqual(["deleted 2 rows from old", "to put them back: svc mem undo old"]);
  expect((await terminal(["mem", "delete", "old", "b"])).lines.slice(0, 2)).toEqual([
    "b is the beginning of one id: b-one",
    "deleted 1 row from old",
  ]);
});
