/** How `svc mem` parses a command line: what the verbs are called with, and what is printed for a person. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { FAKE_GATE, type RunOptions, start, svc, temporaryFolder } from "../support.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", ...words], { ...options, preload: [FAKE_GATE] });

/** The verb and the arguments that a command line becomes, without the bound where there is none. */
async function understood(words: string[], options: RunOptions = {}) {
  const { code, stdout, stderr } = await fake([...words, "--json"], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { verb, args } = JSON.parse(stdout);
  const { max_bytes, ...rest } = args;
  return [verb, max_bytes === 0 ? rest : args];
}

describe("arguments", () => {
  const collection = "notes";
  const hits = { top_k: 5, with_text: false, with_times: false, with_neighbours: false };
  const searched = { collection, query: "q", ...hits, with_score: false };
  const REPO_SEARCH = {
    ...{ query: "q", collection: "repo_symbols", top_k: 5, form: "lines", per_file: 1 },
    ...{ with_text: false, with_times: false, max_seconds: 0 },
  };
  const CASES: [string[], string, Record<string, unknown>][] = [
    [["add", "notes", "a", "b"], "add", { collection, texts: ["a", "b"] }],
    [["add", "notes", "--id", "1", "a", "--id", "2", "b"], "add", { collection, texts: ["a", "b"], ids: ["1", "2"] }],
    [["add", "notes", "a", "b", "--ids", "1, 2"], "add", { collection, texts: ["a", "b"], ids: ["1", "2"] }],
    [
      ["add", "notes", "a", "b", "--metadata", '{"scope":"x"}'],
      "add",
      { collection, texts: ["a", "b"], metadata: [{ scope: "x" }, { scope: "x" }] },
    ],
    [
      ["add", "notes", "a", "b", "--metadata", '{"n":1}', "--metadata", "null"],
      "add",
      { collection, texts: ["a", "b"], metadata: [{ n: 1 }, null] },
    ],
    [["add", "notes", "a", "--metadata", '[{"n":1}]'], "add", { collection, texts: ["a"], metadata: [{ n: 1 }] }],
    [["add", "notes", "--", "--json"], "add", { collection, texts: ["--json", "--json"] }],
    [["upsert", "notes", "a"], "upsert", { collection, texts: ["a"], ids: null, partition_by: "scope" }],
    [
      ["upsert", "notes", "a", "--id", "1", "--partition-by", "tenant"],
      "upsert",
      { collection, texts: ["a"], ids: ["1"], partition_by: "tenant" },
    ],
    [["update", "notes", "a", "--id", "1"], "update", { collection, texts: ["a"], ids: ["1"] }],
    [["delete", "notes", "1", "2", "--id", "3"], "delete", { collection, ids: ["1", "2", "3"] }],
    [["get", "notes", "1"], "get", { collection, ids: ["1"], with_metadata: true, with_text: true, offset: 0 }],
    [
      ["get", "notes", "1", "--no-with-text", "--with-metadata=false"],
      "get",
      { collection, ids: ["1"], with_metadata: false, with_text: false, offset: 0 },
    ],
    [["search", "notes", "q"], "search", searched],
    [["search", "notes", "q", "--engine-file", "f", "--path", "p"], "search", searched],
    [
      ["search", "notes", "q", "--top-k", "3", "--where", "scope=x", "--with-text"],
      "search",
      { ...searched, top_k: 3, with_text: true, where: { column: "scope", value: "x" } },
    ],
    [
      [
        ...["search", "notes", "q", "--recency-field", "updated", "--recency-half-life-days=7"],
        ...["--recency-weight", "0.1", "--recency-now", "1700000000000"],
      ],
      "search",
      {
        ...searched,
        recency: { field: "updated", halfLifeDays: 7, weight: 0.1, now: 17e11 },
      },
    ],
    [["search", "notes", "q", "--with-neighbours", "--json"], "search", { ...searched, with_neighbours: true }],
    [
      ["search", "notes", "q", "--lexical", "--explain"],
      "search_lexical",
      { collection, query: "q", ...hits, explain: true },
    ],
    [
      ["search", "notes", "q", "--with-score", "--after", "c1-x", "--max-bytes", "5000"],
      "search",
      {
        ...searched,
        with_score: true,
        after: "c1-x",
        max_bytes: 5000,
      },
    ],
    [
      ["get", "notes", "1", "--offset", "7", "--after", "c1-x", "--max-bytes=1000"],
      "get",
      { collection, ids: ["1"], with_metadata: true, with_text: true, offset: 7, after: "c1-x", max_bytes: 1000 },
    ],
    [["list"], "list_collections", {}],
    [["list", "--after", "a", "--max-bytes", "0"], "list_collections", { after: "a" }],
    [["ids", "notes", "--limit", "2", "--after", "x"], "ids", { collection, limit: 2, after: "x" }],
    [["ids", "notes", "--since", "1700000000000", "--newest", "3"], "ids", { collection, since: 17e11, newest: 3 }],
    [
      ["ids", "notes", "--since", "2026-11-22", "--until=2026-11-22T14:30+01:00"],
      "ids",
      { collection, since: Date.UTC(2026, 10, 22), until: Date.UTC(2026, 10, 22, 13, 30) },
    ],
    [["count", "notes", "--where", "n=1"], "count", { collection, where: { column: "n", value: 1 } }],
    [["stats", "notes"], "stats", { collection }],
    [["compact", "notes"], "compact", { collection, keep_history: false }],
    [["compact", "notes", "--keep-history"], "compact", { collection, keep_history: true }],
    [["history", "notes"], "history", { collection, limit: 20 }],
    [["history", "notes", "a", "--limit", "0"], "history", { collection, id: "a", limit: Number.MAX_SAFE_INTEGER }],
    [["history", "notes", "--save", "4", "--limit=2"], "history", { collection, save: 4, limit: 2 }],
    [["build-ivf", "notes"], "build_ivf", { collection, min_rows: 20_000, target_recall: 0.98 }],
    [
      ["build-ivf", "notes", "--min-rows", "10", "--target-recall", "0.9"],
      "build_ivf",
      { collection, min_rows: 10, target_recall: 0.9 },
    ],
    [["build-lexical", "notes", "--k1", "1.5", "--b=0"], "build_lexical", { collection, k1: 1.5, b: 0 }],
    [["tune", "notes"], "tune", { collection }],
    [["tune", "notes", "--dry-run"], "tune", { collection, dry_run: true }],
    [["tune", "notes", "--apply"], "tune", { collection, dry_run: false }],
    [["tune", "notes", "--dry-run=false"], "tune", { collection, dry_run: false }],
    [["repo-search", "q", "--path-hint", "src"], "repo_search", { ...REPO_SEARCH, path_hint: "src" }],
    [["repo-search", "q", "--max-seconds", "2.5"], "repo_search", { ...REPO_SEARCH, max_seconds: 2.5 }],
    [
      ["repo-search", "q", "--form", "grep", "--per-file", "2", "--collection", "app", "--max-bytes", "5000"],
      "repo_search",
      { ...REPO_SEARCH, form: "grep", per_file: 2, collection: "app", max_bytes: 5000 },
    ],
    [["repo-search", "q", "--with-text"], "repo_search", { ...REPO_SEARCH, form: "windows", with_text: true }],
  ];
  test.each(CASES)("svc mem %p", async (words, verb, args) => {
    // `--json` stands at the end; after a `--` it is one more text, and the answer is rendered for a person.
    if (words.includes("--")) {
      const { stdout } = await fake([...words.slice(0, 2), "--json", ...words.slice(2), "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({ verb, args });
      return;
    }
    expect(await understood(words)).toEqual([verb, args]);
  });

  test("svc mem index takes the repository as its argument and the tool's arguments as flags", async () => {
    const flags = [
      "--mode",
      "file",
      "--window-lines",
      "10",
      "--window-overlap-lines",
      "2",
      "--max-files",
      "5",
      "--force",
    ];
    const [verb, args] = await understood(["index", "/repo", "--collection", "app", "--max-seconds", "1.5", ...flags]);
    expect(verb).toBe("index_repo");
    expect(args).toMatchObject({
      path: "/repo",
      collection: "app",
      mode: "file",
      window_lines: 10,
      window_overlap_lines: 2,
    });
    expect(args).toMatchObject({ max_files: 5, max_seconds: 1.5, force: true });
    // Not given: as the repository was indexed before.
    expect(args).not.toHaveProperty("max_file_bytes");
  });

  test("--path is the memory directory of every verb", async () => {
    const { stdout } = await fake(["list", "--path", "/memory", "--json"]);
    expect(JSON.parse(stdout).options).toEqual({ path: "/memory" });
  });

  test("--workspace is the repository of repo-search; without it there is none that was named", async () => {
    const options = async (...words: string[]) =>
      JSON.parse((await fake(["repo-search", "q", ...words, "--json"])).stdout).options;
    expect(await options("--workspace", "/repo/")).toEqual({ workspace: "/repo" });
    expect(await options()).toEqual({});
  });

  const WHERE: [string, unknown][] = [
    ["s=x", "x"],
    ["s=", ""],
    ["s=a=b", "a=b"],
    ["s=1", 1],
    ["s=-1.5e3", -1500],
    ['s="1"', "1"],
    ["s=true", true],
    ["s=false", false],
    ["s=null", null],
    ["s=truely", "truely"],
    ["s=1a", "1a"],
    ["s=[1]", "[1]"],
  ];
  test.each(WHERE)("--where %s is %p", async (written, value) => {
    expect(await understood(["count", "notes", "--where", written])).toEqual([
      "count",
      { collection: "notes", where: { column: "s", value } },
    ]);
  });
});

describe("texts", () => {
  test("stdin is one text, without its last line break", async () => {
    expect((await understood(["add", "notes"], { stdin: "one\ntwo\n" }))[1].texts).toEqual(["one\ntwo"]);
  });

  test("with --lines each line is one", async () => {
    expect((await understood(["add", "notes", "--lines"], { stdin: "one\r\n\ntwo\n" }))[1].texts).toEqual([
      "one",
      "two",
    ]);
  });

  test("- stands for stdin among arguments", async () => {
    expect((await understood(["add", "notes", "a", "-", "b"], { stdin: "in\n" }))[1].texts).toEqual(["a", "in", "b"]);
  });

  test("files, each one text", async () => {
    using folder = temporaryFolder();
    const [a, b] = [join(folder.path, "a.md"), join(folder.path, "b.md")];
    await Bun.write(a, "# a\nx\n");
    await Bun.write(b, "b");
    expect((await understood(["add", "notes", "--file", a, "--file", b]))[1].texts).toEqual(["# a\nx", "b"]);
  });

  test("what cannot be read is an OSError that names it", async () => {
    const { code, stderr } = await fake(["add", "notes", "--file", "/nonexistent/file"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "svc: cannot read '/nonexistent/file': there is no such file\n",
    });
  });

  test("nothing on stdin, and bytes that are not text, are ValueErrors", async () => {
    expect((await fake(["add", "notes", "-"])).stderr).toBe("svc: stdin is empty\n");
    for (const verb of [["add"], ["upsert"], ["update", "--ids", "a,b"]]) {
      const { code, stderr } = await fake([...verb, "notes", "words", ""]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("text 2 is empty: give it some words")]);
    }
    const { code, stderr } = await fake(["add", "notes"], { stdin: new Uint8Array([0xff, 0xfe, 0x00]) });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "svc: stdin is not UTF-8 text\n" });
  });

  test("ids come from stdin too", async () => {
    expect(await understood(["delete", "notes", "-"], { stdin: "1\n2\n" })).toEqual([
      "delete",
      { collection: "notes", ids: ["1", "2"] },
    ]);
  });
});

