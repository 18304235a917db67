/** What each operation of wire/PROTOCOL.md does with the store, from a parsed frame to the reply's result. */

import type { SearchOptions } from "../../api/api.ts";
import type { LocalCollection } from "../../api/local-collection.ts";
import { programVersion } from "../../build-info.ts";
import { shown } from "../../checks/kinds.ts";
import { parseBy } from "../../checks/schema.ts";
import { readString } from "../../checks/strings.ts";
import { ArgumentTypeError, OSError, ValueError } from "../../errors.ts";
import { type Origin, withOrigin } from "../../origin.ts";
import { AUDITED_IDS_MAX, type AuditEntry } from "../tokens/audit-log.ts";
import { OPS, type Op, type Request } from "../wire/protocol.ts";
import { readVector } from "../wire/vectors.ts";
import { isReadingTool } from "./call-tool.ts";
import type { Caller } from "./callers.ts";
import { getRows, searchHits } from "./read-texts.ts";
import { RawJson } from "./replies/raw-json.ts";
import type { Decoded } from "./requests/decoder.ts";
import { type PutOp, packedSize, packPut } from "./requests/put.ts";
import { ARGUMENTS, type ArgumentsOf, plainSearch } from "./requests/schemas.ts";

/** What the history says of changes by clients of the server. */
const SERVED: Origin = { client: "svc serve", version: programVersion().version };

/** What operations work on. */
export interface OperationContext {
  /** Who sent the request, and what of the store that one may use. */
  caller: Caller;
  /** By collection, the lost saves that were reported to this connection or happened before it began. */
  reportedLosses: Map<string, number>;
  /** This connection has changed a collection, and nothing is saved yet. */
  changed(name: string): void;
  /** Where writes are listed. */
  audit: Audit | undefined;
  /** What the audit log is to say of the request: the operation fills it in, before it changes anything. */
  auditEntry: AuditEntry;
}

/** The part of an audit log that a request needs. */
export interface Audit {
  /** @throws OSError where nothing may be changed */
  requireWritable(): void;
  add(name: string | undefined, op: string, entry: AuditEntry): void;
}

/** An operation. */
export interface Operation {
  /** It needs no right to change something, has no audit line, and may run beside others of its connection. */
  changesNothing: boolean;
  run(decoded: Decoded, context: OperationContext): unknown;
}

const PONG = RawJson.constant('{"pong":true}');
const AUTHENTICATED = RawJson.constant('{"authenticated":true}');

/** Whether a request changes nothing; one of an unknown operation, which only fails, does not. */
export function changesNothing(request: Request): boolean {
  if (request.op === "call_tool") return isReadingTool(request);
  return BY_NAME.get(request.op)?.changesNothing ?? true;
}

/** The operation of that name. @throws ValueError where there is none */
export function operation(op: string): Operation {
  const found = BY_NAME.get(op);
  if (found) return found;
  throw new ValueError(`unknown op ${shown(op)}`);
}

const READ = true;
const WRITE = false;

const OPERATIONS: Record<Op, Operation> = {
  // The connection has checked the token: it alone knows whether one is needed.
  auth: { changesNothing: READ, run: () => AUTHENTICATED },
  ping: onStore("ping", READ, () => PONG),
  collections: onStore("collections", READ, (_, { caller }) => caller.store.collections()),
  create_collection: onStore("create_collection", WRITE, async (a, { caller, auditEntry }, request) => {
    const name = nameOf(request);
    auditEntry.collection = name;
    await caller.store.createCollection(name, { ...a, partitionBy: a.partition_by, filterColumns: a.filter_columns });
    return { created: name };
  }),
  open_collection: onStore("open_collection", READ, (_, { caller }, request) => ({
    opened: caller.store.collection(nameOf(request)).name,
  })),
  add: put("add"),
  upsert: put("upsert"),
  add_texts: put("add_texts"),
  upsert_texts: put("upsert_texts"),
  search: onCollection("search", READ, (a, c) => c.searchAtOnce(vectorOf(a.vector), searchOptions(a))),
  search_text: onCollection("search_text", READ, (a, c) => c.searchText(a.text, searchOptions(a))),
  search_hits: onCollection("search_hits", READ, (a, c) => searchHits(c, a)),
  get: onCollection("get", READ, (a, c) => getRows(c, a)),
  call_tool: onStore("call_tool", WRITE, (a, { caller, auditEntry }) => caller.tools.call(a, caller, auditEntry)),
  ids: onCollection("ids", READ, (a, c) => c.ids(a.where)),
  delete: onStore("delete", WRITE, async (a, { caller, changed, auditEntry }, request) => {
    const collection = caller.store.handle(nameOf(request));
    Object.assign(auditEntry, { collection: collection.name, ids: a.ids });
    const removed = await withOrigin({ ...SERVED, tool: "delete" }, () => collection.delete(a.ids));
    changed(collection.name);
    auditEntry.rows = removed;
    return removed;
  }),
  compact: saving("compact", async (c) => {
    await c.compact();
    return null;
  }),
  save: saving("save", async (c, a) => {
    const generation = await c.save();
    return a.with_generation ? generation : null;
  }),
  stats: onStore("stats", READ, (_, { caller }, request) =>
    request.collection === undefined || request.collection === null
      ? caller.serverStats()
      : caller.store.collection(nameOf(request)).stats(),
  ),
};

