/** Collections that cannot be read, and what only looks like one, as every command of the executable names them. */
import { beforeAll, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asVersion, interruptedFirstSave, linkManifest } from "../store/unreadable-folders.ts";
import { Session, signedIn, svc } from "./home.ts";

let original: Record<string, string>;
let memory: string;
beforeAll(async () => {
  original = await signedIn();
  memory = join(original.SVC_HOME!, "memory");
  for (const name of ["notes", "docs"]) {
    expect((await svc(original, ["mem", "add", name, "we deploy blue green"])).code).toBe(0);
  }
});

/** Runs commands on a copy of the memory in which something was done. */
function inMemory(change: (dir: string) => void) {
  const dir = join(original.HOME!, crypto.randomUUID());
  cpSync(memory, dir, { recursive: true });
  change(dir);
  const env = { ...original, SVC_MEMORY_PATH: dir };
  return { dir, env, mem: (...words: string[]) => svc(env, ["mem", ...words]) };
}

type Site = ReturnType<typeof inMemory>;
const tableRow = async ({ mem }: Site, name: string) =>
  (await mem("list")).out.split("\n").find((line) => line.startsWith(`${name} `));
const findings = async ({ env }: Site, area: string) => {
  const { out } = await svc(env, ["doctor", "--json"]);
  return JSON.parse(out).findings.filter(
    ({ check, level }: { check: string; level: string }) => check.startsWith(area) && level !== "ok",
  );
};
const listed = async ({ env }: Site) => {
  const session = await Session.open(env);
  const payload = await session.call("svc_list_collections");
  await session.close();
  return payload;
};

const LEFT = "an interrupted first save left its folder, in which no row was ever saved: 'svc mem drop c' removes it";

test("an interrupted first save is a leftover everywhere, hides no damage, and 'svc mem drop' removes it", async () => {
  const site = inMemory((dir) => {
    interruptedFirstSave(dir, "c", "notes");
    rmSync(join(dir, "docs/collection.json"));
  });
  const { mem, dir } = site;
  expect(await tableRow(site, "c")).toMatch(
    /^c +\? +\d+ KB +leftover +\? +an interrupted first save left its folder, /,
  );
  expect(await mem("check", "c")).toMatchObject({ code: 0, out: `c: leftover\n  ${LEFT}\n` });
  for (const words of [["check"], ["check", "--repair"]]) {
    const { code, out, err } = await mem(...words);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(out).toMatch(/^c: leftover\n.*\ndocs: 1 damaged place .*collection\.json: it is missing.*notes: sound/s);
  }
  expect(await listed(site)).toMatchObject({
    collections: ["notes"],
    unreadable: {
      c: `leftover: ${LEFT}`,
      docs: "damaged: collection.json is missing; 'svc mem check docs --repair' saves the rows that can be read",
    },
  });
  expect(await findings(site, "memory")).toMatchObject([
    { check: "memory.leftover", level: "warning", remedy: "svc mem drop c" },
    { check: "memory.damaged", level: "problem", remedy: "svc mem check docs --repair" },
  ]);
  const count = await mem("count", "c");
  expect([count.code, count.err]).toEqual([1, `svc: collection 'c' does not exist (create it first); ${LEFT}\n`]);
  rmSync(join(dir, "docs"), { recursive: true });
  const backup = await mem("backup", join(original.HOME!, "backup"));
  expect(backup.code).toBe(0);
  expect(backup.out).toStartWith("backed up 1 collection with 1 row ");
  expect(backup.err).toBe(`svc: c is not in the backup: ${LEFT}\n`);
  expect(await mem("drop", "c", "--yes")).toMatchObject({ code: 0, out: "dropped c\n" });
  expect(readdirSync(dir).filter((name) => name !== ".serve")).toEqual(["notes"]);
  expect(await mem("check")).toMatchObject({ code: 0, out: expect.stringMatching(/^notes: sound/) });
});

