/** Exports of whole accounts: folders, archives, memories and projects; large, cut short, damaged, of another shape. */
import { describe, expect, test } from "bun:test";
import { closeSync, cpSync, openSync, readFileSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { JsonElements } from "../../src/formats/input/json-elements.ts";
import { random } from "../random.ts";
import { file, folder, plain, read, SAMPLES } from "./support.ts";
import { type ZipFile, zipOf } from "./zip-writer.ts";

const claude = join(SAMPLES, "claude");
const chatGpt = join(SAMPLES, "chatgpt-2026");
const text = (path: string) => readFileSync(path, "utf8");

/** A folder as an archive, below a folder of the archive. */
const packed = (of: string, names: readonly string[], more: readonly ZipFile[] = []): ZipFile[] => [
  ...more,
  ...names.map((name) => ({ path: `export/${name}`, content: text(join(of, name)) })),
];
const CLAUDE = packed(claude, ["users.json", "conversations.json", "memories.json", "projects.json"]);

describe("a folder", () => {
  test("of Claude: conversations, projects without the one that all have, memories by entry", async () => {
    const { rows, remarks, error } = await read(claude);
    expect(error).toBeUndefined();
    expect(rows.slice(4).map(({ text, metadata }) => [text, metadata])).toEqual([
      ["Work context\n\nAda is an engineer on call every third week.", { type: "memory", title: "Work context" }],
      ["Personal context\n\nRides two bikes", { type: "memory", title: "Personal context" }],
      ["Personal context\n\nSpeaks Slovene and German", { type: "memory", title: "Personal context" }],
      [
        "Purpose & context\n\nThe trip is for a wedding in Piran.",
        { type: "memory", project: "0192c7aa-0000-7000-8000-000000000200", title: "Purpose & context" },
      ],
      [
        "Piran\n\nThe trip in May\n\nAnswer with trains, not flights.",
        { type: "project", project: "0192c7aa-0000-7000-8000-000000000200", title: "Piran" },
      ],
      [
        "hotels.md\n\nHotel Tartini has a room for bikes.",
        { type: "project", project: "0192c7aa-0000-7000-8000-000000000200", title: "Piran", file: "hotels.md" },
      ],
    ]);
    expect(rows.at(-1)!.created).toBe(Date.UTC(2026, 0, 2, 8, 5, 0, 123));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(remarks.at(-1)).toStartWith("1 left out, a project that Claude begins every account with: '");
  });

  test("of ChatGPT since 2026: numbered files in their order, and what it noted down", async () => {
    const { rows, error, remarks } = await read(chatGpt);
    expect(error).toBeUndefined();
    expect(rows.map(({ text }) => text)).toEqual([
      "user: Remember that I do not eat meat. What can I cook tonight?",
      "assistant: A lentil stew with carrots takes forty minutes.",
      "The user does not eat meat.",
      "user: How long do lentils keep?",
      "assistant: Dried ones keep for a year in a closed jar.",
    ]);
    expect(rows[2]).toMatchObject({ metadata: { type: "memory" }, created: 1769850002000 });
    expect(rows[2]!.id).toStartWith("memory/");
    expect(remarks.map((line) => line.split(":")[0])).toEqual(["1 left out, of a tool or the system"]);
  });

  test("of several archives, unpacked: a file for each project and account; links are not followed", async () => {
    const root = folder();
    cpSync(chatGpt, root, { recursive: true });
    for (const [name, of] of [
      ["projects", "projects.json"],
      ["memories", "memories.json"],
    ] as const) {
      const [one] = JSON.parse(text(join(claude, of)));
      Bun.spawnSync(["mkdir", join(root, name)]);
      writeFileSync(join(root, name, "0192.json"), JSON.stringify(one));
    }
    symlinkSync(join(claude, "conversations.json"), join(root, "conversations-002.json"));
    expect((await read(root)).rows).toHaveLength(5 + 2 + 4);
  });

  test("with notes in it is a folder of notes", async () => {
    const root = folder();
    writeFileSync(join(root, "conversations.json"), "[]");
    writeFileSync(join(root, "a.md"), "a note");
    expect((await read(root)).rows.map(({ text }) => text)).toEqual(["a\n\na note"]);
  });
});

test("one file of an export by what is in it", async () => {
  expect((await read(join(claude, "memories.json"))).rows).toHaveLength(4);
  expect((await read(join(claude, "projects.json"), { from: "chats" })).rows).toHaveLength(2);
  const [one] = JSON.parse(text(join(claude, "memories.json")));
  expect((await read(file("a.json", JSON.stringify(one)))).rows).toHaveLength(4);
  const files = { ...one, memory_files: [{ path: "/ada.md", content: "- likes trains" }, 7] };
  expect((await read(file("a.json", JSON.stringify(files)))).rows.at(-1)).toMatchObject({
    text: "likes trains",
    metadata: { type: "memory", path: "/ada.md" },
  });
});

describe("an archive", () => {
  test("as it was downloaded has the rows of its folder", async () => {
    const whole = (await read(claude)).rows.map(plain);
    for (const bytes of [
      zipOf(CLAUDE),
      zipOf(CLAUDE, true),
      zipOf(CLAUDE, false, "a comment"),
      zipOf(CLAUDE.map((one) => ({ ...one, isStored: true }))),
      zipOf([
        { path: "__MACOSX/export/._conversations.json", content: "\0" },
        { path: "export/", content: "" },
        ...CLAUDE,
      ]),
    ]) {
      const { rows, error } = await read(file("data.zip", bytes));
      expect(error).toBeUndefined();
      // In the order of the archive.
      const byId = (list: typeof whole) => list.toSorted((a, b) => (a.id! < b.id! ? -1 : 1));
      expect(byId(rows.map(plain))).toEqual(byId(whole));
    }
  });

  test.skipIf(Bun.which("python3") === null)("of another program (needs python3)", async () => {
    const path = join(folder(), "data.zip");
    const script =
      "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1], 'w', 8); [z.write(f, 'x/' + f.split('/')[-1]) for f in sys.argv[2:]]";
    const made = Bun.spawnSync(["python3", "-c", script, path, join(claude, "conversations.json")]);
    expect(made.exitCode).toBe(0);
    expect((await read(path)).rows).toHaveLength(4);
  });

  test("that cannot be read says why", async () => {
    const bytes = zipOf(CLAUDE);
    const broken = zipOf(packed(claude, ["conversations.json"]));
    broken[100]! ^= 0xff;
    for (const [content, message] of [
      [
        bytes.subarray(0, bytes.length - 5),
        "is a zip archive that is damaged: it has no directory at its end; get it again",
      ],
      [bytes.subarray(0, 1000), "it has no directory at its end"],
      [broken, /is broken or cut short|has other bytes/],
      [
        zipOf([{ path: "a.txt", content: "x" }]),
        "without conversations.json, projects.json or memories.json of an account",
      ],
      [zipOf([{ path: "conversations.json", content: "[]", flags: 1 }]), "is encrypted: unpack it"],
      [
        zipOf([{ path: "conversations.json", content: "[]", method: 12 }]),
        "is packed in a way that is not supported (12)",
      ],
      [zipOf([]), "without conversations.json"],
    ] as const) {
      const { error } = await read(file("data.zip", content));
      expect(error).toMatch(/^ValueError: '.*data\.zip'/);
      if (message instanceof RegExp) expect(error).toMatch(message);
      else expect(error).toContain(message);
    }
  });

  test("damaged at random is rows, or an error that names it", async () => {
    const original = zipOf(CLAUDE, true);
    for (let seed = 1; seed <= 500; seed++) {
      const next = random(seed);
      const bytes = Buffer.from(original);
      for (let changes = 1 + Math.floor(next() * 4); changes > 0; changes--) {
        // Half of them in the records at the end.
        const from = next() < 0.5 ? 0 : bytes.length - 500;
        bytes[from + Math.floor(next() * (bytes.length - from))] = [0, 1, 0x7f, 0xff][Math.floor(next() * 4)]!;
      }
      const { error } = await read(file("data.zip", next() < 0.8 ? bytes : bytes.subarray(0, next() * bytes.length)), {
        from: "chats",
      });
      if (error !== undefined && !/^(ValueError|TypeError): '.*data\.zip'/.test(error))
        throw new Error(`${seed}: ${error}`);
    }
  });
});

describe("elements of a document", () => {
  /** The elements of a text, whose bytes come in pieces of this length. */
  function elements(content: string | Uint8Array, length: number) {
    const cut = new JsonElements("'x'");
    const bytes = Buffer.from(content as string);
    const found = [];
    for (let at = 0; at < bytes.length; at += length) found.push(...cut.push(bytes.subarray(at, at + length)));
    found.push(...cut.finish());
    return found.map((one) => ("error" in one ? one.error.message : one.value));
  }

  test.each([
    ["[]", []],
    [" \ufeff".trim() + '[ 1 , "a" , {"b":[2,{}]} , [3] ]\n', [1, "a", { b: [2, {}] }, [3]]],
    ['["\\"],[", "\\\\", "é\\u005d"]', ['"],[', "\\", "é]"]],
    ['{"a": [1, 2]}', [{ a: [1, 2] }]],
    ['{"a":1}\n{"b":"}{"}\n', [{ a: 1 }, { b: "}{" }]],
    ["[1, 2", [1, "'x', [1]: the file ends in the middle: it is cut short, get it again"]],
    ['[{"a":1},{"b":"', [{ a: 1 }, "'x', [1]: the file ends in the middle: it is cut short, get it again"]],
    ["[1,]", [1, "'x', [1]: not JSON in UTF-8"]],
    ["[1] 2", [1, "'x': not JSON: something follows after its end"]],
    ["", ["'x', [0]: not JSON in UTF-8"]],
    ["words", ["'x', [0]: not JSON in UTF-8"]],
    [`[${"[".repeat(200)}${"]".repeat(200)}, 1]`, ["'x', [0]: nested too deeply, or too many objects and arrays", 1]],
  ] as const)("%j", (content, expected) => {
    for (const length of [1, 2, 3, 7, 1000]) expect(elements(content, length)).toEqual([...expected]);
  });

  test("of random documents are what JSON.parse finds, wherever the bytes are cut", () => {
    for (let seed = 1; seed <= 1000; seed++) {
      const next = random(seed);
      const value = (depth: number): unknown => {
        const kind = Math.floor(next() * (depth > 3 ? 4 : 6));
        if (kind === 0) return Math.floor(next() * 100);
        if (kind < 4)
          return ['"', "\\", "]}", "{[", ",", "é\u2028", ""][Math.floor(next() * 7)]!.repeat(Math.floor(next() * 4));
        const list = Array.from({ length: Math.floor(next() * 4) }, () => value(depth + 1));
        return kind === 4 ? list : Object.fromEntries(list.map((one, i) => [`k"${i}`, one]));
      };
      const whole = Array.from({ length: Math.floor(next() * 5) }, () => value(0));
      const content = JSON.stringify(whole, null, seed % 2);
      expect(elements(content, 1 + Math.floor(next() * 20))).toEqual(whole);
    }
  });
});

test("an element beyond 64 MiB is named, and the next one is read", async () => {
  const path = file("conversations.json", "");
  const fd = openSync(path, "w");
  const [one] = JSON.parse(text(join(chatGpt, "conversations-001.json")));
  writeSync(fd, `[${JSON.stringify(one)},{"x":"`);
  for (let i = 0; i < 65; i++) writeSync(fd, Buffer.alloc(1024 * 1024, 0x61));
  writeSync(fd, `"},${JSON.stringify({ ...one, conversation_id: "other" })}]`);
  closeSync(fd);
  const errors: string[] = [];
  const { rows, error } = await read(path, { onBad: ({ message }) => errors.push(message) });
  expect(error).toBeUndefined();
  expect(rows).toHaveLength(4);
  expect(errors).toEqual([expect.stringContaining(", [1] has more than 67108864 bytes")]);
});

test("an export that is cut short has the rows of its whole conversations, and then an error", async () => {
  const whole = text(join(claude, "conversations.json"));
  const list = JSON.parse(whole);
  const doubled = JSON.stringify([list[0], list[0]]);
  const { rows, error } = await read(file("conversations.json", doubled.slice(0, -40)));
  expect(rows).toHaveLength(4);
  expect(error).toMatch(
    /^ValueError: '.*conversations\.json', \[1\]: the file ends in the middle: it is cut short, get it again$/,
  );
});

test.each([
  ["memories of another shape", "memories.json", [{ memories: [] }], "not a memory of Claude"],
  ["a project without a name", "projects.json", [{ uuid: "x" }], "not a project of Claude"],
  ["a conversation of another shape", "conversations.json", [{ id: "x", messages: [] }], "not a conversation"],
])("%s", async (_, name, value, message) => {
  const { error } = await read(file(name, JSON.stringify(value)), { from: "chats" });
  expect(error).toContain(message);
  expect(error).toContain("--on-error skip");
});
