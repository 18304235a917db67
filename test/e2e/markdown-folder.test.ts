/** `svc mem export --markdown` and `svc mem import` of its folder, with the executable: edits there and here, and bad folders. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
let home: string;
let counter = 0;

beforeAll(async () => {
  env = await signedIn();
  home = env.HOME!;
});

/** A collection in a memory of its own, and its folder. */
class Place {
  readonly memory = join(home, `memory-${counter++}`);
  readonly folder = join(home, `folder-${counter++}`);

  async mem(words: string[], input = ""): Promise<{ code: number; out: string; err: string }> {
    return svc(env, ["mem", ...words, "--path", this.memory], input);
  }

  async done(words: string[], input = ""): Promise<{ out: string; err: string }> {
    const { code, out, err } = await this.mem(words, input);
    if (code !== 0) throw new Error(`svc mem ${words.join(" ")} ended with ${code}: ${err}`);
    return { out, err };
  }

  /** A place with these rows, exported. */
  static async of(rows: readonly object[]): Promise<Place> {
    const place = new Place();
    await place.done(["import", "notes"], rows.map((row) => JSON.stringify(row)).join("\n"));
    await place.export();
    return place;
  }

  async export(...flags: string[]) {
    return JSON.parse((await this.done(["export", "notes", "--markdown", this.folder, "--json", ...flags])).out);
  }

  async import(...flags: string[]) {
    const { code, out, err } = await this.mem(["import", "notes", this.folder, "--json", ...flags]);
    return { code, err, ...(out === "" ? {} : JSON.parse(out)) };
  }

  /** Rows by id, without times. */
  async rows(collection = "notes"): Promise<Record<string, { text: string; metadata: unknown }>> {
    const { out } = await this.done(["export", collection, "--no-times"]);
    const rows = out
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    return Object.fromEntries(rows.map(({ id, ...rest }) => [id, rest]));
  }

  /** The files of rows, below the folder. */
  files(): string[] {
    return [...new Bun.Glob("**/*.md").scanSync({ cwd: this.folder })].sort();
  }

