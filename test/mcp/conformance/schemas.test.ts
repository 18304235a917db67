/** Every kind of message of `svc mcp`, checked with the official schema of its era. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type Home, SVC, signedIn } from "../../e2e/home.ts";
import { Client, type Message } from "../client.ts";
import { OfficialSchema, type Revision } from "./official.ts";

/** A folder that is indexed in a moment. */
const FOLDER = join(import.meta.dir, "..");
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "schemas", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

let env: Home;
beforeEach(async () => {
  env = await signedIn();
});

let session: CheckedSession | undefined;
afterEach(() => session?.client.close());

/** A client of one era that keeps what is wrong with any message in either direction. */
class CheckedSession {
  readonly client: Client;
  readonly faults: string[] = [];
  private readonly schema: OfficialSchema;
  private readonly methods = new Map<unknown, string>();
  private nextId = 1;

  constructor(readonly revision: Revision) {
    this.client = new Client(env, [SVC, "mcp"]);
    this.client.answer = () => ({ result: { roots: [{ uri: `file://${FOLDER}` }] } });
    this.schema = new OfficialSchema(revision);
  }

  /** Sends a request that the schema allows, and gives its answer. */
  async request(method: string, params: object = {}): Promise<Message> {
    const message = this.message(method, params);
    await this.client.send(message);
    return this.answerTo(message.id);
  }

  /** Sends a request and takes it back in one write, so that it is not done when the server reads that. */
  async cancelled(method: string, params: object): Promise<string> {
    const message = this.message(method, params);
    const cancel = this.notification("notifications/cancelled", { requestId: message.id, reason: "no longer needed" });
    await this.client.write(`${JSON.stringify(message)}\n${JSON.stringify(cancel)}\n`);
    return message.id;
  }

  async notify(method: string, params?: object): Promise<void> {
    await this.client.send(this.notification(method, params));
  }

  /** Sends a request that the schema does not allow, as it is. */
  async wrong(method: string, params?: object): Promise<Message> {
    const id = this.nextId++;
    this.methods.set(id, method);
    await this.client.send({ jsonrpc: "2.0", id, method, params });
    return this.answerTo(id);
  }

  /** Ends the session, and gives what was wrong with any message of it. */
  async end(): Promise<string[]> {
    expect(await this.client.close()).toBe(0);
    const ofServer = this.client.messages.flatMap((m) => this.schema.faultsOf(m, this.methods.get(m.id)));
    return [...this.faults, ...ofServer];
  }

  private message(method: string, params: object): { id: string } {
    const id = `r${this.nextId++}`;
    this.methods.set(id, method);
    return this.checked({ jsonrpc: "2.0", id, method, params: this.withMeta(params) });
  }

