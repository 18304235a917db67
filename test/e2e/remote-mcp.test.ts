/** `svc mcp --remote`: the tools over a memory that `svc serve` has. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../src/remote/client/client.ts";
import { dayCalls, dayNotes } from "../bench/day/data.ts";
import { emptyHome, type Home, Session, SVC, signedIn, svc } from "./home.ts";

const running: Bun.Subprocess[] = [];
afterAll(async () => {
  for (const server of running) {
    server.kill();
    await server.exited;
  }
});

/** Starts a server; resolves once it listens, to its address and what ends it. */
async function serve(env: Home, ...flags: string[]) {
  const server = Bun.spawn([SVC, "serve", "--json", ...flags], { env, stdout: "pipe", stderr: "ignore" });
  running.push(server);
  const { value } = await server.stdout.getReader().read();
  const { address } = JSON.parse(new TextDecoder().decode(value)) as { address: string };
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    server.kill(signal);
    await server.exited;
  };
  return { address, stop };
}

/** An answer without what differs from one run to the next: times, and sizes that their digits decide. */
function lasting(text: string): string {
  return text
    .replace(/"(created|updated|generation)":\d+/g, '"$1":0')
    .replace(/"last_write":"[^"]*"/g, '"last_write":""')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\dZ/g, "TIME")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID");
}

const ODD_CALLS: [name: string, args: unknown][] = [
  ["svc_nothing", {}],
  ["svc_search", undefined],
  ["svc_search", []],
  ["svc_search", { collection: "gone", query: "q" }],
  ["svc_search", { collection: "notes", query: "q", top_k: 0 }],
  ["svc_search", { collection: "notes", query: "" }],
  ["svc_search", { collection: "notes", query: "x".repeat(100_000), top_k: 1 }],
  ["svc_search", { collection: "notes", query: "webhooks", max_bytes: 1000, top_k: 100 }],
  ["svc_search", { collection: "notes", query: "webhooks", where: { scope: "harbor", kind: "decision" } }],
  ["svc_search", { collection: "notes", query: "webhooks", with_text: true, with_score: true, explain: true }],
  ["svc_search", { collection: "notes", query: "webhooks", with_text: false }],
  ["svc_search_lexical", { collection: "notes", query: "webhooks" }],
  ["svc_add", { collection: "notes", texts: ["one"], ids: ["n001"] }],
  ["svc_add", { collection: "notes", texts: ["one", "two"], ids: ["a"] }],
  ["svc_add", { collection: "odd", texts: ["größe €\u0000", "\ud800"], ids: ["a", "b"] }],
  ["svc_add", { collection: "odd", texts: ["größe €"], ids: ["a"], metadata: [{ "2": 1, a: 1, "1": { b: [null] } }] }],
  ["svc_add", { collection: "odd", texts: ["token ghp_" + "a1B2".repeat(9)], ids: ["c"] }],
  ["svc_get", { collection: "odd", ids: ["a", "b", "c"] }],
  ["svc_upsert", { collection: "odd", texts: ["größer €"], ids: ["a"] }],
  ["svc_update", { collection: "odd", texts: ["x"], ids: ["gone"] }],
  ["svc_create_collection", { name: "made", lexical: true, filter_columns: ["kind"] }],
  ["svc_add", { collection: "made", texts: ["a note on words"], ids: ["w"] }],
  ["svc_build_lexical", { collection: "made" }],
  ["svc_search_lexical", { collection: "made", query: "words" }],
  ["svc_build_ivf", { collection: "notes", min_rows: 1_000_000 }],
  ["svc_compact", { collection: "odd" }],
  ["svc_delete", { collection: "odd", ids: ["a", "gone"] }],
  ["svc_ids", { collection: "odd", limit: 1 }],
  ["svc_count", { collection: "odd" }],
  ["svc_list_collections", {}],
  ["svc_tune", { collection: "odd", dry_run: true, max_bytes: 1 }],
];

