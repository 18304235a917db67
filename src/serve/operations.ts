/** What each operation of wire/PROTOCOL.md does with the store. A connection has parsed the frame; what comes back is the reply's result. */
import type { SearchOptions } from "../engine/api.ts";
import type { LocalCollection } from "../engine/local-collection.ts";
import type { LocalStore } from "../engine/local-store.ts";
import { ArgumentTypeError, OSError, ValueError } from "../errors.ts";
import { parseBy } from "../memory/arguments.ts";
import { OPS, type Op } from "../wire/protocol.ts";
import { readVector } from "../wire/vectors.ts";
import type { Decoded } from "./decoder.ts";
import { packPut } from "./put.ts";
import { RawJson } from "./raw-json.ts";
import { ARGUMENTS, type ArgumentsOf, plainSearch } from "./schemas.ts";

/** What operations work on. */
export interface OperationContext {
  store: LocalStore;
  /** The server's own `stats`. */
  serverStats(): Record<string, unknown>;
  /** Of the collections that this connection changed and did not save since: how many saves had failed before. */
  unsaved: Map<string, number>;
}

/** An operation; `isRead` says that it may run beside other reads of its connection. */
export interface Operation {
  isRead: boolean;
  run(decoded: Decoded, context: OperationContext): unknown;
}

const PONG = RawJson.constant('{"pong":true}');
const AUTHENTICATED = RawJson.constant('{"authenticated":true}');

/** Whether an operation may run beside other reads of its connection; an unknown one, which only earns an error, may. */
export function isRead(op: string): boolean {
  return !Object.hasOwn(OPERATIONS, op) || OPERATIONS[op as Op].isRead;
}

/** The operation of that name. @throws ValueError where there is none */
export function operation(op: string): Operation {
  const found = Object.hasOwn(OPERATIONS, op) ? OPERATIONS[op as Op] : undefined;
  if (found) return found;
  const short = op.length > 60 ? `${op.slice(0, 60)}…` : op;
  throw new ValueError(`unknown op '${short.toWellFormed()}'`);
}

const READ = true;
const WRITE = false;

const OPERATIONS: Record<Op, Operation> = {
  // The token was looked at by the connection, which alone knows whether one is needed.
  auth: { isRead: READ, run: () => AUTHENTICATED },
  ping: onStore("ping", READ, () => PONG),
  collections: onStore("collections", READ, (_, { store }) => store.collections()),
  create_collection: onStore("create_collection", WRITE, async (a, { store }, request) => {
    const name = nameOf(request);
    await store.createCollection(name, { ...a, partitionBy: a.partition_by, filterColumns: a.filter_columns });
    return { created: name };
  }),
  open_collection: onCollection("open_collection", READ, (_, { name }) => ({ opened: name })),
  add: put("add"),
  upsert: put("upsert"),
  add_texts: changing("add_texts", (a, c) => c.addTexts(a.texts, a)),
  upsert_texts: changing("upsert_texts", (a, c) => c.upsertTexts(a.texts, a)),
  search: onCollection("search", READ, (a, c) => c.search(readVector(a.vector, "vector"), searchOptions(a))),
  search_text: onCollection("search_text", READ, (a, c) => c.searchText(a.text, searchOptions(a))),
  ids: onCollection("ids", READ, (a, c) => c.ids(a.where)),
  delete: changing("delete", (a, c) => c.delete(a.ids)),
  compact: saving("compact", (c) => c.compact()),
  save: saving("save", (c) => c.save()),
  stats: onStore("stats", READ, (_, { store, serverStats }, request) =>
    request.collection === undefined || request.collection === null
      ? serverStats()
      : store.collection(nameOf(request)).stats(),
  ),
};

// ---------------------------------------------------------------------------------------------------------------------

const NOTHING = Object.freeze({});
const TAKES_NOTHING = new Set<Op>(OPS.filter((op) => Object.keys(ARGUMENTS[op].shape).length === 0));
const OWNERS = Object.fromEntries(OPS.map((op) => [op, `op '${op}'`])) as Record<Op, string>;

function onStore<O extends Op>(
  op: O,
  isRead: boolean,
  work: (args: ArgumentsOf<O>, context: OperationContext, request: Decoded["request"]) => unknown,
): Operation {
  return { isRead, run: ({ request }, context) => work(read(op, request.args), context, request) };
}

function onCollection<O extends Op>(
  op: O,
  isRead: boolean,
  work: (args: ArgumentsOf<O>, collection: LocalCollection) => unknown,
): Operation {
  return onStore(op, isRead, (args, { store }, request) => work(args, store.collection(nameOf(request))));
}

/** A change that waits for a save. */
function changing<O extends Op>(
  op: O,
  work: (args: ArgumentsOf<O>, collection: LocalCollection) => Promise<unknown>,
): Operation {
  return onStore(op, WRITE, (args, context, request) => {
    const collection = context.store.collection(nameOf(request));
    return noted(collection, context, () => work(args, collection));
  });
}

/** Remembers that this connection has something to save, and from when on a failed save would have lost it. */
async function noted<T>(
  collection: LocalCollection,
  { unsaved }: OperationContext,
  work: () => Promise<T>,
): Promise<T> {
  const result = await work();
  // Looked at behind the change: a save that failed while it waited in line was not for it.
  if (!unsaved.has(collection.name)) unsaved.set(collection.name, collection.lostSaves);
  return result;
}

/** A save. Where another one that failed has dropped this connection's changes meanwhile, success would be a lie. */
function saving(op: "save" | "compact", work: (collection: LocalCollection) => Promise<unknown>): Operation {
  return onStore(op, WRITE, async (_, { store, unsaved }, request) => {
    const collection = store.collection(nameOf(request));
    const before = unsaved.get(collection.name);
    unsaved.delete(collection.name);
    await work(collection);
    if (before !== undefined && collection.lostSaves > before) {
      throw new OSError(
        `changes of this connection to collection '${collection.name}' were lost when an earlier save failed; what came behind it is saved`,
      );
    }
    return null;
  });
}

function put(op: "add" | "upsert"): Operation {
  return {
    isRead: false,
    async run(decoded, context) {
      try {
        const target = context.store.collection(nameOf(decoded.request));
        const { dim, keyName, filterColumns } = target.schema;
        const schema = { dim, keyName, filterColumns };
        const packing = decoded.pack?.(schema);
        decoded = { ...decoded, drop: undefined };
        const { rows, idsJson } = packing ? await packing : packPut(op, decoded.request.args, schema);
        await noted(target, context, () => target.put(op, rows));
        return new RawJson(idsJson);
      } finally {
        decoded.drop?.();
      }
    },
  };
}

function read<O extends Op>(op: O, args: unknown): ArgumentsOf<O> {
  if ((args === undefined || args === null) && TAKES_NOTHING.has(op)) return NOTHING as ArgumentsOf<O>;
  const plain = op === "search" ? plainSearch(args) : undefined;
  return (plain ?? parseBy(ARGUMENTS[op], OWNERS[op], args)) as ArgumentsOf<O>;
}

function nameOf({ op, collection }: Decoded["request"]): string {
  if (typeof collection === "string") return collection;
  const came = collection === undefined || collection === null ? "nothing" : typeof collection;
  throw new ArgumentTypeError(`op '${op}' needs 'collection', the name of one, beside 'args'; got ${came}`);
}

function searchOptions(a: Omit<ArgumentsOf<"search">, "vector">): SearchOptions {
  return { topK: a.top_k, where: a.where, explain: a.explain, withMetadata: a.with_metadata };
}
