/** `svc mem export` and `svc mem import` of the executable: byte for byte there and back, and killed on the way. */
import { beforeAll, expect, test } from "bun:test";
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
let folder: string;

beforeAll(async () => {
  env = await signedIn();
  folder = env.HOME!;
});

/** A memory directory of its own. */
const memoryAt = (name: string) => ["--path", join(folder, name)];

async function mem(words: string[], input: string | Uint8Array = ""): Promise<{ out: string; err: string }> {
  const { code, out, err } = await svc(env, ["mem", ...words], input);
  if (code !== 0) throw new Error(`svc mem ${words[0]} ended with ${code}: ${err}`);
  return { out, err };
}

/** Rows of a file, most without an id, every hundredth as one before. */
const lineOf = (i: number) =>
  JSON.stringify(
    i % 10 === 0 ? { id: `id-${i}`, text: `note ${i} of many` } : { text: `note ${i % 100 === 9 ? 9 : i}` },
  );
const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${lineOf(from + i)}\n`).join("");

test("there and back, byte for byte: texts, vectors, metadata, times and what the collection is like", async () => {
  const [from, to] = [memoryAt("round-a"), memoryAt("round-b")];
  await mem(["create", "notes", "--partition-by", "team", "--filter-column", "k", "--lexical", ...from]);
  const rows = [
    { id: "a", text: "blue green", metadata: { team: "ops", k: 1.5 }, created: 5, updated: 7 },
    { id: "é\u202e", text: "ünïcode \u0007 東京\n", metadata: null, created: 1e12, updated: 1e12 },
    { id: "c", text: "", metadata: { deep: [{ x: null }], "0": 1 } },
  ];
  await mem(["import", "notes", ...from], rows.map((row) => JSON.stringify(row)).join("\n"));
  await mem(["upsert", "notes", "green", "--id", "a", ...from]);
  await mem(["describe", "notes", "what the team knows", ...from]);
  const files = ["plain", "vectors"].map((name) => join(folder, `${name}.jsonl`)) as [string, string];
  await mem(["export", "notes", files[0], ...from]);
  await mem(["export", "notes", files[1], "--with-vectors", ...from]);
  for (const [i, file] of files.entries()) {
    const bytes = readFileSync(file);
    const place = i === 0 ? to : memoryAt("round-c");
    // Packed, as it may be kept.
    const imported = await mem(["import", "notes", "--json", ...place], gzipSync(bytes));
    expect(JSON.parse(imported.out)).toMatchObject({ imported: 3, inserted: 3 });
    const flags = i === 0 ? [] : ["--with-vectors"];
    const { out } = await mem(["export", "notes", "--schema", ...flags, ...place]);
    expect(out).toBe(bytes.toString());
    expect(imported.err).toBe("");
  }
});

test("an import that is killed and repeated ends with the rows of the file, and does not write what is there", async () => {
  const total = 11_000;
  const file = join(folder, "many.jsonl");
  writeFileSync(file, linesOf(0, total));
  // Before the first batch is saved, after it, and after the second one, while more is on its way.
  for (const [saved, sent] of [
    [0, 3000],
    [1, 7000],
    [2, 10_500],
  ] as const) {
    const place = memoryAt(`killed-${saved}`);
    const child = Bun.spawn([SVC, "mem", "import", "notes", ...place], { env, stdin: "pipe", stderr: "pipe" });
    child.stdin.write(linesOf(0, sent));
    await child.stdin.flush();
    const manifest = join(folder, `killed-${saved}`, "notes", "collection.json");
    const generation = () => (existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).generation : 0);
    while (generation() < saved && child.exitCode === null) await Bun.sleep(2);
    child.kill("SIGKILL");
    expect(await child.exited).not.toBe(0);
    const { out } = await mem(["import", "notes", file, "--json", ...place]);
    const counts = JSON.parse(out);
    expect(counts).toMatchObject({ imported: total, bad: 0, replaced: 0 });
    expect(counts.unchanged).toBeGreaterThanOrEqual(saved * 5000);
    const rows = (await mem(["export", "notes", "--no-times", ...place])).out.trimEnd().split("\n");
    const texts = rows.map((line) => JSON.parse(line)).map(({ text }) => text);
    const expected = linesOf(0, total).trimEnd().split("\n");
    expect(texts).toEqual(expected.map((line) => JSON.parse(line).text));
  }
  const again = await mem(["import", "notes", file, "--json", ...memoryAt("killed-0")]);
  expect(JSON.parse(again.out)).toMatchObject({ inserted: 0, replaced: 0, unchanged: total });
});

test("an export that is killed leaves nothing under its name, and goes on where it was", async () => {
  const place = memoryAt("exported");
  await mem(["import", "notes", ...place], linesOf(0, 2000));
  const [whole, file] = [join(folder, "whole.jsonl"), join(folder, "cut.jsonl")];
  const words = (name: string) => ["export", "notes", name, "--with-vectors", ...place];
  await mem(words(whole));
  const partial = () => readdirSync(folder).find((name) => name.startsWith(".cut.jsonl.") && name.endsWith(".partial"));
  const killed = async () => {
    const child = Bun.spawn([SVC, "mem", ...words(file)], { env, stderr: "ignore" });
    const size = () => statSync(join(folder, partial() ?? "none"), { throwIfNoEntry: false })?.size ?? 0;
    while (size() < 1e6 && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
    expect([existsSync(file), partial() !== undefined]).toEqual([false, true]);
  };
  await killed();
  // What a loss of power may leave at the end.
  appendFileSync(join(folder, partial()!), "\0".repeat(5000));
  const { err } = await mem([...words(file), "--resume"]);
  expect(err).toMatch(/^goes on after \d+ rows\n/);
  expect(Bun.SHA256.hash(readFileSync(file), "hex")).toBe(Bun.SHA256.hash(readFileSync(whole), "hex"));
  expect(partial()).toBeUndefined();
  // After a change what was written says nothing of the rows that there are now.
  writeFileSync(file, "");
  await Bun.file(file).delete();
  await killed();
  await mem(["add", "notes", "one more", "--id", "more", ...place]);
  const again = await mem([...words(file), "--resume"]);
  expect(again.err).toContain("begins again");
  expect(readFileSync(file, "utf8").trimEnd().split("\n").at(-1)).toContain('"id":"more"');
  expect(partial()).toBeUndefined();
});

test("bad rows end an import with their line, or are left out and named", async () => {
  const place = memoryAt("bad");
  const input = `${lineOf(0)}\n{"text":"x","metadata":{"a":"${"x".repeat(70_000)}"}}\n${lineOf(1)}\n`;
  const stopped = await svc(env, ["mem", "import", "notes", ...place], input);
  expect(stopped.code).toBe(1);
  expect(stopped.err).toMatch(/^svc: stdin, line 2: metadata has 70008 bytes.*\(0 rows imported into notes\)\n$/);
  const skipped = await svc(env, ["mem", "import", "notes", "--on-error", "skip", ...place], input);
  expect([skipped.code, skipped.out]).toEqual([1, "imported 2 rows into notes, left 1 bad row out\n"]);
  expect(skipped.err).toStartWith("svc: left out: stdin, line 2: metadata has");
});
