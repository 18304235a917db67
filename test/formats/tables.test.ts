/** CSV, TSV and JSON documents: which parts of a table or an object become what of a row. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { file, plain, read, SAMPLES } from "./support.ts";

const csv = (content: string | Uint8Array, options = {}, name = "notes.csv") => read(file(name, content), options);
const json = (value: unknown, options = {}) => read(file("notes.json", JSON.stringify(value)), options);
const message = (error: string | undefined) => error?.replace(/'[^']*\/([^/']+)'/g, "'$1'");

test("the sample table: quotes, a line break in a field, a missing id, a time", async () => {
  const { rows, error } = await read(join(SAMPLES, "notes.csv"));
  expect(error).toBeUndefined();
  expect(rows.map(plain)).toEqual([
    {
      id: "retro",
      text: 'The retrospective is on Friday, in the "big" room.',
      metadata: { scope: "team", priority: "2" },
      created: Date.UTC(2026, 1, 27, 9, 30),
    },
    { id: "lunch", text: "Lunch is at noon.\nOn Thursdays it is soup.", metadata: { scope: "team", priority: "3" } },
    {
      text: "Access to production needs a second person.",
      metadata: { scope: "security", priority: "1" },
      created: Date.UTC(2026, 0, 15),
    },
  ]);
  expect(rows.map(({ where }) => /line \d+$/.exec(where)![0])).toEqual(["line 2", "line 3", "line 5"]);
});

test("a byte order mark, CRLF, empty lines, and lines counted through them", async () => {
  const { rows, remarks } = await csv('\ufeffid,text\r\n1,"a\r\nb"\r\n\r\n2,c\r\n3, \r\n4,d');
  expect(rows.map(({ id, text }) => [id, text])).toEqual([
    ["1", "a\r\nb"],
    ["2", "c"],
    ["4", "d"],
  ]);
  expect(rows.map(({ where }) => /line \d+$/.exec(where)![0])).toEqual(["line 2", "line 5", "line 7"]);
  expect(remarks.map(message)).toEqual(["1 left out, without text: 'notes.csv', line 6"]);
});

test("delimiters are recognised in the first line, outside of quotes, or given", async () => {
  for (const [content, flags] of [
    ["id\ttext\na\tb,c", {}],
    ["id;text\na;b,c", {}],
    ["id|text\na|b,c", {}],
    ['"i,d,e,f";text\na;b,c', {}],
    ["id~text\na~b,c", { delimiter: "~" }],
  ] as const) {
    const { rows, error } = await csv(content, flags);
    expect(error).toBeUndefined();
    expect(rows[0]!.text).toBe("b,c");
  }
  expect((await csv("a,b", { delimiter: "ab" })).error).toContain("give one character");
});

test("columns are named, and typed on request", async () => {
  const content = "nr,title,words,big,yes,empty\n7,a title,12,12345678901234567890,true,\n";
  const named = { textColumn: "title", idColumn: "nr" };
  expect((await csv(content, named)).rows.map(plain)).toEqual([
    { id: "7", text: "a title", metadata: { words: "12", big: "12345678901234567890", yes: "true" } },
  ]);
  const typed = await csv(content, { ...named, typed: true });
  expect(typed.rows[0]!.metadata).toEqual({ words: 12, big: "12345678901234567890", yes: true });
  expect(message((await csv(content)).error)).toContain("none of its columns ('nr', 'title', 'words'");
  expect(message((await csv(content, { textColumn: "x" })).error)).toContain(
    "has no column 'x', which --text-column names",
  );
});

test("a table that is broken is refused with the line", async () => {
  const cases: [string | Uint8Array, string][] = [
    [
      "text,a\nx,y\nz\n",
      "'notes.csv', line 3: 1 fields, where the first line has 2: a delimiter or a quote is missing",
    ],
    ['text,a\nx,y\n"z,y\nmore', "'notes.csv', line 3: a field begins with a quote that no other one closes"],
    ['text,a\nx,"y"z\n', "'notes.csv', line 2: "],
    ["text,text\nx,y\n", "two columns are called 'text'"],
    [Buffer.from("text,a\nx,y\n\xe9,b\n", "latin1"), "at or after line 1: not UTF-8; convert it first, as in iconv"],
    [Buffer.from("\ufefftext,a\nx,y\n", "utf16le"), "not UTF-8"],
    ["", "'notes.csv' is empty: its first line names the columns"],
    ["id,text\na\0b,x\n", "'notes.csv', line 2: id holds a NUL character"],
  ];
  for (const [content, wanted] of cases) {
    const { error, rows } = await csv(content, {}, "notes.csv");
    expect(message(error)).toContain(wanted);
    expect(rows.length).toBeLessThan(2);
  }
});

test("bad rows are left out where that is wanted", async () => {
  const bad: string[] = [];
  const onBad = (error: Error) => bad.push(message(error.message)!);
  const { rows, error } = await csv("text,a\nx,y\nz\nu,v\n", { onBad });
  expect({ error, texts: rows.map(({ text }) => text) }).toEqual({ error: undefined, texts: ["x", "u"] });
  expect(bad).toHaveLength(1);
  const more = await json([{ text: "a" }, { text: 7 }, { body: "b", id: "" }, null], { onBad });
  expect(more.rows.map(({ text }) => text)).toEqual(["a", "b"]);
  expect(bad).toHaveLength(3);
});

test("names of an object's prototype are names like others", async () => {
  const { rows } = await csv("text,__proto__,constructor,id\nx,y,z,toString\n");
  expect(JSON.stringify(rows[0]!.metadata)).toBe('{"__proto__":"y","constructor":"z"}');
  expect(rows[0]!.id).toBe("toString");
  const { rows: others } = await read(file("a.json", '[{"text":"a","__proto__":{"x":1},"metadata":{"__proto__":2}}]'));
  expect(JSON.stringify(others[0]!.metadata)).toBe('{"__proto__":{"x":1},"metadata.__proto__":2}');
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

test("a JSON document: texts and objects, in an array or an object with one", async () => {
  const { rows, error } = await read(join(SAMPLES, "notes.json"));
  expect(error).toBeUndefined();
  expect(rows.map(plain)).toEqual([
    { text: "A text by itself is a note.", metadata: null },
    {
      id: "oncall",
      text: "On call changes on Tuesdays at ten.",
      metadata: { scope: "operations" },
      created: Date.UTC(2026, 1, 3, 10),
    },
    {
      id: "budget",
      text: "The budget is reviewed each quarter.",
      metadata: { scope: "finance", tags: ["money", "plan"] },
    },
  ]);
  expect((await json({ version: 3, notes: ["a", "b"] })).rows.map(({ text }) => text)).toEqual(["a", "b"]);
  expect((await json([{ q: "a", k: 1, n: { m: 2 } }], { textColumn: "q", idColumn: "k" })).rows.map(plain)).toEqual([
    { id: "1", text: "a", metadata: { n: { m: 2 } } },
  ]);
});

test("times are taken of what says one, and stay metadata otherwise", async () => {
  const { rows } = await json([
    { text: "a", created_at: 1_700_000_000, updatedAt: "2024-01-01" },
    { text: "b", created: 1_700_000_000_000, updated: "soon" },
    { text: "c", created: 3 },
  ]);
  expect(rows.map(({ created, updated, metadata }) => [created, updated, metadata])).toEqual([
    [1_700_000_000_000, Date.UTC(2024, 0, 1), null],
    [1_700_000_000_000, undefined, { updated: "soon" }],
    [undefined, undefined, { created: 3 }],
  ]);
});

test("a JSON document that is broken is refused with the place", async () => {
  const cases: [string, string][] = [
    ['[\n{"text": "a"},\n{"text": }\n]', "'notes.json', line 3: not JSON"],
    ["[1]", "'notes.json', [0]: neither a text nor an object"],
    ['[{"text": "a"}, {"x": 1}]', "'notes.json', [1] has none of the fields text, content"],
    ['{"a": [1], "b": [2]}', "'notes.json' holds several arrays ('a', 'b')"],
    ['{\n"a": 1}', "'notes.json' holds no array"],
    [`[${"[".repeat(200)}${"]".repeat(200)}]`, "nested too deeply"],
    [`[{"text": "a", "n": 1e400}]`, "'notes.json', [0]: metadata.n is Infinity"],
    [`[{"text": "a", "x": "${"y".repeat(70_000)}"}]`, "'notes.json', [0]: metadata has"],
    ['{"ids": [["a"]], "documents": [["b"]]}', "holds answers to a query"],
    ['{"ids": ["a"], "documents": []}', "'documents' is not a list of 1 values"],
    ['{"ids": ["a"], "documents": null, "metadatas": [null]}', 'call collection.get() with include: ["documents"]'],
  ];
  for (const [content, wanted] of cases) {
    expect(message((await read(file("notes.json", content))).error)).toContain(wanted);
  }
});

test("an id that is too long is shortened, and stays apart from others", async () => {
  const long = "é".repeat(300);
  const { rows } = await json([
    { id: `${long}a`, text: "a" },
    { id: `${long}b`, text: "b" },
    { id: "short", text: "c" },
  ]);
  expect(rows[0]!.id).not.toBe(rows[1]!.id);
  expect(rows[0]!.id).toStartWith("é".repeat(120));
  expect(rows[2]!.id).toBe("short");
  expect(rows.every(({ id }) => Buffer.byteLength(id!) <= 512)).toBe(true);
});

test("formats are told apart by content", async () => {
  const texts = async (name: string, content: string) => (await read(file(name, content))).rows.map(({ text }) => text);
  expect(await texts("x", '{"text":"a"}\n{"text":"b"}\n')).toEqual(["a", "b"]);
  expect(await texts("x.json", '{"text":"a"}\n{"text":"b"}\n')).toEqual(["a", "b"]);
  expect((await read(file("x", '{"svc_export":1,"filter_columns":["a"]}\n'))).error).toBeUndefined();
  expect(message((await read(file("x", '{"txt":"a"}'))).error)).toContain("'x', line 1: ");
  expect(await texts("x.txt", '[{"text":"a"}]')).toEqual(["a"]);
  expect(await texts("x.txt", '{\n "notes": ["a"]\n}')).toEqual(["a"]);
  expect(await texts("x", "id,text\n1,a\n")).toEqual(["a"]);
  expect(await texts("memory.json", '{"type":"entity","name":"A","entityType":"","observations":["b"]}')).toEqual([
    "A: b",
  ]);
  const { error } = await read(file("x", "just some words\n"));
  expect(error).toContain("is in none of the known formats: name it with --from (mem0, chroma, ");
  expect((await read(file("x.txt", "text\na\n"), { from: "csv" })).rows.map(({ text }) => text)).toEqual(["a"]);
});

test("a flag for another format is refused", async () => {
  expect(message((await json(["a"], { delimiter: ";" })).error)).toBe(
    "ValueError: --delimiter is for csv, and 'notes.json' is read as json: leave it out",
  );
});

test("a table may have 4,096 columns, and no more, which the error counts", async () => {
  const names = (count: number) => Array.from({ length: count - 1 }, (_, i) => `c${i}`);
  const table = (count: number, delimiter = ",") =>
    `${["text", ...names(count)].join(delimiter)}\na${delimiter.repeat(count - 1)}\n`;
  const { rows, error } = await csv(table(4096));
  expect({ texts: rows.map(({ text }) => text), error }).toEqual({ texts: ["a"], error: undefined });
  const refused = (count: string, cut = "cut -d ','") =>
    `ValueError: 'notes.csv' has ${count} columns, and at most 4096 can be imported: keep the columns that you need, ` +
    `as in ${cut} -f 1-20 OLD > NEW`;
  expect(message((await csv(table(4097))).error)).toBe(refused("4097"));
  expect(message((await csv(table(4097, ";"))).error)).toBe(refused("4097", "cut -d ';'"));
  const tabs = await read(file("notes.csv.gz", Buffer.from(Bun.gzipSync(Buffer.from(table(200_000, "\t"))))));
  expect(message(tabs.error)).toBe(refused("200000", "cut").replace("notes.csv", "notes.csv.gz"));
  // Without an end of the line, with names in quotes, and longer than any row may be.
  expect(message((await csv(["text", ...names(5000)].join(","))).error)).toBe(refused("5000"));
  expect(message((await csv(`"te\nxt",${'"a"",b",'.repeat(9999)}z\n1\n`)).error)).toBe(refused("10001"));
  expect(message((await csv(`text,${"c,".repeat(30_000_000)}`)).error)).toMatch(/has more than \d{8} columns/);
  // Of few columns, and longer than any row may be.
  expect(message((await csv(`text,${"c".repeat(18_000_000)}\n`)).error)).toContain(
    "line 1: a row of more than 17825792 bytes",
  );
});

test("rows of more fields than the first line are refused or left out, and equal names are refused", async () => {
  const bad: string[] = [];
  const wide = `text,a\nx${",y".repeat(100_000)}\nz,w\n`;
  expect(message((await csv(wide)).error)).toContain("line 2: 100001 fields, where the first line has 2");
  const { rows } = await csv(wide, { onBad: (error: Error) => bad.push(error.message) });
  expect([rows.map(({ text }) => text), bad.length]).toEqual([["z"], 1]);
  const twice = ["text", ...Array.from({ length: 3000 }, (_, i) => `c${i}`), "c7"].join(",");
  expect(message((await csv(`${twice}\na\n`)).error)).toContain("two columns are called 'c7': rename one");
});
