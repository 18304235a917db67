/**
 * The ways in, each with a collection of vectors `c` and one of texts `t`, both with one row, `seed`: a wrong value
 * goes in, an error's line comes back.
 */
import { join } from "node:path";
import type { CollectionApi, StoreApi } from "../../src/api/api.ts";
import { LocalCollection } from "../../src/api/local-collection.ts";
import { LocalStore } from "../../src/api/local-store.ts";
import { errorLine } from "../../src/errors.ts";
import { connect } from "../../src/remote/client/client.ts";
import { serve } from "../../src/remote/server/server.ts";
import { SVC, signedIn, svc } from "../e2e/home.ts";
import { native, scratchDir } from "../fixture.ts";
import { frame, TestServer } from "../remote/server/raw.ts";
import { ARGUMENTS, type Kind, type Transport, toJson, toPython, type WrongValue } from "./wrong-values.ts";

/** One way in. */
export interface Door {
  /** Sends a row of the table; resolves to the error's line, or to what was answered where nothing failed. */
  send(row: WrongValue): Promise<string>;
  /** The ids of both collections, and the names of all, to see that nothing was written. */
  look(): Promise<{ ids: string[]; collections: string[] }>;
  close(): Promise<unknown>;
}

const VECTOR = [1, 0, 0, 0];
const BOTH = { filterColumns: ["kind"] };

async function failure(call: () => Promise<unknown>): Promise<string> {
  try {
    return `nothing failed, the answer was ${JSON.stringify(await call())}`;
  } catch (error) {
    return errorLine(error);
  }
}

// ---- programs -------------------------------------------------------------------------------------------------------

async function seed(store: StoreApi): Promise<void> {
  const c = await store.createCollection("c", { dim: 4, ...BOTH });
  const t = await store.createCollection("t", { embedder: "bigram", ...BOTH, lexical: true } as never);
  await c.add([VECTOR], { ids: ["seed"] });
  await t.addTexts(["one"], { ids: ["seed"] });
}

async function programDoor(store: StoreApi, close: () => Promise<unknown>): Promise<Door> {
  const [c, t] = [await store.openCollection("c"), await store.openCollection("t")];
  return {
    send: ({ kind, value }) => failure(() => programCall(store, c, t, kind, value as never)),
    async look() {
      return { ids: [...(await c.ids()), ...(await t.ids())], collections: await store.collections() };
    },
    close,
  };
}

async function programCall(
  store: StoreApi,
  c: CollectionApi,
  t: CollectionApi,
  kind: Kind,
  value: never,
): Promise<unknown> {
  const local = t instanceof LocalCollection ? t : undefined;
  switch (kind) {
    case "vectors":
      return c.add(value);
    case "vector":
      return c.search(value);
    case "texts":
      return t.addTexts(value);
    case "text":
      return t.searchText(value);
    case "ids":
      return c.delete(value);
    case "idsOfRow":
      return c.add([VECTOR], { ids: value });
    case "twice":
      return c.add([VECTOR, VECTOR], { ids: value });
    case "metadata":
      return c.add([VECTOR], { metadata: value });
    case "where":
      return c.ids(value);
    case "topK":
      return c.search(VECTOR, { topK: value });
    case "name":
      return store.openCollection(value);
    case "minRows":
    case "targetRecall":
      return local!.buildIvf({ [kind]: value });
    case "k1":
    case "b":
      return local!.buildLexical({ [kind]: value });
    default:
      return store.createCollection("new", { dim: 4, [kind]: value });
  }
}

async function sdk(): Promise<Door> {
  const store = new LocalStore(scratchDir(), await native(), "0.0.0-test");
  await seed(store);
  return programDoor(store, () => store.close());
}

async function client(): Promise<Door> {
  const { store, server, stop } = await served();
  const remote = await connect(server.address);
  await seed(remote);
  return programDoor(remote, async () => {
    await remote.close();
    await stop();
    await store.close();
  });
}

async function served() {
  const store = new LocalStore(scratchDir(), await native(), "0.0.0-test");
  const server = await serve({ store, socketPath: join(scratchDir(), "svc.sock") });
  return { store, server, stop: () => server.stop() };
}

// ---- frames ---------------------------------------------------------------------------------------------------------

/** The operation that takes an argument, its collection, and the arguments beside it as JSON. */
const OPERATIONS: Partial<Record<Kind, readonly [op: string, collection: string, otherArgs?: string]>> = {
  vectors: ["add", "c"],
  vector: ["search", "c"],
  texts: ["add_texts", "t"],
  text: ["search_text", "t"],
  ids: ["delete", "c"],
  idsOfRow: ["add", "c", '"vectors":[[1,0,0,0]],'],
  twice: ["add", "c", '"vectors":[[1,0,0,0],[1,0,0,0]],'],
  metadata: ["add", "c", '"vectors":[[1,0,0,0]],'],
  where: ["ids", "c"],
  topK: ["search", "c", '"vector":[1,0,0,0],'],
  flag: ["search", "c", '"vector":[1,0,0,0],'],
};

