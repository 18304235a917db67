/** Which files of a whole repository, tests and documents included, come first. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";
import { putAll } from "../repo/helpers.ts";

/** Words that every file has, so that none is found by its length alone. */
const FILLER = Array.from({ length: 20 }, (_, i) => `value ${i} of the table is read here`).join("\n");

const FILES: Record<string, string> = {
  "src/net/backoff.ts": "export function delayFor(attempt: number) {\n  return 2 ** attempt;\n}\n",
  "src/net/client.ts":
    "import { delayFor } from './backoff';\nexport class Client {\n  wait() { return delayFor(1); }\n}\n",
  "src/net/server.ts": "import { delayFor } from './backoff';\nexport const pause = () => delayFor(3);\n",
  "tests/backoff.test.ts": `import { delayFor } from "../src/net/backoff";\n${"expect(delayFor(1)).toBe(delayFor(1)); // delayFor\n".repeat(12)}`,
  "docs/backoff.md": `# Delays\n${"The delay for an attempt doubles: see delayFor.\n".repeat(12)}`,
  "src/cache.ts": `// Evicts the oldest entry when it is full.\nexport const cache = new Map();\n${FILLER}\n`,
  "docs/cache.md": `It evicts the oldest entry when full, that is the oldest entry of all.\n${FILLER}\n`,
  "src/pages.ts": `// Drops the stale page when it is full.\nexport const pages = new Map();\n${FILLER}\n`,
  "src/pages_spec.ts": `// It drops the stale page when full, that is the stale page of all.\n${FILLER}\n`,
  "src/gateway.ts": `export const first = 1;\n${FILLER}\n`,
  "src/other.ts": `// the gateway calls the gateway\nexport const second = 2;\n${FILLER}\n`,
  "CHANGELOG.md": "- delayFor doubles the delay for each attempt\n- the delay for an attempt is bounded\n",
  "locale/de.json": '{ "delay": "delay for an attempt" }\n',
  "src/config.ts": `export const table = 1;\n${FILLER}\n`,
  "packages/app/src/config.ts": `// config config config\nexport const config = 2;\n${FILLER}\n`,
  "src/same/a.ts": "equal words in two places\n",
  "src/same/b.ts": "equal words in two places\n",
  "src/app/[id]/page.ts": "export const page = 'by number';\n",
  "src/long.ts": Array.from(
    { length: 400 },
    (_, i) => `// flood of words, line ${i}\nexport const flood${i} = ${i};`,
  ).join("\n"),
  "src/short.ts": "// a flood of words, once\n",
  "include/wheel.h": `/* Turns the wheel by an angle, and brakes. */\nvoid wheel_turn(int angle);\n${FILLER}\n`,
  "src/wheel.c": `/* Turns the wheel by an angle. */\nvoid wheel_turn(int angle) { brake(angle); }\n${FILLER}\n`,
  "template-app/src/greet.ts": `// Greets the visitor by name, greets again.\n${FILLER}\n`,
  "src/visitor.ts": `// Greets the visitor by name.\n${FILLER}\n`,
  "src/winch.h": "#define winch_wind(rope)\n",
  "src/winch.c": `int winch_wind(int rope)\n{\n${"  rope = pull(rope);\n".repeat(30)}  return rope;\n}\n`,
  "docs/manual.md": `The courier carries a parcel: parcel, courier, parcel.\n${FILLER}\n`,
  "src/mail.ts": `// The courier carries a parcel.\n${FILLER}\n`,
};

/** Files that only signs tell apart, the one with them last. */
const SIGNS: Record<string, string> = {
  "src/match/a.ts": `// Matches a pattern to a path, part by part.\nexport const one = "*";\n${FILLER}\n`,
  "src/match/b.ts": `// Matches a pattern to a path.\nexport const any = "**";\n${FILLER}\n`,
  "docs/patterns.md": `A pattern with ** matches a path of any depth: \`**\`.\n${FILLER}\n`,
};

let m: TestMemory;
let root: string;
beforeAll(async () => {
  // A folder above the root says nothing of its files.
  root = putAll(join(scratchDir(), "tests"), FILES);
  m = await TestMemory.open(undefined, root);
});
afterAll(() => m.close());

