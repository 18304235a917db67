/** Exports of chats: which messages become rows, in what order, and what is said of damaged ones. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { random } from "../random.ts";
import { file, plain, type Read, read, SAMPLES } from "./support.ts";

const sample = (name: string) => join(SAMPLES, name, "conversations.json");

/** A conversation of ChatGPT, its nodes with their parents. */
function chatGpt(parents: Record<string, string | null>, more: object = {}) {
  const mapping = Object.fromEntries(
    Object.entries(parents).map(([id, parent], i) => {
      const author = { role: i % 2 === 0 ? "user" : "assistant" };
      const content = { content_type: "text", parts: [`text of ${id}`] };
      return [id, { id, parent, children: [], message: { id, author, content, create_time: 1_700_000_000 + i } }];
    }),
  );
  return { id: "c", title: "a title", create_time: 1_700_000_000.5, current_node: "z", mapping, ...more };
}

/** A conversation of Claude with these messages. */
const claude = (messages: object[], more: object = {}) => ({
  uuid: "c",
  name: "a name",
  chat_messages: messages,
  ...more,
});
const human = (uuid: string, more: object = {}) => ({ uuid, sender: "human", text: `text of ${uuid}`, ...more });

const imported = (value: unknown, flags = {}) => read(file("chats.json", JSON.stringify(value)), flags);
const texts = ({ rows }: Pick<Read, "rows">) => rows.map(({ text }) => text);

describe("samples", () => {
  test("ChatGPT: the turns that were shown, without tools, images and what was answered again", async () => {
    const { rows, error, remarks } = await read(sample("chatgpt"));
    expect(error).toBeUndefined();
    expect(rows.map(({ text }) => text)).toEqual([
      "user: My starter is called Gustav and it does not rise. Why?",
      "assistant: Feed it twice a day and keep it at 26 degrees.\n\nIt should double in six hours.",
      "user: Is this mould?",
      "assistant: No, it is kahm yeast. Scrape it off.",
      "user: Thanks, Gustav says thanks too.",
    ]);
    const session = "6f1c2a40-1111-4000-8000-000000000001";
    expect(plain(rows[1]!)).toEqual({
      id: `${session}/6f1c2a40-0000-4000-8000-000000000005`,
      text: expect.any(String),
      metadata: { session, turn: 2, role: "assistant", title: "Sourdough that does not rise" },
      created: 1767254410750,
      updated: 1767254410750,
    });
    expect(rows.map(({ metadata }) => metadata!.turn)).toEqual([1, 2, 3, 4, 5]);
    expect(remarks.map((line) => line.split(":")[0])).toEqual([
      "1 left out, replaced by an edit or another answer",
      "4 left out, of a tool or the system",
      "1 left out, without text",
    ]);
  });

  test("Claude: the same, with the texts of its blocks", async () => {
    const { rows, error, remarks } = await read(sample("claude"));
    expect(error).toBeUndefined();
    expect(rows.map(({ text }) => text)).toEqual([
      "user: We leave on the 14th with two bikes. Which train?",
      "assistant: The EuroCity at 8:12 takes bikes.\n\nReserve two places for them.",
      "user: And the way back?",
      "assistant: At 14:25, with a change in Villach.",
    ]);
    const session = "0192c7aa-0000-7000-8000-000000000100";
    expect(plain(rows[3]!)).toEqual({
      id: `${session}/0192c7aa-0000-7000-8000-000000000005`,
      text: expect.any(String),
      metadata: { session, turn: 4, role: "assistant", title: "Train to Ljubljana" },
      created: Date.parse("2026-01-03T09:00:05.123Z"),
      updated: Date.parse("2026-01-03T09:00:05.123Z"),
    });
    expect(remarks.map((line) => line.split(":")[0])).toEqual([
      "1 left out, replaced by an edit or another answer",
      "1 left out, without text",
    ]);
  });

  test.each(["chatgpt", "claude"])(
    "%s: a line for each conversation, or a single one, has the same rows",
    async (name) => {
      const whole = (await read(sample(name))).rows.map(plain);
      const list: object[] = JSON.parse(readFileSync(sample(name), "utf8"));
      const lines = file("chats.jsonl", list.map((one) => JSON.stringify(one)).join("\n"));
      expect((await read(lines, { from: "chats" })).rows.map(plain)).toEqual(whole);
      for (const text of [JSON.stringify(list[0]), JSON.stringify(list[0], null, 2)]) {
        expect((await read(file("chat.json", text))).rows.map(plain)).toEqual(whole);
      }
      expect((await read(sample(name), { from: "chats" })).rows.map(plain)).toEqual(whole);
    },
  );
});

