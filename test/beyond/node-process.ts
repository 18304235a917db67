/** A process of a node, as the SDK opens one: a line of JSON in, what became of it out. It ends with its input. */
import { writeSync } from "node:fs";
import { LocalStore } from "../../src/api/local-store.ts";
import { SvcError } from "../../src/errors.ts";
import { Follower } from "../../src/replication/node/follower.ts";
import { LazyEngine } from "../../src/replication/node/lazy.ts";
import { Log } from "../../src/replication/node/log.ts";
import type { Deadlines } from "../../src/replication/postgres/connection.ts";
import { openPostgres } from "../../src/replication/postgres/engine.ts";
import type { Collection } from "../../src/store/collection.ts";
import { dropCollection } from "../../src/store/moves.ts";
import { openBuiltNative } from "../native.ts";
import { DIM, QUERY_VECTORS, QUESTIONS, rowsOf, type Version } from "./rows.ts";

/** The collection of all requests. */
export const NAME = "c";

/** How a process is started. */
export interface Site {
  address: string;
  dir: string;
  node: string;
  deadlines: Deadlines;
}

/** What a process is asked. */
export type Request =
  | { call: "create" | "follow" | "ask" | "list" | "verify" | "beside" | "drop" | "sweep" | "now" }
  | { call: "add" | "upsert" | "batch"; rows: Version[] }
  | { call: "writers"; each: Version[][]; stages: boolean }
  | { call: "delete" | "texts"; ids: string[] }
  | { call: "compact"; keepHistory: boolean }
  /** Requests that begin at once; answered by what became of each. */
  | { call: "together"; requests: Request[] };

/** The answer: a value, or the code and message of an error. */
export type Reply = { value: unknown } | { code: string; message: string };

/** A row, as far as the model knows it. */
export type Listed = [id: string, text: string];

/** The scores of all queries, in hexadecimal: a number's digits could hide its last bit. */
async function answersOf(c: Collection): Promise<string> {
  const answers: unknown[] = [];
  const scored = (rows: { id: string; score: number }[]) =>
    rows.map(({ id, score }) => [id, Buffer.from(new Float64Array([score]).buffer).toString("hex")]);
  for (const text of QUESTIONS) answers.push(scored(await c.searchLexical(text, { topK: 10 })));
  for (const vector of QUERY_VECTORS) answers.push(scored((await c.search(vector, { topK: 10 })).rows));
  return JSON.stringify(answers);
}

/** The answers and the generation that they are of, which stood still meanwhile. */
async function ask(c: Collection): Promise<{ generation: number; answers: string }> {
  for (;;) {
    const { generation } = c;
    const answers = await answersOf(c);
    if (c.generation === generation) return { generation, answers };
  }
}

/** Changes that are staged and saved together. */
async function batch(c: Collection, rows: readonly Version[]): Promise<string> {
  for (const row of rows) await c.stage((t) => t.put(0, rowsOf([row])));
  for (let tries = 1; ; tries++) {
    try {
      await c.save();
      return "saved";
    } catch (error) {
      if (!c.hasStaged) throw error;
      if (tries === 5) return "staged"; // the next change saves them
    }
  }
}

/** Writers at the same time, each of which adds its rows one after the other, or stages and saves them. */
async function writers(c: Collection, each: readonly Version[][], stages: boolean): Promise<void> {
  const write = async (versions: readonly Version[]) => {
    for (const version of versions) {
      const rows = rowsOf([version]);
      if (stages) await c.stage((t) => t.put(0, rows)).then(() => c.save());
      else await c.add(rows);
    }
  };
  await Promise.all(each.map(write));
}

async function serve(site: Site): Promise<void> {
  const native = await openBuiltNative();
  const { address, dir, node, deadlines } = site;
  const engine = new LazyEngine(() => openPostgres(address, { node, deadlines }));
  const log = new Log(engine, dir);
  const follower = new Follower(log, native.env, (line) => console.error(line));
  const close = async () => {
    await follower.close();
    await engine.close();
  };
  const store = new LocalStore(dir, native, "0.0.0-test", undefined, {}, {}, { log, close });
  await follower.start(false);

  const answer = async (request: Request): Promise<unknown> => {
    if (request.call === "together") return Promise.all(request.requests.map(replyTo));
    if (request.call === "follow") return follower.follow();
    if (request.call === "drop") return dropCollection(store.shared, NAME);
    if (request.call === "sweep") return engine.sweep(NAME);
    if (request.call === "now") return Date.now();
    const c =
      request.call === "create" ? store.shared.create(NAME, { dim: DIM, lexical: true }) : store.shared.open(NAME);
    switch (request.call) {
      case "create":
        return c.buildLexical(1.2, 0.75);
      case "add":
        return c.add(rowsOf(request.rows));
      case "upsert":
        return c.upsert(rowsOf(request.rows));
      case "batch":
        return batch(c, request.rows);
      case "writers":
        return writers(c, request.each, request.stages);
      case "delete":
        return c.delete(request.ids);
      case "texts":
        return c.get(request.ids, { text: true }).map(({ text }) => text ?? null);
      case "compact":
        return c.compact(undefined, request.keepHistory);
      case "beside":
        return c.compactBeside(new AbortController().signal);
      case "verify":
        return c.verify();
      case "list":
        return c.list({}, { text: true }).map(({ id, text }): Listed => [id, text!]);
      case "ask":
        return ask(c);
    }
  };
  const replyTo = async (request: Request): Promise<Reply> => {
    try {
      return { value: (await answer(request)) ?? null };
    } catch (error) {
      const code = error instanceof SvcError ? error.code : `odd ${(error as Error).stack}`;
      return { code, message: (error as Error).message };
    }
  };
  const say = (reply: Reply) => writeSync(1, `${JSON.stringify(reply)}\n`);
  say({ value: "ready" });
  for await (const line of console) say(await replyTo(JSON.parse(line)));
  await store.close();
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!));