async function search(query: string, more: object = {}): Promise<string[]> {
  const { hits } = await m.call("repo_search", { query, top_k: 10, ...more });
  return hits.map((hit: { metadata: { path: string } }) => hit.metadata.path);
}

describe("names", () => {
  test("the file that defines one comes first, though others mention it more often", async () => {
    expect((await search("delayFor"))[0]).toBe("src/net/backoff.ts");
    expect((await search("where is delayFor defined?"))[0]).toBe("src/net/backoff.ts");
    expect((await search("what does `Client` do"))[0]).toBe("src/net/client.ts");
  });
});

test("what does the work of a name comes before a stub of that name", async () => {
  for (const query of ["winch_wind", "where is winch_wind implemented", "how does `winch_wind` work"])
    expect((await search(query)).slice(0, 2)).toEqual(["src/winch.c", "src/winch.h"]);
});

describe("files beside the source", () => {
  test("come after it where they fit about as well", async () => {
    expect((await search("evicts the oldest entry")).slice(0, 2)).toEqual(["src/cache.ts", "docs/cache.md"]);
    expect((await search("drops the stale page")).slice(0, 2)).toEqual(["src/pages.ts", "src/pages_spec.ts"]);
  });

  test("are headers and templates of what source does", async () => {
    expect((await search("how is the wheel turned by an angle")).slice(0, 2)).toEqual([
      "src/wheel.c",
      "include/wheel.h",
    ]);
    expect((await search("how is the visitor greeted by name")).slice(0, 2)).toEqual([
      "src/visitor.ts",
      "template-app/src/greet.ts",
    ]);
  });

  test("come after it though they fit better", async () => {
    expect((await search("how does the courier carry a parcel")).slice(0, 2)).toEqual([
      "src/mail.ts",
      "docs/manual.md",
    ]);
    expect((await search("docs of how the courier carries a parcel"))[0]).toBe("docs/manual.md");
  });

  test("come first where they are asked for", async () => {
    expect((await search("tests of delayFor"))[0]).toBe("tests/backoff.test.ts");
    expect((await search("it is tested that it drops the stale page"))[0]).toBe("src/pages_spec.ts");
    expect((await search("documentation of the delay for an attempt"))[0]).toBe("docs/backoff.md");
    expect((await search("delay for an attempt in CHANGELOG.md"))[0]).toBe("CHANGELOG.md");
    expect((await search("delay for an attempt", { path_hint: "docs" }))[0]).toBe("docs/backoff.md");
  });
});

test("the folder that the repository lies in makes a test of no file", async () => {
  expect((await search(`${root}/src/pages.ts drops the stale page`))[0]).toBe("src/pages.ts");
  expect((await search("drops the stale page", { path_hint: join(root, "src") }))[0]).toBe("src/pages.ts");
});

describe("paths", () => {
  test("a question that is one, or the end of one, gets that file first", async () => {
    expect((await search("src/config.ts"))[0]).toBe("src/config.ts");
    expect((await search("app/src/config.ts"))[0]).toBe("packages/app/src/config.ts");
    expect((await search("./src/config.ts:12"))[0]).toBe("src/config.ts");
    expect((await search(join(root, "src/config.ts")))[0]).toBe("src/config.ts");
    expect((await search("backoff.test.ts"))[0]).toBe("tests/backoff.test.ts");
    expect((await search("de.json"))[0]).toBe("locale/de.json");
    expect((await search("[id]/page.ts"))[0]).toBe("src/app/[id]/page.ts");
    expect((await search("CONFIG.TS")).slice(0, 2).sort()).toEqual(["packages/app/src/config.ts", "src/config.ts"]);
  });

  test("words of a question in a path lift that file", async () => {
    expect((await search("gateway")).slice(0, 2)).toEqual(["src/gateway.ts", "src/other.ts"]);
  });
});