describe("ChatGPT", () => {
  test("the conversation is what leads to current_node, whatever the order of the mapping", async () => {
    const found = await imported([chatGpt({ z: "y", other: "x", y: "x", x: null })]);
    expect(texts(found)).toEqual(["assistant: text of x", "user: text of y", "user: text of z"]);
    expect(found.remarks[0]).toStartWith("1 left out, replaced by an edit or another answer: ");
  });

  test("without an id or a time of its own a row has those of its conversation, the same each time", async () => {
    const { rows, error } = await imported([
      chatGpt(
        { z: null },
        { id: undefined, mapping: { z: { message: { author: { role: "user" }, content: { parts: ["a"] } } } } },
      ),
    ]);
    expect(error).toBeUndefined();
    expect(rows[0]!.id).toMatch(/^[0-9a-f]{32}\/z$/);
    expect(rows[0]!.created).toBe(1_700_000_000_500);
  });

  test("a conversation of 100,000 turns, and one without any", async () => {
    const long = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`n${i}`, i === 0 ? null : `n${i - 1}`]));
    const { rows, error } = await imported([chatGpt(long, { current_node: "n99999" }), { mapping: {}, id: "none" }]);
    expect([error, rows.length, rows.at(-1)!.metadata!.turn]).toEqual([undefined, 100_000, 100_000]);
  });
});

describe("Claude", () => {
  test("without parents the messages are in the order of the file", async () => {
    const sent = [
      human("b"),
      { ...human("a"), sender: "assistant" },
      human("c", { text: " \n" }),
      { ...human("d"), sender: "tool" },
    ];
    const found = await imported([claude(sent)]);
    expect(texts(found)).toEqual(["user: text of b", "assistant: text of a"]);
    expect(found.remarks.map((line) => line.split(":")[0])).toEqual([
      "1 left out, without text",
      "1 left out, of a tool or the system",
    ]);
  });

  test("with parents they end with the current one, or the last", async () => {
    const sent = [
      human("a", { parent_message_uuid: null }),
      human("b", { parent_message_uuid: "a" }),
      human("c", { parent_message_uuid: "a" }),
    ];
    expect(texts(await imported([claude(sent)]))).toEqual(["user: text of a", "user: text of c"]);
    const current = { current_leaf_message_uuid: "b" };
    expect(texts(await imported([claude(sent, current)]))).toEqual(["user: text of a", "user: text of b"]);
  });

  test("a long title is cut, between characters", async () => {
    const { rows } = await imported([claude([human("a")], { name: `${"x".repeat(199)}\u{1f600}` })]);
    expect(rows[0]!.metadata!.title).toBe("x".repeat(199));
  });
});