describe("what a person sees", () => {
  test("hits with rank, id, metadata and an excerpt, control characters made visible", async () => {
    const hits = [
      { id: "a", metadata: { scope: "x" }, text: `one\ntwo \x1b[31m${"y".repeat(300)}` },
      { id: "b\nc", score: 0.5 },
    ];
    const { code, stdout } = await fake(["search", "notes", "q"], { env: { FAKE_SEARCH: JSON.stringify({ hits }) } });
    expect(code).toBe(0);
    expect(stdout).not.toContain("\x1b");
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('1. a  {"scope":"x"}');
    expect(lines[1]).toStartWith("   one two \\x1b[31myyy");
    expect(lines[1]).toEndWith("…");
    expect(lines[2]).toBe("2. b\\x0ac  0.5000");
  });

  test("what --max-bytes leaves out is on stderr, with the flag that goes on", async () => {
    const hits = [{ id: "a", metadata_bytes: 65536, text: "part" }];
    const search = { FAKE_SEARCH: JSON.stringify({ hits, next: "c1-2-x-y" }) };
    expect(await fake(["search", "notes", "q", "--max-bytes", "1000"], { env: search })).toEqual({
      code: 0,
      stdout: "1. a  (metadata of 65536 bytes)\n   part\n",
      stderr: "there is more: --after c1-2-x-y\n",
    });
    const rows = [{ id: "a", found: true, text: "part", truncated: true, text_bytes: 9, next_offset: 4 }];
    expect(await fake(["get", "notes", "a"], { env: { FAKE_GET: JSON.stringify({ rows }) } })).toEqual({
      code: 0,
      stdout: "a\npart\n",
      stderr: "the text of a goes on: --offset 4\n",
    });
  });

  test("no hits: nothing on stdout, an empty list with --json", async () => {
    const env = { FAKE_SEARCH: JSON.stringify({ hits: [] }) };
    expect(await fake(["search", "notes", "q"], { env })).toEqual({ code: 0, stdout: "", stderr: "no hits\n" });
    expect((await fake(["search", "notes", "q", "--json"], { env })).stdout).toBe('{"hits":[]}\n');
  });

  test("a notice names the command in place of the tool, and the tool with --json", async () => {
    const notice = "the query has no words: svc_ids with newest lists the rows that were updated last";
    const env = { FAKE_SEARCH: JSON.stringify({ collection: "notes", hits: [], notice }) };
    expect((await fake(["search", "notes", ""], { env })).stderr).toBe(
      "the query has no words: 'svc mem ids --newest 10 notes' lists the rows that were updated last\nno hits\n",
    );
    const lost = "1 replaced row had metadata and has none now: svc_update keeps metadata";
    const upsert = { FAKE_UPSERT: JSON.stringify({ collection: "notes", upserted: 1, notice: lost }) };
    expect((await fake(["upsert", "notes", "x", "--id", "a"], { env: upsert })).stderr).toBe(
      "1 replaced row had metadata and has none now: 'svc mem update' keeps metadata\n",
    );
    const json = await fake(["search", "notes", "", "--json"], { env });
    expect([JSON.parse(json.stdout).notice, json.stderr]).toEqual([notice, ""]);
  });

  test("a repository that was not indexed in full: the hits on stdout, a note about more on stderr", async () => {
    const payload = { collection: "repo_symbols", query: "q", workspace: "/r", index_status: "hit", partial: true };
    const hit = { id: "a", metadata: { path: "a.ts", start_line: 7, end_line: 7 }, text: "7:text" };
    const answered = async (hits: object[]) =>
      fake(["repo-search", "q"], { env: { FAKE_REPO_SEARCH: JSON.stringify({ ...payload, hits }) } });
    const said = "not every file was looked at in time: the next call goes on\n";
    expect(await answered([hit])).toEqual({ code: 0, stdout: "a.ts:7\n7  text\n", stderr: said });
    expect(await answered([])).toEqual({ code: 0, stdout: "", stderr: `${said}no hits\n` });
  });

  test("no collections: nothing on stdout, and on stderr how to make one", async () => {
    const env = { FAKE_LIST_COLLECTIONS: JSON.stringify({ collections: [] }), FAKE_OVERVIEW: "[]" };
    const said = "no collections yet: svc mem add <collection> <text> makes one\n";
    expect(await fake(["list"], { env })).toEqual({ code: 0, stdout: "", stderr: said });
    expect((await fake(["list", "--json"], { env })).stderr).toBe("");
  });

  test("the ids that an add made", async () => {
    const env = { FAKE_ADD: JSON.stringify({ added: 1, collection: "notes", ids: ["0199"] }) };
    expect((await fake(["add", "notes", "a"], { env })).stdout).toBe("added 1 text to notes\n  0199\n");
  });

  test("counts and ids stand alone, for other programs", async () => {
    expect((await fake(["count", "notes"], { env: { FAKE_COUNT: '{"count":7}' } })).stdout).toBe("7\n");
    expect((await fake(["ids", "notes"], { env: { FAKE_IDS: '{"ids":["a","b"]}' } })).stdout).toBe("a\nb\n");
    expect((await fake(["ids", "notes"], { env: { FAKE_IDS: '{"ids":[]}' } })).stdout).toBe("");
  });

  test.each([
    [2, 40_000, "built 2 IVF indexes of notes (from 20000 rows, recall at least 0.98)"],
    [1, 20_000, "built 1 IVF index of notes (from 20000 rows, recall at least 0.98)"],
    [0, 4000, "no partition has 20000 rows, the largest has 4000: nothing was built (--min-rows)"],
    [
      1,
      4000,
      "no partition has 20000 rows, the largest has 4000: nothing was built (--min-rows); the index that was there stays",
    ],
    [0, 0, "notes has no rows: nothing was built"],
  ])("build-ivf says what it built: %d of at most %d rows", async (partitions, largest_partition, line) => {
    const answer = { ivf_built: "notes", min_rows: 20_000, target_recall: 0.98, partitions, largest_partition };
    const { stdout } = await fake(["build-ivf", "notes"], { env: { FAKE_BUILD_IVF: JSON.stringify(answer) } });
    expect(stdout).toBe(`${line}\n`);
  });
});

