/** Rows as Markdown files: there and back to the byte, damaged, and with other ids and states. */
import { describe, expect, test } from "bun:test";
import { encodeMetadata } from "../../../src/checks/metadata.ts";
import type { Metadata } from "../../../src/checks/values.ts";
import { readRowFile, rowFile, withState } from "../../../src/cli/mem/transfer/row-file.ts";
import { pathOf } from "../../../src/cli/mem/transfer/row-names.ts";
import { stateOf } from "../../../src/memory/transfer-folder.ts";
import { random } from "../../random.ts";

const STATE = "0123456789abcdef".repeat(2);
/** Pieces of texts, keys and values that YAML, Markdown or a file takes for something else. */
const PIECES = [
  ..."---|...|- |: |#|'|\"|[|]|{|}|&a|*a|!!|%|@|`|?|<<|~|null|yes|0x1|1e3|2026-01-01|\\|,|>|=".split("|"),
  ..."\n|\r\n|\r|\t|\0|\u0085|\u2028|\ufeff|\u202e|\x1b[31m|\x7f|é|e\u0301|😀| |id: x|svc: y|a|b|1".split("|"),
];

function textOf(next: () => number, most: number): string {
  return Array.from({ length: Math.floor(next() * most) }, () => PIECES[Math.floor(next() * PIECES.length)]!).join("");
}

function metadataOf(next: () => number): Metadata | undefined {
  if (next() < 0.2) return undefined;
  const value = (depth: number): unknown => {
    const kind = Math.floor(next() * (depth > 2 ? 5 : 7));
    if (kind < 2) return textOf(next, 5);
    if (kind === 2) return Math.floor(next() * 1000) / 8;
    if (kind === 3) return next() < 0.5;
    if (kind === 4) return null;
    const list = Array.from({ length: Math.floor(next() * 3) }, () => value(depth + 1));
    return kind === 5 ? list : Object.fromEntries(list.map((one) => [textOf(next, 3), one]));
  };
  return Object.fromEntries(
    Array.from({ length: Math.floor(next() * 4) }, () => [textOf(next, 3), value(0)]),
  ) as Metadata;
}

test("random rows come back to the byte, with their types, and with another id and state", () => {
  for (let seed = 1; seed <= 4000; seed++) {
    const next = random(seed);
    const [id, text, metadata] = [`x${textOf(next, 6).replaceAll("\0", "")}`, textOf(next, 30), metadataOf(next)];
    const row = { id, text, metadata, created: Math.floor(next() * 1e12), updated: 1e12, state: STATE };
    const file = rowFile(row);
    const back = readRowFile(file);
    if (JSON.stringify(back.metadata) !== JSON.stringify(metadata)) throw new Error(`seed ${seed}: ${file}`);
    expect({ ...back, metadata }).toEqual(row as never);
    const state = stateOf({ id: "other", text, metadata });
    const moved = withState(file, { id: "other", state });
    expect({ ...readRowFile(moved), metadata }).toEqual({ ...row, id: "other", state } as never);
  }
});

test("random files are rows or an error, and keep their bytes where they get an id", () => {
  for (let seed = 1; seed <= 4000; seed++) {
    const next = random(seed);
    const start = next() < 0.7 ? "---\n" : "";
    const file = `${start}${textOf(next, 12)}${next() < 0.5 ? "\n---\n" : ""}${textOf(next, 12)}`;
    let row: ReturnType<typeof readRowFile>;
    try {
      row = readRowFile(file);
    } catch (error) {
      if (!/^(ValueError|TypeError)/.test(String(error))) throw new Error(`seed ${seed}: ${error}`);
      continue;
    }
    if (row.metadata) encodeMetadata(row.metadata, "metadata");
    if (row.id !== undefined) continue;
    const given = withState(file, { id: "given", state: STATE });
    const again = readRowFile(given);
    if (again.text !== row.text || again.id !== "given" || again.state !== STATE)
      throw new Error(`seed ${seed}: ${JSON.stringify([file, given])}`);
    expect(JSON.stringify(again.metadata)).toBe(JSON.stringify(row.metadata)!);
  }
});

describe("what a person may do to the front matter", () => {
  const row = { id: "a", text: "text", metadata: { k: "v" }, created: 5, updated: 7, state: STATE };

  test.each([
    ["CRLF", (file: string) => file.replace(/[\s\S]*?\n---\n/, (front) => front.replaceAll("\n", "\r\n"))],
    ["a comment", (file: string) => file.replace("id:", "# mine\nid:")],
    ["another order", (file: string) => file.replace("id: a\n", "").replace("svc:", "id: a\nsvc:")],
    ["blanks after the hyphens", (file: string) => file.replaceAll("---\n", "---  \n")],
    ["a mark at the beginning of the file", (file: string) => new TextDecoder().decode(Buffer.from(`\ufeff${file}`))],
  ])("%s", (_, change) => {
    const file = change(rowFile(row));
    expect(readRowFile(file)).toEqual(row);
    const moved = withState(file, { id: "b", state: "f".repeat(32), completed: ["scope", "default"] });
    expect(readRowFile(moved)).toEqual({
      ...row,
      ...{ id: "b", state: "f".repeat(32), metadata: { k: "v", scope: "default" } as never },
    });
  });

  test("members beside the id are metadata; what is not a time or a state does not count", () => {
    expect(readRowFile("---\ntags: [a]\ncreated: soon\nsvc: x\nid: 7\n---\n")).toEqual({
      text: "",
      id: "7",
      metadata: { tags: ["a"] } as never,
    });
    expect(readRowFile("---\n---\nx\n")).toEqual({ text: "x" });
    expect(readRowFile("---\nA ruled-off paragraph.\n---\nx")).toEqual({ text: "---\nA ruled-off paragraph.\n---\nx" });
    expect(readRowFile("no front matter\n---\nid: 5\n---\n").id).toBeUndefined();
  });
});

describe("names", () => {
  const none = () => false;
  const named = (id: string, text: string, partition?: unknown) => pathOf({ id, text }, partition, none);

  test("are short, lower case, safe on every file system, and differ where ids differ", () => {
    expect(named("a", "We deploy blue-green, on Tuesdays!")).toMatch(
      /^we-deploy-blue-green-on-tuesdays-[0-9a-f]{8}\.md$/,
    );
    expect(named("a", "../../.. \0\n/")).toMatch(/^[0-9a-f]{8}\.md$/);
    expect(named("a", "x", "../..")).toMatch(/^x-[0-9a-f]{8}\.md$/);
    expect(named("a", "x", "On Call")).toMatch(/^on-call\/x-/);
    expect(named("a", "x", "default")).toMatch(/^x-/);
    expect(named("a", "x", 7)).toMatch(/^7\/x-/);
    expect(named("A", "x")).not.toBe(named("a", "x"));
    for (const text of ["😀".repeat(200), "東京".repeat(200), "x".repeat(1e6), "é".repeat(300), "\ud7fb".repeat(99)]) {
      expect(Buffer.byteLength(named("a", text))).toBeLessThanOrEqual(200);
      expect(named("a", text).isWellFormed()).toBe(true);
    }
  });

  test("a name that is taken gets more of the hash", () => {
    const first = named("a", "x");
    const second = pathOf({ id: "a", text: "x" }, undefined, (path) => path === first);
    expect(second).toMatch(/^x-[0-9a-f]{16}\.md$/);
    expect(pathOf({ id: "a", text: "x" }, undefined, () => true)).toMatch(/^x-[0-9a-f]{64}\.md$/);
  });
});