test("a literal of the question lifts the source that has it, and is shown wherever it stands", async () => {
  const lines = Array.from({ length: 200 }, (_, i) => `export const line${i} = ${i};`);
  lines[150] = 'if (name === "quick") return;';
  const files = {
    ...SIGNS,
    "src/match/long.ts": `// Matches a pattern to a path: the quick way.\n${lines.join("\n")}\n`,
  };
  const other = await TestMemory.open(undefined, putAll(scratchDir(), files));
  const hitsOf = async (query: string) => (await other.call("repo_search", { query, top_k: 10 })).hits;
  const pathsOf = async (query: string) =>
    (await hitsOf(query)).map((hit: { metadata: { path: string } }) => hit.metadata.path);
  expect((await pathsOf("how is a pattern matched to a path"))[0]).toBe("src/match/a.ts");
  expect((await pathsOf("how is ** matched to a path"))[0]).toBe("src/match/b.ts");
  expect((await pathsOf("where is `**` of a pattern matched to a path"))[0]).toBe("src/match/b.ts");
  expect((await hitsOf("where does --quick match a pattern to a path"))[0].text).toContain('name === "quick"');
  await other.close();
});

test("a file is one hit, however many of its windows fit", async () => {
  const found = await search("flood of words", { top_k: 5 });
  expect(found.slice(0, 2).sort()).toEqual(["src/long.ts", "src/short.ts"]);
  expect(new Set(found).size).toBe(5);
});

test("equal scores are in the order of paths, call for call", async () => {
  const found = await search("equal words in two places");
  expect(found.slice(0, 2)).toEqual(["src/same/a.ts", "src/same/b.ts"]);
  expect(await search("equal words in two places")).toEqual(found);
});

describe("a path hint", () => {
  test("may be a file, a folder or a glob", async () => {
    expect(await search("delay", { path_hint: "src/config.ts" })).toEqual(["src/config.ts"]);
    expect((await search("delay", { path_hint: "src/net/" })).sort()).toEqual([
      "src/net/backoff.ts",
      "src/net/client.ts",
      "src/net/server.ts",
    ]);
    expect((await search("delay", { path_hint: "**/config.ts" })).sort()).toEqual([
      "packages/app/src/config.ts",
      "src/config.ts",
    ]);
    expect(await search("delay", { path_hint: "*.json" })).toEqual(["locale/de.json"]);
    expect((await search("delay", { path_hint: join(root, "src/same/*") })).sort()).toEqual([
      "src/same/a.ts",
      "src/same/b.ts",
    ]);
    expect(await search("delay", { path_hint: "src/app/[id]" })).toEqual(["src/app/[id]/page.ts"]);
  });

  test("finds a file that no ranking of a whole repository would list", async () => {
    const many = scratchDir();
    for (let i = 0; i < 300; i++) writeFileSync(join(many, `note${i}.txt`), `all about retries and delays ${i}\n`);
    writeFileSync(join(many, "page.css"), "body { color: red }\n");
    const other = await TestMemory.open(undefined, many);
    const { hits, notice } = await other.call("repo_search", { query: "all about retries", path_hint: "*.css" });
    expect(hits.map((hit: { metadata: { path: string } }) => hit.metadata.path)).toEqual(["page.css"]);
    expect(notice).toBeUndefined();
  });

  test("that matches nothing: no hits, and a sentence that names what is alike", async () => {
    const missing = await m.call("repo_search", { query: "delay", path_hint: "src/ned" });
    expect(missing.hits).toEqual([]);
    expect(missing.notice).toBe("path_hint 'src/ned' matches no indexed file; there are 'src/net'");
    const glob = await m.call("repo_search", { query: "delay", path_hint: "lib/**/*.py" });
    expect(glob.hits).toEqual([]);
    expect(glob.notice).toBe("path_hint 'lib/**/*.py' matches no indexed file");
  });
});

test("a question with a character that no name may have is asked without it", async () => {
  expect((await search("delayFor\0x"))[0]).toBe("src/net/backoff.ts");
});

test("a question about nothing indexed, and a repository without a file", async () => {
  expect((await search("zyzzyva")).length).toBe(10);
  const empty = await TestMemory.open(undefined, scratchDir());
  expect((await empty.call("repo_search", { query: "delayFor" })).hits).toEqual([]);
});