  /** The file of a row. */
  file(id: string): string {
    const found = this.files().find((path) => this.read(path).includes(`\nid: ${id}\n`));
    if (!found) throw new Error(`no file has the id ${id}`);
    return found;
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  write(path: string, content: string | Uint8Array): void {
    writeFileSync(join(this.folder, path), content);
  }

  /** Changes the file of a row. */
  edit(id: string, change: (content: string) => string): void {
    const path = this.file(id);
    this.write(path, change(this.read(path)));
  }
}

/** Whether this user may mount folders, which stops root from writing as well. */
const canMount = Bun.which("unshare") !== null && Bun.spawnSync(["unshare", "-m", "true"]).success;

/** The exit code and the output of a command, which can read a folder and not write it. */
function readOnly(folder: string, command: readonly string[]) {
  const script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"';
  const { exitCode, stdout } = Bun.spawnSync(["unshare", "-m", "sh", "-c", script, "sh", folder, ...command], { env });
  return [exitCode, stdout.toString()];
}

const THREE = [
  { id: "deploy", text: "We deploy blue-green.", metadata: { team: "ops", tags: ["a", "b"] }, created: 5, updated: 7 },
  { id: "tea", text: "Green tea: 75 degrees.\n" },
  { id: "pager", text: "The pager rotates on Tuesdays.", metadata: { scope: "on call" } },
];

describe("there and back", () => {
  test("files that a person can read, by the first words of the text, in folders by partition", async () => {
    const place = await Place.of(THREE);
    const names = place.files();
    expect(names).toEqual([
      expect.stringMatching(/^green-tea-75-degrees-[0-9a-f]{8}\.md$/),
      expect.stringMatching(/^on-call\/the-pager-rotates-on-tuesdays-[0-9a-f]{8}\.md$/),
      expect.stringMatching(/^we-deploy-blue-green-[0-9a-f]{8}\.md$/),
    ]);
    expect(place.read(names[2]!)).toMatch(
      /^---\nid: deploy\ncreated: 1970-01-01T00:00:00\.005Z\nupdated: 1970-01-01T00:00:00\.007Z\nmetadata:\n {2}team: ops\n {2}tags: \["a","b"\]\n {2}scope: default\nsvc: \S+\n---\nWe deploy blue-green\.\n$/,
    );
    expect(readdirSync(place.folder)).toContain("svc-export.jsonl");
    expect(statSync(join(place.folder, names[0]!)).mode & 0o777).toBe(0o600);
  });

  test("hostile rows come back to the byte, in another memory", async () => {
    const long = "x".repeat(500);
    const texts = [
      "---\nid: other\n---\n",
      "---",
      "",
      "\n",
      "\n\n\n",
      "a\r\nb\r\n",
      "a\r",
      "\r",
      "\ufeffbom",
      "\0nul\0",
      "\u001b[31mred\u009b1A\u202e\u2028\u0085",
      "  spaces  ",
      "# Heading\n\n- [ ] list\n\n```\n---\n```",
      "😀".repeat(100),
      "../../etc/passwd",
      "CON",
      ".hidden",
      "e\u0301 decomposed",
      long.repeat(2000),
    ];
    const rows = texts.map((text, i) => ({ id: `t${i}`, text, metadata: i % 2 === 0 ? null : { i } }));
    const ids = [
      "../up",
      "a/b",
      "Case",
      "case",
      "CASE",
      "null",
      "123",
      "~",
      "- x",
      "a: b",
      "#",
      "é",
      "e\u0301",
      "\u202ex\u001b",
      "y".repeat(512),
    ];
    const named = ids.map((id) => ({ id, text: "the same text" }));
    const values: Record<string, unknown>[] = [
      { "<<": 1 },
      { __proto__2: null, "": "" },
      { scope: "../x", a: "yes", b: "no", c: "0x10", d: "1e3", e: "2026-01-01", f: "null", g: "" },
      { big: 2 ** 52, small: -0.5, whole: 12345678901234, deep: [{ x: [null, true, "a\nb"] }] },
      { "key: with": "v: w", "#": "#", "- ": "- ", "'": '"', "\u202e": "\u2028" },
      { id: "own", svc: "own", metadata: { metadata: 1 }, created: 1 },
      { scope: "..", x: "multi\n---\nline" },
      { scope: "Ops" },
      { scope: "ops" },
    ];
    const tagged = values.map((metadata, i) => ({ id: `m${i}`, text: "tagged", metadata }));
    const place = await Place.of([...rows, ...named, ...tagged]);
    const before = await place.rows();
    expect(Object.keys(before)).toHaveLength(rows.length + ids.length + values.length);
    expect(await place.import()).toMatchObject({ code: 0, err: "", inserted: 0, replaced: 0 });
    expect(await place.export()).toMatchObject({
      written: 0,
      removed: 0,
      edited: [],
      unchanged: rows.length + ids.length + values.length,
    });
    // The folder alone, in a memory without the collection.
    const other = new Place();
    const { code, err } = await other.mem(["import", "notes", place.folder]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(await other.rows()).toEqual(before);
    const times = async (of: Place) => (await of.done(["export", "notes", "--no-metadata"])).out;
    expect(await times(other)).not.toBe("");
    const byId = (lines: string) => lines.split("\n").sort();
    expect(byId(await times(other))).toEqual(byId(await times(place)));
    for (const path of place.files()) expect(path.split("/").every((part) => !part.startsWith("."))).toBe(true);
    expect(new Set(place.files().map((path) => path.toLowerCase())).size).toBe(place.files().length);
  }, 120_000);

  test("edits, new files and renamed ones come back; what was not edited is left alone", async () => {
    const place = await Place.of(THREE);
    place.edit("deploy", (content) =>
      content.replace("blue-green", "by hand").replace("team: ops", "team: web\n  new: true"),
    );
    mkdirSync(join(place.folder, "mine"));
    renameSync(join(place.folder, place.file("tea")), join(place.folder, "mine/tea.md"));
    place.write("mine/coffee.md", "Coffee: 92 degrees.\n");
    place.write("mine/water.md", "---\nkind: decision\n---\nWater boils.\r\n");
    const plan = await place.mem(["import", "notes", place.folder, "--dry-run"]);
    expect(plan.out).toMatch(
      /^update deploy\nadd \S+\nadd \S+\nwould import 3 rows into notes, 2 were there already\n$/,
    );
    expect(await place.import()).toMatchObject({
      code: 0,
      err: "",
      inserted: 2,
      replaced: 1,
      unchanged: 2,
      beside: [],
    });
    const rows = await place.rows();
    expect(rows.deploy).toEqual({
      text: "We deploy by hand.",
      metadata: { team: "web", new: true, tags: ["a", "b"], scope: "default" },
    });
    const added = Object.values(rows).filter(({ text }) => /Coffee|Water/.test(text));
    expect(added).toEqual([
      { text: "Coffee: 92 degrees." } as never,
      { text: "Water boils.\r", metadata: { kind: "decision", scope: "default" } },
    ]);
    // The new files have ids, and their text is as it was.
    expect(place.read("mine/coffee.md")).toMatch(/^---\nid: \S+\nsvc: \S+\n---\nCoffee: 92 degrees\.\n$/);
    expect(place.read("mine/water.md")).toMatch(
      /^---\nid: \S+\nkind: decision\nsvc: \S+\nscope: default\n---\nWater boils\.\r\n$/,
    );
    expect(await place.import()).toMatchObject({ inserted: 0, replaced: 0, unchanged: 5 });
    place.write("mine/empty.md", " \n");
    expect((await place.import()).err).toBe("1 left out, without text: 'mine/empty.md'\n");
    unlinkSync(join(place.folder, "mine/empty.md"));
    // A second edit is one of the row that the first one made.
    place.edit("deploy", (content) => content.replace("by hand", "by a script"));
    expect(await place.import()).toMatchObject({ inserted: 0, replaced: 1, beside: [] });
    expect((await place.rows()).deploy!.text).toBe("We deploy by a script.");
    expect(await place.export()).toMatchObject({ written: 0, unchanged: 5, removed: 0, edited: [] });
    expect(place.files()).toContain("mine/tea.md");
  });

  test("what editors do by themselves is not an edit: a mark at the beginning, a last line break, other YAML", async () => {
    const place = await Place.of(THREE);
    place.edit(
      "deploy",
      (content) => `\ufeff${content.replace('tags: ["a","b"]', "tags:\n    - a\n    - b").replace(/\n$/, "")}`,
    );
    place.edit("pager", (content) => content.replace("scope: on call", "scope: 'on call'  # changed"));
    expect(await place.import()).toMatchObject({ inserted: 0, replaced: 0, unchanged: 3 });
  });
});

describe("changes on both sides", () => {
  test("a row that was changed meanwhile stays, and the folder's version is added beside it and named", async () => {
    const place = await Place.of(THREE);
    await place.done(["update", "notes", "We deploy on Fridays.", "--id", "deploy"]);
    place.edit("deploy", (content) => content.replace("blue-green", "never"));
    const path = place.file("deploy");
    const { err, beside, inserted, replaced } = await place.import();
    expect([inserted, replaced]).toEqual([1, 0]);
    expect(beside).toEqual([{ file: path, id: "deploy", added: expect.stringMatching(/^deploy~[0-9a-f]{12}$/) }]);
    expect(err).toBe(
      `row deploy was changed since the export: what '${path}' has is added beside it, as ${beside[0].added}\n`,
    );
    const rows = await place.rows();
    expect(rows.deploy!.text).toBe("We deploy on Fridays.");
    expect(rows[beside[0].added]!.text).toBe("We deploy never.");
    // The file is that of the row beside; the other one gets a file of its own.
    expect(await place.import()).toMatchObject({ inserted: 0, replaced: 0, beside: [] });
    expect(await place.export()).toMatchObject({ written: 1, edited: [] });
    expect(place.files()).toHaveLength(4);
  });

  test("the same edit on both sides changes nothing", async () => {
    const place = await Place.of(THREE);
    await place.done(["update", "notes", "We deploy never.", "--id", "deploy"]);
    place.edit("deploy", (content) => content.replace("blue-green", "never"));
    expect(await place.import()).toMatchObject({ inserted: 0, replaced: 0, unchanged: 3, beside: [] });
    expect(await place.export()).toMatchObject({ written: 0, unchanged: 3, edited: [] });
  });

  test.skipIf(!canMount)(
    "a folder that cannot be written loses nothing, and adds nothing twice (needs to mount)",
    async () => {
      const place = await Place.of(THREE);
      await place.done(["update", "notes", "We deploy on Fridays.", "--id", "deploy"]);
      place.edit("deploy", (content) => content.replace("blue-green", "never"));
      place.edit("tea", (content) => content.replace("75 degrees", "80 degrees"));
      place.write("new.md", "a new row");
      const imported = () =>
        readOnly(place.folder, [SVC, "mem", "import", "notes", place.folder, "--path", place.memory]);
      expect(imported()).toEqual([0, "imported 3 rows into notes, 1 were there already\n"]);
      expect(imported()).toEqual([0, "imported 0 rows into notes, 4 were there already\n"]);
      expect(Object.keys(await place.rows())).toHaveLength(5);
    },
  );

  test("an export replaces no file that was edited, and removes none that is not its own or was edited", async () => {
    const place = await Place.of(THREE);
    place.edit("deploy", (content) => content.replace("blue-green", "never"));
    place.edit("pager", (content) => content.replace("Tuesdays", "Mondays"));
    place.write("own.md", "my own");
    place.write("notes.txt", "not a row");
    await place.done(["update", "notes", "We deploy on Fridays.", "--id", "deploy"]);
    await place.done(["update", "notes", "Green tea: 80 degrees.", "--id", "tea"]);
    await place.done(["delete", "notes", "pager"]);
    await place.done(["add", "notes", "Soup on Thursdays.", "--id", "soup"]);
    const [deploy, pager, tea] = ["deploy", "pager", "tea"].map((id) => place.file(id)) as [string, string, string];
    expect(await place.export()).toMatchObject({
      exported: 3,
      written: 2,
      unchanged: 0,
      removed: 0,
      edited: [deploy, pager],
    });
    expect(place.read(deploy)).toContain("never");
    expect(place.read(pager)).toContain("Mondays");
    expect(place.read(tea)).toContain("80 degrees");
    expect([place.read("own.md"), place.read("notes.txt")]).toEqual(["my own", "not a row"]);
    // An unedited file of a deleted row goes.
    await place.done(["delete", "notes", "soup"]);
    expect(await place.export()).toMatchObject({ removed: 1 });
    // A part of the rows says nothing of the others.
    expect(await place.export("--newest", "1")).toMatchObject({ exported: 1, removed: 0 });
    expect(place.files()).toHaveLength(4);
  });

  test("rows whose files are gone stay, or are deleted if they were not changed; deleted rows stay deleted", async () => {
    const place = await Place.of(THREE);
    await place.done(["update", "notes", "Green tea: 80 degrees.", "--id", "tea"]);
    for (const id of ["tea", "pager"]) unlinkSync(join(place.folder, place.file(id)));
    const without = await place.import();
    expect(without).toMatchObject({ code: 0, deleted: 0, missing: 2 });
    expect(without.err).toContain("2 rows have no file any more and stay: --delete deletes");
    expect(await place.import("--delete", "--dry-run")).toMatchObject({ deleted: 1, missing: 1 });
    expect(Object.keys(await place.rows())).toHaveLength(3);
    expect(await place.import("--delete")).toMatchObject({ deleted: 1, missing: 1 });
    expect(Object.keys(await place.rows()).sort()).toEqual(["deploy", "tea"]);
    await place.done(["delete", "notes", "deploy"]);
    const gone = await place.import();
    expect(gone).toMatchObject({ gone: 1, inserted: 0 });
    expect(gone.err).toContain("1 unedited file of rows that were deleted since the export: --restore adds them again");
    expect(await place.import("--restore")).toMatchObject({ inserted: 1 });
    expect((await place.rows()).deploy!.text).toBe("We deploy blue-green.");
  });
});

describe("bad folders", () => {
  const NONSENSE: [string, (content: string) => string | Uint8Array, string][] = [
    [
      "front matter that is not YAML",
      (content) => content.replace("id: deploy", "id: [deploy"),
      "its front matter is not YAML",
    ],
    ["front matter without an end", (content) => content.replace("\n---\nWe", "\nWe"), "its front matter has no end"],
    [
      "a key twice",
      (content) => content.replace("  team: ops", "  team: ops\n  team: web"),
      "has the key 'team' twice",
    ],
    [
      "metadata that is a word",
      (content) => content.replace(/metadata:\n( {2}.*\n)+/, "metadata: word\n"),
      "is not a list of",
    ],
    ["an id that is too long", (content) => content.replace("id: deploy", `id: ${"x".repeat(600)}`), "its id"],
    ["an id that is a list", (content) => content.replace("id: deploy", "id: [a]"), "its id must be"],
    ["an empty text", (content) => content.replace(/---\nWe[\s\S]*/, "---\n"), "its text is empty: remove the file"],
    [
      "bytes that are not UTF-8",
      (content) => Buffer.concat([Buffer.from(content), Buffer.from([0xff])]),
      "is not UTF-8 text",
    ],
    [
      "metadata of more than a row has",
      (content) => content.replace("team: ops", `team: "${"x".repeat(70_000)}"`),
      "its metadata has",
    ],
    ["another letter of Unicode alone", (content) => content.replace("id: deploy", 'id: "\\ud800"'), ""],
  ];
  test.each(NONSENSE)("%s is named, and nothing is imported; or only the others", async (_, damage, message) => {
    const place = await Place.of(THREE);
    place.edit("tea", (content) => content.replace("75 degrees", "80 degrees"));
    const path = place.file("deploy");
    place.write(path, damage(place.read(path)));
    const before = await place.rows();
    const stopped = await place.import();
    expect(stopped.code).toBe(1);
    expect(stopped.err).toContain(path);
    expect(stopped.err).toContain(message);
    expect(await place.rows()).toEqual(before);
    const lenient = await place.import("--on-error", "skip");
    expect(lenient).toMatchObject({ code: 1, bad: 1, replaced: 1 });
    const refused = await place.import("--delete", "--on-error", "skip");
    if (message !== "its text is empty: remove the file") expect(refused.code).toBe(1);
    expect(Object.keys(await place.rows())).toHaveLength(3);
    // An export leaves it as it is.
    const damaged = readFileSync(join(place.folder, path));
    await place.export();
    expect(readFileSync(join(place.folder, path))).toEqual(damaged);
  });

  test("two files of one id", async () => {
    const place = await Place.of(THREE);
    const path = place.file("deploy");
    place.write("copy.md", place.read(path).replace("blue-green", "twice"));
    const { code, err } = await place.import();
    expect(code).toBe(1);
    expect(err).toContain(`'copy.md' and '${path}' have the same id 'deploy': remove one of them, or its line 'id'`);
    expect(await place.export()).toMatchObject({ removed: 0 });
    expect(place.read("copy.md")).toContain("twice");
    place.write("copy.md", place.read("copy.md").replace("id: deploy\n", ""));
    expect(await place.import()).toMatchObject({ code: 0, inserted: 1, replaced: 0 });
  });

  test("links are not followed, neither to read nor to write", async () => {
    const place = await Place.of(THREE);
    const outside = join(home, `outside-${counter++}`);
    mkdirSync(outside);
    writeFileSync(join(outside, "secret.md"), "---\nid: deploy\n---\nsecret");
    symlinkSync(join(outside, "secret.md"), join(place.folder, "link.md"));
    rmSync(join(place.folder, "on-call"), { recursive: true });
    symlinkSync(outside, join(place.folder, "on-call"));
    const found = await place.import();
    expect(found).toMatchObject({ code: 0, inserted: 0, replaced: 0, missing: 1 });
    expect(found.err).toContain("2 left out, a link: 'link.md'; 'on-call'");
    expect((await place.import("--delete")).err).toContain(
      "nothing was imported, as --delete needs a folder whose files",
    );
    const { code, err } = await place.mem(["export", "notes", "--markdown", place.folder]);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("'on-call' is not a folder, and rows are to be written into one"),
    ]);
    expect(readdirSync(outside)).toEqual(["secret.md"]);
  });

  test("a folder that is gone, is a file, or lost its list", async () => {
    const place = await Place.of(THREE);
    const list = join(place.folder, "svc-export.jsonl");
    writeFileSync(list, `${readFileSync(list, "utf8").slice(0, -20)}`);
    expect((await place.import()).err).toContain("'svc-export.jsonl', line 4: not as svc wrote it");
    unlinkSync(list);
    place.edit("deploy", (content) => content.replace("blue-green", "never"));
    expect(await place.import()).toMatchObject({ code: 0, replaced: 1, unchanged: 2 });
    expect(readFileSync(list, "utf8").trimEnd().split("\n")).toHaveLength(4);
    rmSync(place.folder, { recursive: true });
    expect((await place.import()).err).toContain("there is no such file");
    writeFileSync(place.folder, "");
    const { err } = await place.mem(["export", "notes", "--markdown", place.folder]);
    expect(err).toContain("is a file, not a folder: name another one");
  });

  test("flags that are not for it, and collections that cannot be edited", async () => {
    const place = await Place.of(THREE);
    for (const [words, message] of [
      [["import", "notes", place.folder, "--split", "headings"], "--split is for markdown"],
      [["import", "notes", place.folder, "--skip-duplicates"], "--skip-duplicates is not for a folder"],
      [["import", "notes", "--delete"], "--delete is for a folder that"],
      [["export", "notes", "x.jsonl", "--markdown", place.folder], "FILE is for an export as JSON lines"],
      [["export", "notes", "--no-times", "--markdown", place.folder], "--no-times is for an export as JSON lines"],
    ] as const) {
      const { code, err } = await place.mem([...words]);
      expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    }
    await place.done(["import", "raw", "--from", "jsonl"], '{"id":"a","vector":[1,0]}');
    const { code, err } = await place.mem(["export", "raw", "--markdown", `${place.folder}-raw`]);
    expect([code, err]).toEqual([1, expect.stringContaining("takes vectors that a program makes")]);
  });

  test("a file name that is not UTF-8, and a path that is too long, are named and left", async () => {
    const place = await Place.of(THREE);
    const name = Buffer.concat([Buffer.from(`${place.folder}/`), Buffer.from([0xff]), Buffer.from(".md")]);
    writeFileSync(name, "not UTF-8");
    const found = await place.import();
    expect(found).toMatchObject({ code: 0, inserted: 0 });
    expect(found.err).toContain("a name that is not UTF-8");
    expect(await place.export()).toMatchObject({ written: 0, removed: 0 });
  });
});

