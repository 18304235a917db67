/** What the terminal says of a collection that does not exist. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withNames } from "../../../src/cli/terminal/missing-collection.ts";
import { ValueError } from "../../../src/errors.ts";
import { MissingCollection } from "../../../src/store/folder-lock.ts";
import { FAKE_GATE, svc, temporaryFolder } from "../support.ts";

const MISSING = "collection 'notse' does not exist";

/** The message in a memory that has these collections, and other folders. */
function message(names: string[], missing = "notse"): string {
  using folder = temporaryFolder();
  for (const name of [...names, ".svc-backup-1", "not a collection"]) mkdirSync(join(folder.path, name));
  for (const name of [...names, ".svc-backup-1"]) writeFileSync(join(folder.path, name, "collection.json"), "{}");
  const error = withNames(new MissingCollection(missing), folder.path, {}) as MissingCollection;
  expect(error.code).toBe("ValueError.no_collection");
  return error.message;
}

test("the name that was meant, and the names that there are", () => {
  expect(message(["notes"])).toBe(`${MISSING}, did you mean 'notes'?`);
  expect(message(["docs"])).toBe(`${MISSING} (there is 'docs')`);
  expect(message(["docs", "notes"])).toBe(`${MISSING}, did you mean 'notes'? (there are 'docs' and 'notes')`);
  const many = ["a", "b", "c", "d", "e", "f", "g"];
  expect(message(many)).toBe(`${MISSING} (there are 'a', 'b', 'c', 'd', 'e' and 2 more)`);
});

test("where there is none, the command that makes one", () => {
  expect(message([])).toBe(`${MISSING}, and there are no collections yet: svc mem add notse "a first text" makes it`);
  expect(message([], "a; rm -rf x")).toBe(
    `collection 'a; rm -rf x' does not exist, and there are no collections yet: svc mem add NAME "a first text" makes it`,
  );
});

test("a message about something else stays", () => {
  const error = new ValueError("refused", "no_collection");
  expect(withNames(error, "/nowhere", {})).toBe(error);
});

test("every verb says it, from the memory that --path names", async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "notes"));
  writeFileSync(join(folder.path, "notes/collection.json"), "{}");
  const env = { FAKE_COUNT: "missing" };
  const words = ["mem", "--path", folder.path, "count", "nots"];
  const { code, stderr } = await svc(words, { preload: [FAKE_GATE], env });
  expect(code).toBe(1);
  expect(stderr).toBe("svc: collection 'nots' does not exist, did you mean 'notes'?\n");
});
