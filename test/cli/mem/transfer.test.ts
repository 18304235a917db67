/** `svc mem export` and `svc mem import`. */
import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FAKE_GATE, type RunOptions, start, svc, temporaryFolder } from "../support.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", ...words], { ...options, preload: [FAKE_GATE] });
const lines = (rows: unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${i}`, text: `text ${i}`, metadata: { i } }));

describe("export", () => {
  test("one line a row, in order, over several pages; a row deleted meanwhile is left out", async () => {
    const { code, stdout, stderr } = await fake(["export", "notes"], {
      env: { FAKE_IDS: "many:450" },
    });
    expect(code).toBe(0);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows).toHaveLength(449);
    expect(rows[0]).toEqual({ id: "id-0", metadata: { scope: "x" }, text: "text of id-0", created: 5, updated: 7 });
    expect(rows[1].id).toBe("id-2");
    expect(rows.at(-1).id).toBe("id-449");
    expect(stderr).toBe("exported 449 rows of notes\n");
  });

  const IDS = { FAKE_IDS: "many:3" };

  test("without metadata and times, with vectors and what is known of the collection", async () => {
    const bare = await fake(["export", "notes", "--no-metadata", "--no-times"], { env: IDS });
    expect(bare.stdout).toBe('{"id":"id-0","text":"text of id-0"}\n{"id":"id-2","text":"text of id-2"}\n');
    const { stdout } = await fake(["export", "notes", "--with-vectors", "--no-times"], { env: IDS });
    const [head, first] = stdout.split("\n").map((line) => line && JSON.parse(line));
    expect(head).toMatchObject({ svc_export: 1, collection: "notes", dim: 2, embedder: { model_id: "x" } });
    expect(first).toEqual({
      ...{ id: "id-0", metadata: { scope: "x" }, text: "text of id-0" },
      vector: { f32: "AAAAPwAAgL8=" },
    });
    const alone = await fake(["export", "notes", "--with-vectors", "--no-schema"], { env: IDS });
    expect(alone.stdout).toStartWith('{"id":"id-0"');
  });

  test("a file is there whole, readable by its owner, and is not replaced unasked", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "notes.jsonl");
    const { code, stdout } = await fake(["export", "notes", file], { env: IDS });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `exported 2 rows of notes to ${file} (1 KB)\n` });
    expect(readdirSync(folder.path)).toEqual(["notes.jsonl"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const written = readFileSync(file, "utf8");
    expect(written.split("\n").map((line) => line.slice(0, 12))).toEqual([
      '{"svc_export',
      '{"id":"id-0"',
      '{"id":"id-2"',
      "",
    ]);
    const again = await fake(["export", "notes", file], { env: IDS });
    expect(again).toEqual({
      ...{ code: 1, stdout: "" },
      stderr: `svc: '${file}' exists already: name another file, or replace it with --force\n`,
    });
    writeFileSync(file, "other");
    const forced = await fake(["export", "notes", file, "--force", "--json"], { env: IDS });
    expect(JSON.parse(forced.stdout)).toEqual({ exported: 2, collection: "notes", file, bytes: written.length });
    expect(readFileSync(file, "utf8")).toBe(written);
    expect((await fake(["export", "notes", folder.path], { env: IDS })).stderr).toContain("is a folder");
    expect((await fake(["export", "notes", "--resume"], { env: IDS })).code).toBe(2);
  });
});

describe("import", () => {
  const env = { FAKE_IMPORT_ROWS: "log" };

  /** The calls that the fake store got. */
  const callsOf = (stderr: string) =>
    [...stderr.matchAll(/^rows (.*)$/gm)].map(([, call]) => JSON.parse(call!) as Record<string, unknown>);

  test("takes the lines of an export, with their times", async () => {
    const stdin = '{"id":"a","metadata":{"n":1},"text":"one","created":5,"updated":7}\n';
    const { code, stderr } = await fake(["import", "notes"], { stdin, env });
    const first = { id: "a", text: "one", metadata: { n: 1 }, created: 5, updated: 7 };
    expect({ code, calls: callsOf(stderr) }).toEqual({ code: 0, calls: [{ rows: 1, ids: ["a"], first, times: true }] });
  });

  test("the first line of an export says what its collection was like; a vector comes in either form", async () => {
    const packed = '{"id":"a","text":"one","vector":{"f32":"AAAAPwAAgL8="}}';
    const head = '{"svc_export":1,"dim":2,"partition_by":"team","filter_columns":["k"],"embedder":null,"later":1}';
    for (const row of [packed, '{"id":"a","text":"one","vector":[0.5,-1]}']) {
      const { code, stderr } = await fake(["import", "notes", "--no-times"], { stdin: `${head}\n${row}\n`, env });
      expect(code).toBe(0);
      const [{ first, source, times }] = callsOf(stderr) as [{ first: object; source: object; times: boolean }];
      expect([first, times]).toMatchObject([{ id: "a", vector: { 0: 0.5, 1: -1 } }, false]);
      expect(source).toEqual({ dim: 2, partition_by: "team", filter_columns: ["k"], embedder: null });
    }
  });

  const BAD_HEADS: [string, string][] = [
    ['{"svc_export":2}', "svc_export is 2, and this program reads 1: use a newer one"],
    ['{"svc_export":1,"dim":0}', "dim must be"],
    ['{"svc_export":1,"embedder":{"provider":7}}', "embedder.provider must be a string, got 7"],
  ];
  test.each(BAD_HEADS)("a first line that is not right is refused: %s", async (head, message) => {
    const { code, stderr } = await fake(["import", "notes"], { stdin: `${head}\n`, env });
    expect(code).toBe(1);
    expect(stderr).toContain(`stdin, line 1: ${message}`);
  });

  test("what was imported is not kept in memory", async () => {
    using folder = temporaryFolder();
    const blank = new Uint8Array(1024 * 1024).fill(0x20);
    blank[blank.length - 1] = 0x0a;
    const peak = async (megabytes: number) => {
      const file = join(folder.path, `${megabytes}.jsonl`);
      for (let i = 0; i < megabytes; i++) appendFileSync(file, blank);
      const child = start(["mem", "import", "notes", file], { preload: [FAKE_GATE], env });
      expect(await child.exited).toBe(0);
      return child.resourceUsage()!.maxRSS;
    };
    const few = await peak(1);
    expect(((await peak(200)) - few) / 1024 / 1024).toBeLessThan(80);
  }, 240_000);

  test("nor is an export of chats, which is one document", async () => {
    using folder = temporaryFolder();
    const message = { uuid: "m", sender: "human", text: "x ".repeat(500_000), created_at: "2026-01-01T00:00:00Z" };
    const chat = JSON.stringify({ uuid: "c", name: "n", chat_messages: [message] });
    const peak = async (chats: number) => {
      const file = join(folder.path, `${chats}.json`);
      for (let i = 0; i < chats; i++) appendFileSync(file, `${i === 0 ? "[" : ","}${chat}`);
      appendFileSync(file, "]");
      const child = start(["mem", "import", "notes", file], { preload: [FAKE_GATE], env });
      expect(await child.exited).toBe(0);
      return child.resourceUsage()!.maxRSS;
    };
    // So many fill what is held at a time: a batch, the one before it, and what is not collected yet.
    const few = await peak(100);
    expect(((await peak(500)) - few) / 1024 / 1024).toBeLessThan(250);
  }, 240_000);

  test("batches of 5,000, ids and metadata as they are", async () => {
    const { code, stdout, stderr } = await fake(["import", "notes", "--json"], { stdin: lines(numbered(10_100)), env });
    expect(code).toBe(0);
    const counts = { inserted: 10_100, replaced: 0, unchanged: 0, bad: 0 };
    expect(JSON.parse(stdout)).toEqual({ imported: 10_100, ...counts, collection: "notes" });
    const calls = callsOf(stderr);
    expect(calls.map(({ rows }) => rows)).toEqual([5000, 5000, 100]);
    expect(calls[2]).toMatchObject({ ids: ["10000", "10001"], first: { metadata: { i: 10_000 } } });
  });

  test("a file; empty lines, a missing last line break and a missing id are fine", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "rows.jsonl");
    await Bun.write(file, '\ufeff{"text":"a"}\n\n{"text":"b","id":null,"metadata":null}');
    const { code, stdout, stderr } = await fake(["import", "notes", file], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "imported 2 rows into notes\n" });
    const ids = callsOf(stderr)[0]!.ids as string[];
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const again = await fake(["import", "notes", file], { env });
    expect(callsOf(again.stderr)[0]!.ids).toEqual(ids);
  });

  test("an integer is an id by its decimal string", async () => {
    const stdin = '{"text":"a","id":7}\n{"text":"b","id":-0}\n';
    const { code, stderr } = await fake(["import", "notes"], { stdin, env });
    expect({ code, ids: callsOf(stderr)[0]!.ids }).toEqual({ code: 0, ids: ["7", "0"] });
  });

  const BAD: [string, string][] = [
    ["{", "not JSON in UTF-8"],
    ["[1]", "not an object"],
    ['{"id":"x"}', "text must be a string, got nothing"],
    ['{"text":"x","id":1.5}', "id must be a string, or an integer that stands for one, got 1.5"],
    ['{"text":"x","id":true}', "id must be a string, or an integer that stands for one, got true"],
    ['{"text":"x","id":{}}', "id must be a string, or an integer that stands for one, got an object"],
    [
      '{"text":"x","id":9007199254740993}',
      "id is an integer beyond 2^53 - 1, which arrived as 9007199254740992: send it as a string",
    ],
    ['{"text":"x","created":"today"}', "created is the string 'today', which is not a time"],
    ['{"text":"x","vector":{"f32":"AAAA"}}', "vector.f32 holds 3 bytes, which is not a multiple of 4"],
    ['{"text":"x","vector":{"f32":"AADAfw=="}}', "vector[0] is NaN or infinite"],
    ['{"text":"x","vector":{}}', "vector.f32 must be a string of base64, got nothing"],
    ['{"text":"x","metadata":[1]}', "metadata must be an object or null, got an array"],
    [
      '{"text":"x","score":1}',
      "unknown field 'score', only id, text, metadata, created, updated, vector and meaning are kept",
    ],
    [`{"text":"x","metadata":{"a":${"[".repeat(200)}${"]".repeat(200)}}}`, "nested too deeply"],
  ];
  test.each(BAD)("the bad line %s is named and nothing of its batch is written", async (bad, message) => {
    const stdin = `${lines(numbered(5002))}${bad}\n${lines(numbered(3))}`;
    const { code, stdout, stderr } = await fake(["import", "notes"], { stdin, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.split("\n").filter((line) => line.startsWith("rows"))).toHaveLength(1);
    expect(stderr).toContain(`svc: stdin, line 5003: ${message}`);
    expect(stderr).toEndWith(" (5000 rows imported into notes)\n");
  });

  test("a batch that is refused while a bad line after it is read is what is reported", async () => {
    const stdin = `${lines(numbered(5000))}{\n`;
    const { code, stderr } = await fake(["import", "notes"], { stdin, env: { FAKE_IMPORT_ROWS: "refuse" } });
    expect(code).toBe(1);
    expect(stderr).toEndWith("refused by the store (0 rows imported into notes)\n");
  });

  test("with --on-error skip bad lines are named, counted and left out", async () => {
    const stdin = '{"text":"a"}\n{\n{"text":7}\n{"text":"b"}\n';
    const { code, stdout, stderr } = await fake(["import", "notes", "--on-error", "skip"], { stdin, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "imported 2 rows into notes, left 2 bad rows out\n" });
    expect(stderr).toContain("svc: left out: stdin, line 2: not JSON in UTF-8\n");
    expect(stderr).toContain("svc: left out: stdin, line 3: text must be a string, got 7\n");
  });
});