test("rows of 16 MiB, and credentials where they are refused or masked", async () => {
  const place = await Place.of([{ id: "large", text: "large ".repeat(2_700_000) }, ...THREE]);
  place.edit("large", (content) => `${content.slice(0, -20)}!\n`);
  const token = `ghp_${crypto.getRandomValues(Buffer.alloc(18)).toString("hex")}`;
  place.edit("tea", (content) => content.replace("75 degrees", token));
  const refused = await place.import("--secrets", "refuse");
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(place.file("tea"));
  expect(await place.import("--secrets", "mask")).toMatchObject({ replaced: 2, masked: 1 });
  expect((await place.rows()).large!.text).toEndWith("!");
  expect((await place.rows()).tea!.text).not.toContain(token);
  expect(await place.import("--secrets", "mask")).toMatchObject({ inserted: 0, replaced: 0, beside: [] });
}, 120_000);

test("an export or an import that is killed is repeated to its end, and leaves no files of its own", async () => {
  const rows = Array.from({ length: 800 }, (_, i) => ({
    id: `r${i}`,
    text: `note ${i}`,
    metadata: { scope: `s${i % 3}` },
  }));
  const place = new Place();
  await place.done(["import", "notes"], rows.map((row) => JSON.stringify(row)).join("\n"));
  const killed = async (words: string[], when: () => boolean) => {
    const child = Bun.spawn([SVC, "mem", ...words, "--path", place.memory], {
      env,
      stderr: "ignore",
      stdout: "ignore",
    });
    while (!when() && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
  };
  const count = () => (existsSync(place.folder) ? place.files().length : 0);
  await killed(["export", "notes", "--markdown", place.folder], () => count() > 100);
  const before = count();
  expect(await place.export()).toMatchObject({ exported: 800, removed: 0, edited: [] });
  expect(before).toBeLessThanOrEqual(800);
  expect(count()).toBe(800);
  for (const path of place.files()) place.write(path, place.read(path).replace("note ", "edited note "));
  // Once one of the files has the state of its new row.
  const [first = ""] = place.files();
  const edited = place.read(first);
  await killed(["import", "notes", place.folder], () => place.read(first) !== edited);
  const { code } = await place.import();
  expect(code).toBe(0);
  expect(Object.values(await place.rows()).every(({ text }) => text.startsWith("edited"))).toBe(true);
  expect(Object.keys(await place.rows())).toHaveLength(800);
  const left = [...new Bun.Glob("**/.*").scanSync({ cwd: place.folder, dot: true })].filter((name) =>
    name.endsWith(".tmp"),
  );
  await place.export();
  expect(left.length).toBeLessThanOrEqual(1);
  expect([...new Bun.Glob("**/*.tmp").scanSync({ cwd: place.folder, dot: true })]).toEqual([]);
}, 120_000);
