/** `svc mem backup`, `svc mem check` and its `--repair`, from the executable. */
import { beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ROOT, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
let memory: string;

beforeAll(async () => {
  env = await signedIn();
  memory = join(env.SVC_HOME!, "memory");
  expect((await svc(env, ["mem", "add", "notes", "we deploy blue green", "retro is on Friday"])).code).toBe(0);
  expect((await svc(env, ["mem", "add", "docs", "the runbook"])).code).toBe(0);
  expect((await svc(env, ["mem", "compact", "notes"])).code).toBe(0);
});

function baseOf(collection: string): string {
  return join(collection, readdirSync(collection).find((name) => name.startsWith("base-"))!);
}

test("a backup is a memory directory; it shares what never changes, and on another disk nothing", async () => {
  const place = join(env.HOME!, "backup");
  const said = await svc(env, ["mem", "backup", place]);
  expect(said).toMatchObject({ code: 0, err: "" });
  expect(said.out).toMatch(/^backed up 2 collections with 3 rows \(.*, of which .* shared\) to /);
  const found = await svc(env, ["mem", "search", "notes", "deploy", "--path", place, "--json"]);
  expect(JSON.parse(found.out)).toMatchObject({ collection: "notes" });
  expect(statSync(baseOf(join(place, "notes"))).ino).toBe(statSync(baseOf(join(memory, "notes"))).ino);
  const { dev } = statSync(memory);
  const disk = [join(ROOT, ".build"), "/dev/shm"].find((path) => existsSync(path) && statSync(path).dev !== dev);
  if (disk === undefined) return;
  const elsewhere = mkdtempSync(join(disk, "svc-e2e-"));
  const other = await svc(env, ["mem", "backup", elsewhere, "notes", "--json"]);
  expect(other.code).toBe(0);
  expect(JSON.parse(other.out)).toMatchObject({
    directory: elsewhere,
    collections: [{ name: "notes", rows: 2, linked_bytes: 0 }],
    failed: [],
  });
  rmSync(elsewhere, { recursive: true });
});

test("a damaged collection is named, the others are copied, and the exit code is 1", async () => {
  const path = baseOf(join(memory, "docs"));
  const bytes = readFileSync(path);
  bytes[80]! ^= 1;
  writeFileSync(path, bytes);
  const checked = await svc(env, ["mem", "check"]);
  expect(checked.code).toBe(1);
  expect(checked.out).toMatch(/^docs: 1 damaged place .*\n {2}base-.*\n.*\n {4}repair: .*\nnotes: sound/s);
  const notes = await svc(env, ["mem", "check", "notes", "--json"]);
  expect(notes.code).toBe(0);
  expect(JSON.parse(notes.out)).toMatchObject({ sound: true, collections: [{ name: "notes", damages: [] }] });
  const place = join(env.HOME!, "partial");
  const said = await svc(env, ["mem", "backup", place]);
  expect(said.code).toBe(1);
  expect(said.err).toMatch(/^svc: docs is not in the backup: collection 'docs' is damaged: base-/);
  expect(readdirSync(place)).toEqual(["notes"]);
  const taken = await svc(env, ["mem", "backup", place]);
  expect(taken).toMatchObject({ code: 1, out: "" });
  expect(taken.err).toMatch(/^svc: the target of the copy, the folder 'notes', exists already/);
});

test("a repair saves what can be read in a new collection, which takes the place of the damaged one", async () => {
  const said = await svc(env, ["mem", "check", "docs", "--repair"]);
  expect(said).toMatchObject({ code: 1, err: "" });
  expect(said.out).toMatch(/ {2}saved 1 row in docs-repaired\n {2}restored 1 changed bit\n {2}salvaged: /);
  renameSync(join(memory, "docs"), join(env.HOME!, "damaged"));
  renameSync(join(memory, "docs-repaired"), join(memory, "docs"));
  const found = await svc(env, ["mem", "search", "docs", "runbook"]);
  expect(found.out).toContain("the runbook");
  expect((await svc(env, ["mem", "check", "docs"])).code).toBe(0);
  const wrong = await svc(env, ["mem", "check", "--to", "other"]);
  expect(wrong.code).toBe(2);
});