  private notification(method: string, params?: object): object {
    return this.checked({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  private checked<T extends object>(message: T): T {
    this.faults.push(...this.schema.faultsOfRequest(message));
    return message;
  }

  private answerTo(id: string | number): Promise<Message> {
    return this.client.next((message) => message.id === id && message.method === undefined);
  }

  private withMeta(params: { _meta?: object }): object {
    return this.revision === "2025-11-25" ? params : { ...params, _meta: { ...META, ...params._meta } };
  }
}

/** What both eras have: tools that answer and fail, progress, a cancellation, and errors. */
async function callTools(s: CheckedSession): Promise<void> {
  const { tools } = (await s.request("tools/list")).result;
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  for (const { inputSchema } of tools) expect(ajv.validateSchema(inputSchema)).toBe(true);
  const call = (name: string, args: object, meta: object = {}) =>
    s.request("tools/call", { name, arguments: args, _meta: meta });
  const notes = { collection: "notes", texts: ["Deploys go out on Tuesdays."], ids: ["deploys"] };
  expect((await call("svc_add", notes)).result.isError).toBe(false);
  expect((await call("svc_search", { collection: "notes", query: "deploy" })).result.isError).toBe(false);
  expect((await call("svc_search", { collection: "missing", query: "deploy" })).result.isError).toBe(true);
  expect((await call("svc_search", { query: 1 })).result.isError).toBe(true);

  expect((await call("svc_index_repo", { path: FOLDER }, { progressToken: "index" })).result.isError).toBe(false);
  const progress = s.client.messages.filter(({ params }) => params?.progressToken === "index");
  expect(progress.length).toBeGreaterThan(0);

  const cancelled = await s.cancelled("tools/call", { name: "svc_index_repo", arguments: { path: FOLDER } });
  expect((await s.wrong("no/such/method", s.revision === "2026-07-28" ? { _meta: META } : {})).error!.code).toBe(
    -32601,
  );
  await call("svc_list_collections", {});
  expect(s.client.messages.some(({ id }) => id === cancelled)).toBe(false);
}

/** Lines whose id cannot be read: their errors have none, as both schemas want it. */
async function sendUnreadable({ client }: CheckedSession): Promise<void> {
  const lines = [
    "hello",
    "[]",
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  ];
  for (const line of lines) await client.write(`${line}\n`);
  const errors = () => client.messages.filter(({ error, id }) => error && id === undefined);
  await client.next(() => errors().length === lines.length);
}

test("the schemas find what is wrong with a message", () => {
  const modern = new OfficialSchema("2026-07-28");
  const legacy = new OfficialSchema("2025-11-25");
  const of = (fields: Message): Message => ({ ...{ jsonrpc: "2.0" }, ...fields });
  const list = of({ id: 1, result: { tools: [] } });
  expect(legacy.faultsOf(list, "tools/list")).toEqual([]);
  expect(modern.faultsOf(list, "tools/list").join()).toMatch(/must have required property 'resultType'/);
  expect(legacy.faultsOf({ ...list, result: { tools: [{}] } }, "tools/list").join()).toMatch(/'name'/);
  const error = { code: -32022, message: "" };
  expect(legacy.faultsOf(of({ error }), undefined)).toEqual([]);
  expect(legacy.faultsOf(of({ id: null, error }), undefined).join()).toMatch(/id must be string,integer/);
  expect(modern.faultsOf(of({ id: 1, error }), "tools/list").join()).toMatch(/'data'/);
  const progress = of({ method: "notifications/progress", params: { progress: 1 } });
  expect(legacy.faultsOf(progress, undefined).join()).toMatch(/'progressToken'/);
  expect(modern.faultsOf(of({ method: "roots/list", id: 1 }), undefined).join()).toMatch(/no definition ServerRequest/);
  const request = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  expect(legacy.faultsOfRequest(request)).toEqual([]);
  expect(modern.faultsOfRequest(request).join()).toMatch(/'_meta'/);
});

test("a session of 2025-11-25", async () => {
  session = new CheckedSession("2025-11-25");
  const capabilities = { roots: { listChanged: true } };
  const clientInfo = { name: "schemas", version: "1" };
  const { result } = await session.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
  expect(result.protocolVersion).toBe("2025-11-25");
  await session.notify("notifications/initialized");
  expect((await session.request("ping")).result).toEqual({});
  await session.request("tools/call", { name: "svc_workspace_info", arguments: {} });
  expect(session.client.messages.some(({ method }) => method === "roots/list")).toBe(true);
  await session.notify("notifications/roots/list_changed");
  await callTools(session);
  expect((await session.request("tools/call", { name: "svc_nothing" })).result.isError).toBe(true);
  expect((await session.wrong("tools/call", { arguments: {} })).error!.code).toBe(-32602);
  expect((await session.wrong("initialize", { protocolVersion: "2025-11-25" })).error!.code).toBe(-32602);
  await sendUnreadable(session);
  expect(await session.end()).toEqual([]);
});

test("a session of 2026-07-28", async () => {
  session = new CheckedSession("2026-07-28");
  expect((await session.request("server/discover")).result.supportedVersions).toEqual(["2026-07-28"]);
  await callTools(session);
  expect((await session.request("tools/call", { name: "svc_nothing" })).error!.code).toBe(-32602);
  const other = { _meta: { "io.modelcontextprotocol/protocolVersion": "1900-01-01" } };
  expect((await session.request("tools/list", other)).error).toMatchObject({
    code: -32022,
    data: { supported: ["2026-07-28"], requested: "1900-01-01" },
  });
  const notifications = { toolsListChanged: true };
  expect((await session.request("subscriptions/listen", { notifications })).error!.code).toBe(-32601);
  for (const missing of Object.keys(META).filter((key) => !key.endsWith("clientInfo"))) {
    const _meta = Object.fromEntries(Object.entries(META).filter(([key]) => key !== missing));
    expect((await session.wrong("server/discover", { _meta })).error!.code).toBe(-32602);
  }
  expect((await session.wrong("server/discover")).error!.code).toBe(-32602);
  for (const removed of ["initialize", "ping", "logging/setLevel", "resources/subscribe"]) {
    expect((await session.wrong(removed, { _meta: META })).error!.code).toBe(-32601);
  }
  await sendUnreadable(session);
  expect(await session.end()).toEqual([]);
});
