/** `svc mem export` and `svc mem import`. */
import { describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { FAKE_GATE, type RunOptions, start, svc, temporaryFolder } from "./support.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", ...words], { ...options, preload: [FAKE_GATE] });
const lines = (rows: unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${i}`, text: `text ${i}`, metadata: { i } }));

describe("export", () => {
  test("one line a row, in order, over several pages; a row deleted meanwhile is left out", async () => {
    const { code, stdout, stderr } = await fake(["export", "notes"], {
      env: { FAKE_IDS: "many:450", FAKE_GET: "echo" },
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
});

describe("import", () => {
  const env = { FAKE_UPSERT: "log" };

  test("takes the lines of an export; their times are not kept", async () => {
    const stdin = '{"id":"a","metadata":{"n":1},"text":"one","created":5,"updated":7}\n';
    const { code, stderr } = await fake(["import", "notes"], { stdin, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'upsert {"rows":1,"ids":["a"],"metadata":{"n":1}}\n' });
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
  });

  test("batches of 500, ids and metadata as they are", async () => {
    const { code, stdout, stderr } = await fake(["import", "notes", "--json"], { stdin: lines(numbered(1100)), env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ imported: 1100, collection: "notes" });
    const calls = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line.replace("upsert ", "")));
    expect(calls.map(({ rows }) => rows)).toEqual([500, 500, 100]);
    expect(calls[2]).toEqual({ rows: 100, ids: ["1000", "1001"], metadata: { i: 1000 } });
  });

  test("a file; empty lines, a missing last line break and a missing id are fine", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "rows.jsonl");
    await Bun.write(file, '\ufeff{"text":"a"}\n\n{"text":"b","id":null,"metadata":null}');
    const { code, stdout, stderr } = await fake(["import", "notes", file], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "imported 2 rows into notes\n" });
    expect(stderr).toMatch(/^upsert \{"rows":2,"ids":\["[0-9a-f-]{36}","[0-9a-f-]{36}"\],"metadata":null\}\n$/);
  });

  test("an integer is an id by its decimal string", async () => {
    const stdin = '{"text":"a","id":7}\n{"text":"b","id":-0}\n';
    const { code, stderr } = await fake(["import", "notes"], { stdin, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'upsert {"rows":2,"ids":["7","0"],"metadata":null}\n' });
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
    ['{"text":"x","metadata":[1]}', "metadata must be an object or null, got an array"],
    ['{"text":"x","score":1}', "unknown field 'score', only id, text and metadata are kept"],
    [`{"text":"x","metadata":{"a":${"[".repeat(200)}${"]".repeat(200)}}}`, "nested too deeply"],
  ];
  test.each(BAD)("the bad line %s is named and nothing of its batch is written", async (bad, message) => {
    const stdin = `${lines(numbered(502))}${bad}\n${lines(numbered(3))}`;
    const { code, stdout, stderr } = await fake(["import", "notes"], { stdin, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.split("\n").filter((line) => line.startsWith("upsert"))).toHaveLength(1);
    const type = message.includes("must be") ? "TypeError" : "ValueError";
    expect(stderr).toEndWith(`svc: ${type}: stdin, line 503: ${message} (500 rows imported into notes)\n`);
  });

  test("a batch that is refused while a bad line behind it is read is what is reported", async () => {
    const stdin = `${lines(numbered(500))}{\n`;
    const { code, stderr } = await fake(["import", "notes"], { stdin, env: { FAKE_UPSERT: "refuse" } });
    expect(code).toBe(1);
    expect(stderr).toEndWith("stdin, line 1 to stdin, line 500: refused by the store (0 rows imported into notes)\n");
  });

  test("what the store refuses is reported with its lines", async () => {
    const { code, stderr } = await fake(["import", "notes"], {
      stdin: lines(numbered(2)),
      env: { FAKE_UPSERT: "refuse" },
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "svc: ValueError: stdin, line 1 to stdin, line 2: refused by the store (0 rows imported into notes)\n",
    });
  });
});