/** @param padding makes frames large, so that another thread reads them */
async function wire(padding = ""): Promise<Door> {
  const server = await TestServer.start();
  const raw = await server.open();
  await raw.ok("create_collection", "c", { dim: 4, filter_columns: ["kind"] });
  await raw.ok("create_collection", "t", { embedder: "bigram", filter_columns: ["kind"] });
  await raw.ok("add", "c", { vectors: [VECTOR], ids: ["seed"] });
  await raw.ok("add_texts", "t", { texts: ["one"], ids: ["seed"] });
  return {
    async send({ kind, value }) {
      const name = (ARGUMENTS[kind] as Partial<Record<Transport, string>>).wire!;
      const dim = kind === "dim" ? "" : '"dim":4,';
      const [op, collection, otherArgs] = OPERATIONS[kind] ?? ["create_collection", "new", dim];
      const body =
        kind === "name"
          ? `"op":"open_collection","collection":${toJson(value)}`
          : `"op":"${op}","collection":"${collection}","args":{${otherArgs ?? ""}"${name}":${toJson(value)}}`;
      raw.send(frame(`{${body},"padding":"${padding}"}`));
      const reply = await raw.next(20_000);
      return reply.ok ? `nothing failed, the answer was ${JSON.stringify(reply.result)}` : reply.error;
    },
    async look() {
      const ids = [...(await raw.ok("ids", "c")), ...(await raw.ok("ids", "t"))];
      return { ids, collections: await raw.ok("collections") };
    },
    close: () => server.stop(),
  };
}

// ---- the executable -------------------------------------------------------------------------------------------------

let home: Promise<Record<string, string>> | undefined;

/** A signed-in home with a memory that has `t`, at a place of its own for each door. */
async function memory(): Promise<{ env: Record<string, string>; path: string }> {
  home ??= signedIn();
  const [env, path] = [await home, scratchDir()];
  await run(env, ["mem", "create", "t", "--filter-column", "kind", "--lexical", "--path", path]);
  await run(env, ["mem", "add", "t", "one", "--id", "seed", "--path", path]);
  return { env, path };
}

async function run(env: Record<string, string>, words: string[]): Promise<string> {
  const { code, out, err } = await svc(env, words);
  if (code !== 0) throw new Error(err);
  return out;
}

async function lookAt(env: Record<string, string>, path: string) {
  const json = async (...words: string[]) => JSON.parse(await run(env, ["mem", ...words, "--json", "--path", path]));
  return { ids: (await json("ids", "t")).ids, collections: (await json("list")).collections };
}

async function terminal(): Promise<Door> {
  const { env, path } = await memory();
  return {
    async send({ kind, value }) {
      const words = ["mem", ...terminalWords(kind, value), "--path", path];
      const [plain, json] = [await svc(env, words), await svc(env, [...words, "--json"])];
      if (plain.code === 0) return `nothing failed, the answer was ${plain.out}`;
      const { type, message } = JSON.parse(json.err).error;
      // A person reads the sentence without the class of the error, and after wrong usage where to read on.
      const line = plain.err.replace(/^svc: /, "").replace(/(; see 'svc [a-z -]+--help')?\n$/, "");
      const sentence = message.replace(/; see 'svc [a-z -]+--help'$/, "");
      return line === sentence ? `${type}: ${sentence}` : `${plain.err} without --json, ${json.err} with it`;
    },
    look: () => lookAt(env, path),
    close: async () => {},
  };
}

function terminalWords(kind: Kind, value: unknown): string[] {
  const ids = () => (value as unknown[]).map((id) => `--id=${id}`);
  switch (kind) {
    case "idsOfRow":
      return ["add", "t", "two", ...ids()];
    case "twice":
      return ["add", "t", "two", "three", ...ids()];
    case "metadata":
      return ["add", "t", "two", `--metadata=${toJson(value)}`];
    case "where":
      return [
        "count",
        "t",
        ...Object.entries(value as object).map(([column, one]) => `--where=${column}=${toJson(one)}`),
      ];
    case "topK":
      return ["search", "t", "one", `--top-k=${value}`];
    case "limit":
      return ["ids", "t", `--limit=${value}`];
    case "minRows":
      return ["build-ivf", "t", `--min-rows=${value}`];
    case "targetRecall":
      return ["build-ivf", "t", `--target-recall=${value}`];
    default:
      return ["build-lexical", "t", `--${kind}=${value}`];
  }
}