test.each(["nowhere", "itself", "the file"] as const)("collection.json that is a link to %s is damage", async (to) => {
  const site = inMemory((dir) => linkManifest(join(dir, "docs"), to));
  const { mem } = site;
  const why = "collection.json is a link, and links are not followed: put the file itself in its place";
  expect(await tableRow(site, "docs")).toMatch(/^docs +\? +\d+ KB +damaged +\? +collection\.json is a link$/);
  const checked = await mem("check");
  expect([checked.code, checked.err]).toEqual([1, ""]);
  expect(checked.out).toStartWith("docs: 1 damaged place ");
  expect(checked.out).toContain(`  collection.json: ${why}\n`);
  expect(checked.out).toContain("notes: sound");
  for (const words of [
    ["count", "docs"],
    ["add", "docs", "more"],
    ["create", "docs"],
  ]) {
    const { code, err } = await mem(...words);
    expect([code, err]).toEqual([1, expect.stringContaining(`collection 'docs' is damaged: ${why}`)]);
  }
  expect(await listed(site)).toMatchObject({
    collections: ["docs", "notes"],
    unreadable: { docs: expect.stringContaining("damaged: collection.json is a link; ") },
  });
  expect(await findings(site, "memory")).toMatchObject([{ check: "memory.damaged", level: "problem" }]);
  const backup = await mem("backup", join(original.HOME!, `backup of ${to}`), "--json");
  expect([backup.code, JSON.parse(backup.out).failed]).toMatchObject([1, [{ name: "docs" }]]);
});

test("a folder with nothing but a link as collection.json is damaged too", async () => {
  const site = inMemory((dir) => {
    linkManifest(join(dir, "docs"), "nowhere");
    for (const file of readdirSync(join(dir, "docs"))) if (file !== "collection.json") rmSync(join(dir, "docs", file));
  });
  expect((await site.mem("count", "docs")).err).toContain("collection 'docs' is damaged: collection.json is a link");
  const repaired = await site.mem("check", "docs", "--repair");
  expect([repaired.code, repaired.out]).toEqual([
    1,
    expect.stringContaining("impossible: collection.json cannot be read"),
  ]);
  expect(await site.mem("drop", "docs", "--yes")).toMatchObject({ code: 0 });
});

test.each([
  [6, "older", "export it with the release that wrote it, and import it with this one"],
  [9, "newer", "use a newer release"],
])("a store of version %d is %s, with its version", async (version, word, remedy) => {
  const site = inMemory((dir) => asVersion(join(dir, "docs"), version));
  const said = `its format is version ${version}, ${word} than this svc's 8: ${remedy}`;
  expect(await tableRow(site, "docs")).toEndWith(said);
  for (const words of [["check"], ["check", "--repair"]]) {
    const { code, out, err } = await site.mem(...words);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(out).toStartWith(`docs: ${word}\n  ${said}\n`);
    expect(out).toContain("notes: sound");
    expect(out).not.toContain("damaged");
  }
  expect((await listed(site)).unreadable).toEqual({ docs: `${word}: ${said}` });
  expect(await findings(site, "memory")).toMatchObject([
    { check: `memory.${word}`, level: "problem", message: `collection 'docs' cannot be opened: ${said}` },
  ]);
});

test("a damaged manifest keeps its description and is marked, in the tool as on the terminal", async () => {
  const site = inMemory((dir) => {
    const path = join(dir, "docs/collection.json");
    const text = readFileSync(path, "utf8").replace(/^ {2}"format_version"/m, '  "description": "runbooks",\n$&');
    writeFileSync(path, text);
  });
  const all = await listed(site);
  expect(all).toMatchObject({
    collections: ["docs", "notes"],
    details: [
      { name: "docs", description: "runbooks" },
      { name: "notes", scopes: { default: expect.any(Number) } },
    ],
    unreadable: {
      docs: "damaged: collection.json does not match its checksum; 'svc mem check docs --repair' saves the rows that can be read",
    },
  });
  const { out } = await site.mem("list", "--json");
  const { collections, unreadable } = all;
  expect(JSON.parse(out)).toMatchObject({ collections, unreadable });
});
