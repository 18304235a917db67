/** A collection without its manifest is damaged, and its name is not free: no call overwrites its rows. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { damaged } from "../complete-check.ts";
import { contents, openStore, scratchDir, TestMemory } from "../fixture.ts";

const MARKER = ".first-save";
const DAMAGED =
  /^collection 'notes' is damaged: its rows are there and collection\.json is missing; 'svc mem check notes --repair' saves the rows that can be read, or fetches them from the memory's database; a backup has all rows$/;

/** The failure of a call. */
function failure(call: () => Promise<unknown>): Promise<unknown> {
  return call().then(
    (payload) => payload,
    (error) => error,
  );
}

const notes = { collection: "notes" };
const CALLS: [string, Parameters<TestMemory["call"]>[0], object][] = [
  ["add", "add", { ...notes, texts: ["one more"], ids: ["more"] }],
  ["upsert", "upsert", { ...notes, texts: ["one more"], ids: ["n 1"] }],
  ["search", "search", { ...notes, query: "note" }],
  ["create", "create_collection", { name: "notes" }],
  ["count", "count", notes],
  ["delete", "delete", { ...notes, ids: ["n 1"] }],
  ["compact", "compact", notes],
];

for (const opened of ["by this process", "by no process"]) {
  test(`300 rows survive the loss of collection.json, opened ${opened}`, async () => {
    const memory = await TestMemory.open();
    const ids = Array.from({ length: 300 }, (_, i) => `n ${i}`);
    await memory.call("add", { ...notes, ids, texts: ids.map((id) => `the note ${id}`) });
    const dir = join(memory.dir, "notes");
    const manifest = readFileSync(join(dir, "collection.json"));
    rmSync(join(dir, "collection.json"));
    const before = contents(dir);
    expect(Object.keys(before)).toContain("base-0000000000000001.slab");

    const asked = opened === "by no process" ? await TestMemory.open(memory.dir) : memory;
    for (const [, verb, args] of CALLS) {
      const error = (await failure(() => asked.call(verb, args))) as Error;
      expect(error).toBeInstanceOf(OSError);
      expect(error.message).toMatch(DAMAGED);
    }
    expect(contents(dir)).toEqual(before);

    writeFileSync(join(dir, "collection.json"), manifest);
    expect(await asked.call("count", notes)).toMatchObject({ count: 300 });
    await memory.close();
    if (asked !== memory) await asked.close();
  });
}

test("a collection that was created and not saved does not take a damaged one's place", async () => {
  const mine = await openStore();
  const created = mine.create("notes", { dim: 4 });
  const theirs = await openStore(mine.dir);
  await theirs.create("notes", { dim: 4 }).add({ ids: ["theirs"], vectors: new Float32Array(4) });
  rmSync(join(mine.dir, "notes/collection.json"));
  damaged(mine.dir);
  const before = contents(join(mine.dir, "notes"));
  const error = (await failure(() => created.add({ ids: ["mine"], vectors: new Float32Array(4) }))) as Error;
  expect(error).toBeInstanceOf(OSError);
  expect(error.message).toContain("collection.json is missing");
  expect(contents(join(mine.dir, "notes"))).toEqual(before);
});

test("what an interrupted first save left is replaced", async () => {
  for (const files of [[], [MARKER], [MARKER, "base-0000000000000001.slab", "id_map.npy"]]) {
    const store = await openStore();
    const dir = join(store.dir, "notes");
    mkdirSync(dir, { recursive: true });
    for (const file of files) writeFileSync(join(dir, file), file === MARKER ? "" : "torn");
    expect(() => store.open("notes")).toThrow(/'notes' does not exist \(create it first\)/);
    const collection = store.create("notes", { dim: 4 });
    await collection.add({ ids: ["a"], vectors: new Float32Array(4) });
    expect(collection.ids()).toEqual(["a"]);
    expect(existsSync(join(dir, MARKER))).toBe(false);
    await store.close();
  }
});

test("slabs that no first save wrote are damage, beside its marker too", async () => {
  for (const files of [["base-0000000000000001.slab"], [MARKER, "delta-0000000000000002.slab"], ["ivf-x.slab"]]) {
    const store = await openStore();
    const dir = join(store.dir, "notes");
    mkdirSync(dir, { recursive: true });
    for (const file of files) writeFileSync(join(dir, file), file === MARKER ? "" : "another program's rows");
    const before = contents(dir);
    expect(() => store.open("notes")).toThrow(DAMAGED);
    expect(() => store.create("notes", { dim: 4 })).toThrow(DAMAGED);
    expect(contents(dir)).toEqual(before);
    await store.close();
  }
});

test("a folder that is a link is refused, whatever it points to", async () => {
  const store = await openStore();
  const elsewhere = scratchDir();
  writeFileSync(join(elsewhere, MARKER), "");
  symlinkSync(elsewhere, join(store.dir, "notes"));
  expect(() => store.create("notes", { dim: 4 })).toThrow(/'notes' is a link/);
});

test.skipIf(!Bun.which("strace"))(
  "a first save makes the folders above it durable, though others made them; later saves do not (needs strace)",
  async () => {
    const dir = join(scratchDir(), "made/by/another");
    mkdirSync(dir, { recursive: true });
    const script = join(scratchDir(), "save.ts");
    const fixture = join(import.meta.dir, "../fixture.ts");
    writeFileSync(
      script,
      `import { openStore } from ${JSON.stringify(fixture)};
const store = await openStore(${JSON.stringify(dir)});
const row = (id: string) => ({ ids: [id], vectors: new Float32Array(4) });
const notes = store.create("notes", { dim: 4 });
await notes.add(row("a"));
process.stderr.write("first save done\\n");
await notes.add(row("b"));
await store.close();
process.exit(0);`,
    );
    const log = join(scratchDir(), "calls");
    const command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", log, process.execPath, script];
    const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe" });
    const said = await new Response(child.stderr).text();
    expect({ code: await child.exited, said }).toEqual({ code: 0, said: "first save done\n" });
    const [first, later] = readFileSync(log, "utf8").split("first save done");
    const synced = (calls: string, folder: string) => new RegExp(`sync\\(\\d+<${folder}>`).test(calls);
    // The name of each folder on the way lies in the one above it.
    for (const folder of [dir, join(dir, ".."), join(dir, "../..")]) expect(synced(first!, folder)).toBe(true);
    for (const folder of [join(dir, ".."), join(dir, "../..")]) expect(synced(later!, folder)).toBe(false);
  },
);