test.each([[[]], [["--with-text", "--project", "harbor", "--secrets", "mask"]]])(
  "an agent's day and odd calls are answered as by a memory here, to the byte: flags %p",
  async (flags: string[]) => {
    const [here, there] = [await signedIn(), await signedIn()];
    const { address } = await serve(there, "--socket", join(there.HOME!, "s.sock"));
    const local = await Session.open(here, ...flags);
    // The client's machine has no login.
    const remote = await Session.open(emptyHome(), "--remote", address, ...flags);
    const notes = [...Map.groupBy(dayNotes(), ({ collection }) => collection)].map(
      ([collection, own]): [string, object] => [
        "svc_add",
        {
          collection,
          texts: own.map(({ text }) => text),
          ids: own.map(({ id }) => id),
          metadata: own.map(({ metadata = {} }) => metadata),
        },
      ],
    );
    const day = dayCalls().map((call): [string, unknown] => [call.tool, call.arguments]);
    let answered = 0;
    const compare = async (calls: readonly (readonly [string, unknown])[]) => {
      for (const [name, args] of calls) {
        if (name.includes("repo") || name === "svc_workspace_info") continue;
        const [expected, got] = [await local.raw(name, args as object), await remote.raw(name, args as object)];
        expect([name, args, lasting(got.text), got.isError]).toEqual([
          name,
          args,
          lasting(expected.text),
          expected.isError,
        ]);
        answered++;
      }
    };
    await compare(notes);
    // The vectors of meaning that are missing are made in the background, by each process in its own time.
    for (const collection of new Set(dayNotes().map((note) => note.collection)))
      for (const env of [here, there]) expect((await svc(env, ["mem", "build-meaning", collection])).code).toBe(0);
    await compare([...day, ...ODD_CALLS]);
    expect(answered).toBeGreaterThan(120);
    // A process that has nothing to do with the server reads what was saved.
    const [saved] = (await svc(there, ["mem", "count", "notes", "--json"])).out.trim().split("\n");
    const [own] = (await svc(here, ["mem", "count", "notes", "--json"])).out.trim().split("\n");
    expect(saved).toBe(own!);
  },
  120_000,
);

describe("with a server", () => {
  let env: Home;
  let address: string;
  let socket: string;
  beforeAll(async () => {
    env = await signedIn();
    socket = join(env.HOME!, "s.sock");
    ({ address } = await serve(env, "--socket", socket));
  });

  test("a tool sees and saves what other clients have not saved", async () => {
    await using client = await connect(address);
    const shared = await client.createCollection("shared", { embedder: "multigram" });
    await shared.addTexts(["The kettle is broken."], { ids: ["staged"] });
    const session = await Session.open(emptyHome(), "--remote", address);
    const found = await session.call("svc_search", { collection: "shared", query: "kettle" });
    expect(found.hits[0].id).toBe("staged");
    expect((await shared.stats()).unsaved_changes).toBe(true);
    await session.call("svc_add", { collection: "shared", texts: ["The toaster works."], ids: ["saved"] });
    expect((await shared.stats()).unsaved_changes).toBe(false);
    expect((await svc(env, ["mem", "ids", "shared"])).out).toBe("staged\nsaved\n");
  });

  test("the history names the client, not the server", async () => {
    const session = await Session.open(emptyHome(), "--remote", address);
    await session.call("svc_add", { collection: "origins", texts: ["one"], ids: ["a"] });
    const { out } = await svc(env, ["mem", "history", "origins", "a", "--json"]);
    expect(JSON.parse(out.split("\n")[0]!)).toMatchObject({});
    expect(out).toContain('"e2e"');
    expect(out).toContain('"svc_add"');
  });

  test("tools for repositories work on files of this machine", async () => {
    const here = await signedIn();
    const work = join(here.HOME!, "work");
    mkdirSync(work);
    Bun.spawnSync(["git", "init", "-q", work]);
    writeFileSync(join(work, "kettle.ts"), "export function boilWater() {}\n");
    const session = await Session.openIn(work, here, "--remote", address);
    const { hits } = await session.call("svc_repo_search", { query: "boilWater" });
    expect(JSON.stringify(hits[0])).toContain("kettle.ts");
    const { collections } = await session.call("svc_list_collections");
    expect(collections).not.toContain("repo_symbols");
    await using client = await connect(address);
    await expect(client.callTool("svc_repo_search", { query: "x" })).rejects.toThrow(
      "svc_repo_search works on the files of a machine",
    );
  });

  test("SVC_REMOTE names it too, and --path is stronger", async () => {
    await using client = await connect(address);
    await client.callTool("svc_add", { collection: "named", texts: ["one"] });
    const there = await Session.open({ ...emptyHome(), SVC_REMOTE: address });
    expect((await there.call("svc_list_collections")).collections).toContain("named");
    const here = await signedIn();
    const own = await Session.open({ ...here, SVC_REMOTE: address }, "--path", join(here.HOME!, "own"));
    expect((await own.call("svc_list_collections")).collections).toEqual([]);
  });

  test("what its context says is checked", async () => {
    await using client = await connect(address);
    const call = (context: object) => client.callTool("svc_count", { collection: "c" }, context);
    await expect(call({ project: "" })).rejects.toThrow("project '' is not a scope");
    await expect(call({ secrets: "eat" })).rejects.toThrow("secrets");
    await expect(call({ text_bytes: 0 })).rejects.toThrow("text_bytes");
    await expect(call({ nothing: 1 })).rejects.toThrow("unknown argument 'nothing'");
  });
});