describe("the process", () => {
  test("a reader that closes the pipe early ends it quietly", async () => {
    const child = start(["mem", "ids", "notes"], {
      preload: [FAKE_GATE],
      env: { FAKE_IDS: "many:500000", FAKE_LOG_CLOSE: "1" },
    });
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    expect(await child.exited).toBe(0);
    expect(await new Response(child.stderr).text()).toBe("closed\n");
  });

  test("Ctrl-C cancels the verb, closes the memory, and exits with 130", async () => {
    const child = start(["mem", "compact", "notes"], {
      preload: [FAKE_GATE],
      env: { FAKE_COMPACT: "wait", FAKE_LOG_CLOSE: "1" },
    });
    const reader = child.stderr.getReader();
    await reader.read(); // "waiting"
    child.kill("SIGINT");
    let rest = "";
    for (let read = await reader.read(); !read.done; read = await reader.read())
      rest += new TextDecoder().decode(read.value);
    expect(await child.exited).toBe(130);
    expect(rest).toBe("closed\nsvc: interrupted\n");
  });

  test("Ctrl-C while it waits for stdin exits with 130", async () => {
    const child = Bun.spawn(
      [process.execPath, "--preload", FAKE_GATE, join(import.meta.dir, "../../../src/main.ts"), "mem", "add", "notes"],
      {
        stdin: "pipe",
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    // More than fits into the pipe: once all is written, it has begun to read.
    child.stdin.write("x".repeat(1 << 20));
    await child.stdin.flush();
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await new Response(child.stderr).text()).toBe("svc: interrupted\n");
  });
});