/** The tool that takes an argument, and what stands beside it as JSON. */
const TOOLS: Partial<Record<Kind, readonly [tool: string, idsOfRow: string]>> = {
  texts: ["add", '"collection":"t",'],
  text: ["search", '"collection":"t",'],
  ids: ["delete", '"collection":"t",'],
  idsOfRow: ["add", '"collection":"t","texts":["two"],'],
  twice: ["add", '"collection":"t","texts":["two","three"],'],
  metadata: ["add", '"collection":"t","texts":["two"],'],
  where: ["count", '"collection":"t",'],
  topK: ["search", '"collection":"t","query":"one",'],
  name: ["stats", ""],
  partitionBy: ["create_collection", '"name":"new",'],
  filterColumns: ["create_collection", '"name":"new",'],
  minRows: ["build_ivf", '"collection":"t",'],
  targetRecall: ["build_ivf", '"collection":"t",'],
  k1: ["build_lexical", '"collection":"t",'],
  b: ["build_lexical", '"collection":"t",'],
  limit: ["ids", '"collection":"t",'],
  flag: ["search", '"collection":"t","query":"one",'],
};

/** Lines on the pipes of `svc mcp`: JSON as it is written, where a client's library would have changed it. */
async function mcp(): Promise<Door> {
  const { env, path } = await memory();
  const child = Bun.spawn([SVC, "mcp", "--path", path], { env, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const answers = lines(child.stdout);
  let id = 0;
  const ask = async (method: string, params: string) => {
    child.stdin.write(`{"jsonrpc":"2.0","id":${++id},"method":"${method}","params":${params}}\n`);
    await child.stdin.flush();
    for (;;) {
      const { value, done } = await answers.next();
      if (done) throw new Error("the server ended");
      const message = JSON.parse(value);
      if (message.id === id) return message.result;
    }
  };
  await ask("initialize", '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}');
  return {
    async send({ kind, value }) {
      const [tool, otherArgs] = TOOLS[kind]!;
      const name = (ARGUMENTS[kind] as Partial<Record<Transport, string>>).mcp!;
      const given = `{${otherArgs}"${name}":${toJson(value)}}`;
      const { content, isError } = await ask("tools/call", `{"name":"svc_${tool}","arguments":${given}}`);
      return isError ? content[0].text : `nothing failed, the answer was ${content[0].text}`;
    },
    look: () => lookAt(env, path),
    async close() {
      child.stdin.end();
      await child.exited;
    },
  };
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const whole = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = whole.pop()!;
    yield* whole;
  }
}

// ---- Python ---------------------------------------------------------------------------------------------------------

const PYTHON = Bun.which("python3");

async function python(): Promise<Door> {
  if (!PYTHON) throw new Error("there is no python3");
  const { store, server, stop } = await served();
  await seed(store);
  const root = join(import.meta.dir, "../..");
  const child = Bun.spawn([PYTHON, join(import.meta.dir, "wrong_values.py"), server.address], {
    env: { ...process.env, PYTHONPATH: join(root, "src/remote/python"), PYTHONDONTWRITEBYTECODE: "1" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const answers = lines(child.stdout);
  return {
    async send({ kind, value, python: written }) {
      const argument = (ARGUMENTS[kind] as Partial<Record<Transport, string>>).python!;
      child.stdin.write(`${JSON.stringify([kind, argument, written ?? toPython(value)])}\n`);
      await child.stdin.flush();
      return JSON.parse((await answers.next()).value!);
    },
    async look() {
      const [c, t] = [store.collection("c"), store.collection("t")];
      return { ids: [...(await c.ids()), ...(await t.ids())], collections: await store.collections() };
    },
    async close() {
      child.stdin.end();
      await child.exited;
      await stop();
      await store.close();
    },
  };
}

/** How each door is opened; `wire` has a second one for large frames, which another thread reads. */
export const DOORS: readonly (readonly [Transport, string, () => Promise<Door>])[] = [
  ["mcp", "mcp", mcp],
  ["terminal", "terminal", terminal],
  ["sdk", "sdk", sdk],
  ["wire", "wire", wire],
  ["wire", "wire, in large frames", () => wire("x".repeat(200_000))],
  ["client", "client", client],
  ["python", "python", python],
];

/** Why a transport cannot be tried on this machine; undefined where it can. */
export function missing(transport: Transport): string | undefined {
  return transport === "python" && !PYTHON ? "there is no python3 on this machine" : undefined;
}