describe("damage", () => {
  const MEND = "export the chats again, or leave it out with --on-error skip";

  test.each([
    ["a parent that is not there", chatGpt({ z: "y" }), "parent of 'z': leads to 'y', which is not in the mapping"],
    [
      "a current node that is not there",
      chatGpt({ a: null }),
      "current_node: leads to 'z', which is not in the mapping",
    ],
    ["no current node", chatGpt({ z: null }, { current_node: null }), ": has no 'current_node'"],
    ["parents in a circle", chatGpt({ z: "y", y: "z" }), "parent of 'y': leads in a circle to 'z'"],
    ["no id", chatGpt({ z: null }, { id: "", create_time: null }), ": the conversation has no id"],
    [
      "messages in a circle",
      claude([human("a", { parent_message_uuid: "a" })]),
      "chat_messages[0]: its parents are in a circle",
    ],
    ["a message that is not an object", claude([1 as never]), "chat_messages[0]: not an object"],
    ["another object", { x: 1 }, ": not a conversation: it has neither the object 'mapping' of ChatGPT nor the array"],
    ["no object", [], ": not a conversation: it has neither"],
  ])("%s is an error that names the place and what helps, or leaves the conversation out", async (_, bad, message) => {
    const good = claude([human("a")]);
    const stopped = await imported([good, bad, good]);
    expect(stopped.error).toMatch(/^ValueError: '.*chats\.json', \[1\]/);
    expect(stopped.error).toContain(message);
    expect(stopped.error).toEndWith(`; ${MEND}`);
    const errors: Error[] = [];
    const skipped = await imported([good, bad, good], { onBad: (error: Error) => errors.push(error) });
    expect([skipped.error, skipped.rows.length, errors.length]).toEqual([undefined, 2, 1]);
  });

  test("a turn that cannot be stored is left out by itself", async () => {
    const bad = human("b", { text: "half \ud800" });
    expect((await imported([claude([human("a"), bad, human("c")])])).error).toMatch(
      /^(Value|Type)Error: '.*', \[0\], chat_messages\[1\]: text /,
    );
    const onBad = () => {};
    const { rows } = await imported([claude([human("a"), bad, human("c")])], { onBad });
    expect(rows.map(({ id, metadata }) => [id, metadata!.turn])).toEqual([
      ["c/a", 1],
      ["c/c", 3],
    ]);
  });

  test.each(["chatgpt", "claude"])(
    "%s: members of any type, or none, are rows or an error that names the file",
    async (name) => {
      const odd = [null, 0, -1, 1e300, true, "", "x", "\ud800", [], {}, [null], { text: 1 }, "__proto__"];
      const original = readFileSync(sample(name), "utf8");
      for (let seed = 1; seed <= 600; seed++) {
        const next = random(seed);
        const value = JSON.parse(original);
        for (let changes = 1 + Math.floor(next() * 3); changes > 0; changes--) {
          // A member at a random depth.
          let parent = value;
          let key: string | number = 0;
          for (let depth = 1 + Math.floor(next() * 7); depth > 0; depth--) {
            const keys = Object.keys(parent);
            key = keys[Math.floor(next() * keys.length)] ?? 0;
            if (typeof parent[key] !== "object" || parent[key] === null) break;
            if (depth > 1) parent = parent[key];
          }
          if (next() < 0.2) delete parent[key];
          else parent[key] = structuredClone(odd[Math.floor(next() * odd.length)]);
        }
        const text = JSON.stringify(value);
        for (const from of [undefined, "chats"]) {
          const path = file("chats.json", text);
          const { rows, error } = await read(path, { from });
          if (error !== undefined && !/^(ValueError|TypeError): '.*chats\.json'/.test(error))
            throw new Error(`${seed}: ${error}`);
          for (const { id } of rows) if (from !== undefined && !id) throw new Error(`${seed}: a row without an id`);
          const lenient = await read(path, { from: "chats", onBad: () => {} });
          if (lenient.error !== undefined) throw new Error(`${seed}: ${lenient.error}`);
          if (lenient.rows.length < rows.length && from !== undefined) throw new Error(`${seed}: rows were lost`);
        }
      }
    },
  );

  test("another folder, and lists that only look like chats, are not read as chats", async () => {
    expect((await read(join(SAMPLES, "vault"), { from: "chats" })).error).toContain(
      "is a folder without conversations.json: name the folder that has it",
    );
    expect(texts(await imported([{ text: "a map", mapping: "none", chat_messages: 7 }]))).toEqual(["a map"]);
  });
});