const BY_NAME: ReadonlyMap<string, Operation> = new Map(Object.entries(OPERATIONS));

const NOTHING = Object.freeze({});
const TAKES_NOTHING = new Set<Op>(OPS.filter((op) => Object.keys(ARGUMENTS[op].shape).length === 0));
const OWNERS = Object.fromEntries(OPS.map((op) => [op, `op '${op}'`])) as Record<Op, string>;

function onStore<O extends Op>(
  op: O,
  changesNothing: boolean,
  work: (args: ArgumentsOf<O>, context: OperationContext, request: Decoded["request"]) => unknown,
): Operation {
  return { changesNothing, run: ({ request }, context) => work(read(op, request.args), context, request) };
}

function onCollection<O extends Op>(
  op: O,
  changesNothing: boolean,
  work: (args: ArgumentsOf<O>, collection: LocalCollection) => unknown,
): Operation {
  return onStore(op, changesNothing, (args, { caller }, request) => {
    const collection = caller.store.handle(nameOf(request));
    const { at_least } = args as { at_least?: number | undefined };
    return at_least === undefined
      ? work(args, collection)
      : collection.reach(at_least).then(() => work(args, collection));
  });
}

/**
 * A save. An earlier save that failed since this connection began may have dropped acknowledged changes: the next save of each
 * connection reports it once, whichever connection made them, as a success would cover them too.
 */
function saving<O extends "save" | "compact">(
  op: O,
  work: (collection: LocalCollection, args: ArgumentsOf<O>) => Promise<unknown>,
): Operation {
  return onStore(op, WRITE, async (args, { caller, reportedLosses, auditEntry }, request) => {
    const collection = caller.store.collection(nameOf(request));
    const { name } = collection;
    auditEntry.collection = name;
    const known = reportedLosses.get(name) ?? 0;
    const before = collection.lostSaves;
    let result: unknown;
    try {
      result = await work(collection, args);
    } finally {
      reportedLosses.set(name, collection.lostSaves); // a failure of its own has its own error
    }
    if (before > known) {
      throw new OSError(
        `an earlier save of collection '${name}' failed, and changes that were acknowledged before it may be lost: ` +
          "check which rows are there, and add the missing ones again. Later changes are saved",
        "changes_lost",
      );
    }
    return result;
  });
}

function put(op: PutOp): Operation {
  const mode = op.startsWith("add") ? "add" : "upsert";
  return {
    changesNothing: WRITE,
    async run({ request, held }, { caller, changed, auditEntry }) {
      const target = caller.store.collection(nameOf(request));
      const { schema } = target;
      const { rows, idsJson, texts } = held ? await held.pack(schema) : packPut(op, request.args, schema);
      Object.assign(auditEntry, { collection: target.name, rows: rows.count, ids: firstIds(idsJson) });
      const put = () => (texts ? target.putPackedTexts(mode, texts, rows) : target.put(mode, rows));
      await caller.charged(packedSize(rows), () => withOrigin({ ...SERVED, tool: op }, put));
      changed(target.name);
      return new RawJson(idsJson);
    },
  };
}

/** The first ids of a list in JSON, which may be long. */
function firstIds(json: string): string[] {
  const ids: string[] = [];
  for (const [id] of json.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    ids.push(JSON.parse(id));
    if (ids.length === AUDITED_IDS_MAX) break;
  }
  return ids;
}

function read<O extends Op>(op: O, args: unknown): ArgumentsOf<O> {
  if ((args === undefined || args === null) && TAKES_NOTHING.has(op)) return NOTHING as ArgumentsOf<O>;
  const plain = op === "search" ? plainSearch(args) : undefined;
  return (plain ?? parseBy(ARGUMENTS[op], OWNERS[op], args)) as ArgumentsOf<O>;
}

function nameOf({ op, collection }: Decoded["request"]): string {
  if (collection !== undefined && collection !== null) return readString(collection, "collection");
  throw new ArgumentTypeError(`op '${op}' needs 'collection', the name of one, beside 'args'`);
}

/** The decoder has read the vector of a large frame. */
function vectorOf(value: unknown): Float32Array {
  return value instanceof Float32Array ? value : readVector(value, "vector");
}

function searchOptions(a: Omit<ArgumentsOf<"search">, "vector">): SearchOptions {
  return { topK: a.top_k, where: a.where, explain: a.explain, withMetadata: a.with_metadata };
}