describe("svc mem --remote", () => {
  let env: Home;
  let address: string;
  const there = (...words: string[]) => svc({ ...emptyHome(), SVC_REMOTE: address }, ["mem", ...words]);
  beforeAll(async () => {
    env = await signedIn();
    ({ address } = await serve(env, "--socket", join(env.HOME!, "s.sock")));
  });

  test("the commands of the tools do what they do here, without a login", async () => {
    const steps = [
      [
        "add",
        "notes",
        "we deploy blue green",
        "retro is on Friday",
        "--ids",
        "deploy,retro",
        "--metadata",
        '{"scope":"ops"}',
      ],
      ["add", "words", "a kettle", "--id", "k", "--lexical"],
      ["search", "notes", "how do we deploy", "--where", "scope=ops", "--json"],
      ["search", "*", "kettle"],
      ["upsert", "notes", "retro is on Monday", "--id", "retro"],
      ["update", "notes", "we deploy canaries", "--id", "deploy"],
      ["get", "notes", "deploy", "nothing"],
      ["ids", "notes"],
      ["count", "notes"],
      ["delete", "notes", "retro"],
      ["count", "gone"],
      ["search", "notes", "x", "--top-k", "0"],
    ];
    const here = await signedIn();
    for (const words of steps) {
      const [expected, got] = [await svc(here, ["mem", ...words]), await there(...words)];
      expect([words, got.code, lasting(got.out), got.err]).toEqual([
        words,
        expected.code,
        lasting(expected.out),
        expected.err,
      ]);
    }
    const searched = await svc(emptyHome(), ["mem", "search", "notes", "deploy", "--remote", address]);
    expect(searched).toMatchObject({ code: 0, out: expect.stringContaining("deploy") });
    const { out } = await svc(emptyHome(), ["mem", "list", "--remote", address]);
    expect(out.split("\n").map((line) => line.split(/\s+/).slice(0, 2))).toEqual([
      ["NAME", "ROWS"],
      ["notes", "1"],
      ["words", "1"],
      [""],
    ]);
    expect(JSON.parse((await there("list", "--json")).out).collections).toEqual(["notes", "words"]);
  });

  test("commands about repositories work on files of this machine all the same", async () => {
    const own = await signedIn();
    const here: Home = { ...own, SVC_REMOTE: address };
    const work = join(own.HOME!, "work");
    mkdirSync(work);
    Bun.spawnSync(["git", "init", "-q", work]);
    writeFileSync(join(work, "kettle.ts"), "export function boilWater() {}\n");
    expect((await svc(here, ["mem", "repo-search", "boilWater"], "", { cwd: work })).out).toContain("kettle.ts");
    expect((await svc(here, ["mem", "repos"], "", { cwd: work })).out).toContain("work");
  });

  test("what needs the files of the memory says where they are", async () => {
    for (const words of [
      ["history", "notes"],
      ["check"],
      ["backup", "b"],
      ["export", "notes"],
      ["delete", "notes", "--where", "a=b", "--yes"],
    ]) {
      const { code, err } = await there(...words);
      expect([words, code, err]).toEqual([words, 2, expect.stringContaining(`which are where ${address} runs`)]);
    }
    expect((await svc(env, ["mem", "pin", "notes", "m", "--remote", address])).err).toContain(
      "unknown flag '--remote': this command works on files of this machine",
    );
    expect((await there("count", "notes", "--path", join(env.HOME!, "none"))).err).toContain("not logged in");
  });
});

