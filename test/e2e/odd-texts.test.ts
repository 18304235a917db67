/** Odd texts through the executable: as arguments, files and stdin of `svc mem`, there and back. */
import { beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

const mem = (args: string[], stdin: string | Uint8Array = "") => svc(env, ["mem", ...args], stdin);

async function json(args: string[], stdin: string | Uint8Array = "") {
  const { code, out, err } = await mem([...args, "--json"], stdin);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

const TEXTS: Record<string, string> = {
  nul: "narwhal\0swims\0",
  long: "q".repeat(1024 * 1024),
  spaces: " ".repeat(1_000_000),
  rtl: "\u202bהפגישה ביום רביעי\u202c مرحبا",
  emoji: "👩‍👩‍👧‍👦 👍🏽 🇩🇪 giant squid",
  nfd: "Ångström smørrebrød".normalize("NFD"),
  marks: "\u0301".repeat(10_000),
  stuffed: "ferret ".repeat(10_000),
  answer: "Our ferret hides a turquoise marble.",
  chinese: "我们每周五下午部署新版本",
};

test("texts from stdin are stored, found and exported unchanged", async () => {
  await json(["create", "odd", "--lexical"]);
  for (const [id, text] of Object.entries(TEXTS)) {
    expect(await json(["add", "odd", "--id", id], text)).toMatchObject({ added: 1 });
  }
  await json(["build-lexical", "odd"]);
  const found: [string, string][] = [
    ["narwhal", "nul"],
    ["רביעי", "rtl"],
    ["👍", "emoji"],
    ["Ångström", "nfd"],
    ["ferret turquoise marble", "answer"],
    ["部署新版本", "chinese"],
  ];
  for (const [query, id] of found) {
    expect((await json(["search", "odd", query])).hits[0].id).toBe(id);
    expect((await json(["search", "odd", query, "--lexical"])).hits[0].id).toBe(id);
  }
  const { rows } = await json(["get", "odd", ...Object.keys(TEXTS)]);
  for (const { id, text } of rows) expect(text === TEXTS[id]).toBe(true);
  const exported = await mem(["export", "odd"]);
  expect(await json(["import", "again"], exported.out)).toMatchObject({ collection: "again" });
  const again = (await json(["get", "again", ...Object.keys(TEXTS)])).rows;
  for (const { id, text } of again) expect(text === TEXTS[id]).toBe(true);
}, 120_000);

test("what is not UTF-8 is refused with the source's name, and nothing is written", async () => {
  const broken = Buffer.from([0x6b, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0xe2, 0x82]);
  writeFileSync(join(env.HOME!, "broken.txt"), broken);
  for (const [args, named] of [
    [["add", "never"], "stdin"],
    [["add", "never", "--lines"], "stdin"],
    [["add", "never", "--file", "broken.txt"], "'broken.txt'"],
  ] as const) {
    const { code, out, err } = await mem([...args], broken);
    expect([code, out, err]).toEqual([1, "", `svc: ${named} is not UTF-8 text\n`]);
  }
  const empty = await mem(["add", "never"]);
  expect([empty.code, empty.err]).toEqual([1, expect.stringContaining("stdin is empty, and 'never' was")]);
  expect((await json(["list"])).collections).not.toContain("never");
});

test("wrong parameters of an index are refused with an explanation, and the existing index stays", async () => {
  await json(["create", "kept", "--lexical"]);
  await json(["add", "kept", "--id", "a"], "a platypus");
  await json(["build-lexical", "kept", "--k1", "2", "--b", "0"]);
  for (const flags of [
    ["--k1=-1"],
    ["--k1=NaN"],
    ["--k1=Infinity"],
    ["--k1=1e999"],
    ["--k1=1e308"],
    ["--k1="],
    ["--b=1.0001"],
    ["--b=-0.1"],
    ["--b=nan"],
    ["--b=½"],
  ]) {
    const { code, out, err } = await mem(["build-lexical", "kept", ...flags]);
    expect([flags, code > 0, out, err.trim().split("\n").length, /k1|--b|'b'/.test(err)]).toEqual([
      flags,
      true,
      "",
      1,
      true,
    ]);
  }
  expect((await json(["stats", "kept"])).stats.lexical_index).toMatchObject({ k1: 2, b: 0 });
  expect((await json(["search", "kept", "platypus", "--lexical"])).hits[0].id).toBe("a");
}, 120_000);
