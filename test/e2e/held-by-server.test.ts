/** `svc mcp` and `svc mem` beside a `svc serve` whose clients have unsaved changes: they get in, or end soon and name it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../src/remote/client/client.ts";
import type { RemoteCollection } from "../../src/remote/client/collection.ts";
import { type Ended, Session, SVC, signedIn, svc } from "./home.ts";

const NAMES = ["notes", "other", "third"];
/** The repository's index. */
const REPO = "repo_symbols";
/** Below the 30 seconds that other holders are waited for, and far above the second that it takes on a free machine. */
const SOON_MS = 25_000;

let env: Record<string, string>;
const ending: (() => unknown)[] = [];
const mem = (...words: string[]): Promise<Ended> => svc(env, ["mem", ...words]);

beforeAll(async () => {
  env = await signedIn();
  const repo = join(env.HOME!, "repo");
  mkdirSync(repo);
  writeFileSync(join(repo, "a.ts"), "export function deploy() {}\n");
  writeFileSync(join(env.HOME!, "rows.jsonl"), '{"id": "r", "text": "a row"}\n');
  for (const name of NAMES) {
    await mem("create", name, "--lexical");
    expect((await mem("add", name, "one", "--ids", "one")).code).toBe(0);
  }
  // Something to take back.
  expect((await mem("delete", "notes", "one")).code).toBe(0);
  expect((await mem("index", "repo")).code).toBe(0);
  expect((await mem("backup", "saved")).code).toBe(0);
  writeFileSync(join(repo, "b.ts"), "export function roll() {}\n");
});

afterAll(async () => {
  for (const end of ending.reverse()) await end();
});

/** A server of the home's memory, and a client of it. */
async function serve(name: string, ...flags: string[]) {
  const socket = join(env.HOME!, `${name}.sock`);
  const child = Bun.spawn([SVC, "serve", "--socket", socket, ...flags], { env, stdout: "pipe", stderr: "pipe" });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toStartWith("listening on ");
  const store = await connect(socket);
  const stop = async () => {
    await store.close();
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    return new Response(child.stderr).text();
  };
  return { pid: child.pid, store, stop };
}

const heldBy = (name: string, pid: number) =>
  `collection '${name}' has unsaved changes in process ${pid} (svc serve): ` +
  "call save from a client of that server, or start it with --save-interval 1";

const unsaved = async (collection: RemoteCollection) => collection.add([(await one(collection)) as number[]]);
const one = async (collection: RemoteCollection) => {
  const { dim } = (await collection.stats()) as { dim: number };
  return Array.from({ length: dim }, (_, i) => (i === 0 ? 1 : 0));
};

test("without a save interval every verb that changes something ends soon, and names the server", async () => {
  const server = await serve("none");
  for (const name of [...NAMES, REPO]) await unsaved(await server.store.openCollection(name));
  const VERBS: [string[], string?][] = [
    [["add", "notes", "x"]],
    [["upsert", "notes", "x", "--ids", "x"]],
    [["update", "other", "x", "--ids", "one"], "other"],
    [["delete", "other", "one"], "other"],
    [["compact", "notes"]],
    [["build-lexical", "notes"]],
    [["import", "notes", "rows.jsonl"]],
    [["undo", "notes", "--force"]],
    [["drop", "notes", "other", "--yes"]],
    [["rename", "notes", "renamed"]],
    [["describe", "notes", "some words"]],
    [["alter", "notes", "--filter-column", "lang"]],
    [["tune", "notes", "--apply"]],
    [["index", "repo"], REPO],
    [["repo-search", "deploy", "--workspace", "repo"], REPO],
    [["restore", "saved", "--replace"]],
  ];
  const began = performance.now();
  const ended = await Promise.all(VERBS.map(([words]) => mem(...words)));
  for (const [i, [words, name = "notes"]] of VERBS.entries()) {
    const { code, err } = ended[i]!;
    expect({ words, code, err: err.includes(heldBy(name, server.pid)) ? "named" : err }).toEqual({
      words,
      code: 1,
      err: "named",
    });
  }
  // Every collection of the backup is named, though only the first was waited for.
  for (const name of [...NAMES, REPO]) expect(ended.at(-1)!.err).toContain(heldBy(name, server.pid));
  expect(performance.now() - began).toBeLessThan(SOON_MS);
  await (await server.store.openCollection("notes")).save();
  expect((await mem("add", "notes", "let in", "--ids", "let-in")).code).toBe(0);
  const log = await server.stop();
  expect(log).toContain("no save interval: changes are in memory only until a client calls save, and until then no ");
}, 120_000);

test("calls that a client of svc mcp makes at once fail together", async () => {
  const server = await serve("together", "--save-interval", "100000", "--log-format", "json");
  await unsaved(await server.store.openCollection("notes"));
  const session = await Session.open(env);
  ending.push(() => session.close());
  const began = performance.now();
  const calls = Array.from({ length: 12 }, (_, i) =>
    session.raw("svc_add", { collection: "notes", texts: [`t ${i}`] }),
  );
  for (const { text, isError } of await Promise.all(calls)) {
    expect(text).toStartWith(`TimeoutError: ${heldBy("notes", server.pid)}`);
    expect(isError).toBe(true);
  }
  expect(performance.now() - began).toBeLessThan(SOON_MS);
  await (await server.store.openCollection("notes")).save();
  await session.call("svc_add", { collection: "notes", texts: ["let in"] });
  const events = (await server.stop())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).event);
  expect(events).not.toContain("no_save_interval");
}, 120_000);

test("with an interval of a second others get in, while clients go on writing", async () => {
  const server = await serve("second", "--save-interval", "1");
  const [busy] = [await server.store.openCollection("notes")];
  const vector = await one(busy);
  let isOver = false;
  const writing = Promise.all(
    [1, 2, 3, 4].map(async () => {
      while (!isOver) await busy.add([vector]);
    }),
  );
  const began = performance.now();
  for (let i = 0; i < 5; i++) {
    const { code, err } = await mem("add", "notes", `beside ${i}`, "--ids", `beside-${i}`);
    expect(err).not.toContain("Error"); // a note may say that the collection is due to be compacted
    expect(code).toBe(0);
  }
  // 30 seconds each, and seldom in vain, where the server takes the lock again at once.
  expect(performance.now() - began).toBeLessThan(4 * SOON_MS);
  isOver = true;
  await writing;
  await server.stop();
}, 200_000);