describe("a server that goes away", () => {
  test("is named at once, and is found again once it is back", async () => {
    const env = await signedIn();
    const socket = join(env.HOME!, "s.sock");
    const first = await serve(env, "--socket", socket);
    const session = await Session.open(emptyHome(), "--remote", first.address);
    await session.call("svc_add", { collection: "notes", texts: ["one"], ids: ["a"] });
    await first.stop("SIGKILL");
    const before = performance.now();
    expect(await session.raw("svc_count", { collection: "notes" })).toEqual({
      text: expect.stringMatching(/^OSError: cannot connect to unix:.*is `svc serve` running/),
      isError: true,
    });
    expect(performance.now() - before).toBeLessThan(10_000);
    await serve(env, "--socket", socket);
    expect((await session.call("svc_count", { collection: "notes" })).count).toBe(1);
  });

  test("tools/list needs none", async () => {
    const session = await Session.open(emptyHome(), "--remote", "127.0.0.1:1");
    expect((await session.client.listTools()).tools.length).toBe(19);
    expect((await session.raw("svc_count", { collection: "c" })).text).toMatch(/^OSError: .*127\.0\.0\.1:1/);
  });
});

describe("over TCP", () => {
  test("the token is in a file or in the environment, and a wrong one is refused", async () => {
    const env = await signedIn();
    const token = "correct-horse-battery-staple";
    const port = ["--host", "127.0.0.1", "--port", "0"];
    const { address } = await serve({ ...env, SVC_ACCESS_TOKEN: token }, ...port);
    const file = join(env.HOME!, "token");
    writeFileSync(file, `${token}\n`);
    chmodSync(file, 0o600);
    const byFile = await Session.open(emptyHome(), "--remote", address, "--token-file", file);
    expect((await byFile.call("svc_list_collections")).collections).toEqual([]);
    const byEnv = await Session.open({ ...emptyHome(), SVC_ACCESS_TOKEN: token }, "--remote", address);
    expect((await byEnv.call("svc_list_collections")).collections).toEqual([]);
    const without = await Session.open(emptyHome(), "--remote", address, "--token-file", "gone");
    expect((await without.raw("svc_list_collections")).text).toBe(
      "OSError: there is no token in 'gone': there is no such file",
    );
    for (const bad of ["", "wrong"]) {
      const session = await Session.open({ ...emptyHome(), SVC_ACCESS_TOKEN: bad }, "--remote", address);
      expect((await session.raw("svc_list_collections")).text).toMatch(/^PermissionError: /);
    }
  });
});

test.each([
  [["--remote", "nowhere"], /nowhere/],
  [["--remote", "./s.sock", "--path", "m"], /give one of them/],
  [["--token-file", "t"], /give --remote too/],
])("%p is refused at the start", async (flags, message) => {
  const { code, err } = await svc(emptyHome(), ["mcp", ...flags], "");
  expect(code).not.toBe(0);
  expect(err).toMatch(message);
});

test("the instructions call a memory one on this machine only where it is", async () => {
  const home = await signedIn();
  const { address } = await serve(home, "--socket", join(home.HOME!, "s.sock"));
  const sentence = "svc is a memory on this machine";
  expect((await Session.open(home)).client.getInstructions()).toContain(sentence);
  const served = (await Session.open(emptyHome(), "--remote", address)).client.getInstructions();
  expect(served).toStartWith("svc is a memory that outlasts the session");
});
