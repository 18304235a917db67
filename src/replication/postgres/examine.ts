/** What the servers of an address are and have, for a person who looks for what is wrong. It only reads. */
import { EngineError } from "../engine.ts";
import { Connection, type Deadlines } from "./connection.ts";
import { memoryId, missingRights, VERSION, versionOf } from "./schema.ts";
import type { Host, Target } from "./url.ts";

/** A server that is silent is noticed sooner than where work is at stake. In milliseconds. */
const DEADLINES: Deadlines = { connect: 5_000, statement: 5_000, lock: 5_000, idle: 5_000 };

/** One host of an address: what it answered, or why it cannot be used. */
export type HostState = { host: Host } & (
  | { error: EngineError }
  | { error?: undefined; isReadOnly: boolean; version: string }
);

/** The server that accepts writes. */
export interface ServerState {
  /** `fsync`, `synchronous_commit` and `synchronous_standby_names` as the server has them. */
  settings: { fsync: string; commit: string; standbyNames: string };
  /** Standbys that are connected, synchronous or not. */
  standbys: number;
  /** How far its clock is ahead of this machine's, and how much of it the time of the answer may explain, in ms. */
  clock: { aheadMs: number; uncertainMs: number };
  schema: SchemaState;
  /** What it has of the memory; undefined where it has no tables, or this role may not read them. */
  memory: StoredMemory | undefined;
}

/** The tables. */
export interface SchemaState {
  /** Undefined: there are none. */
  version: number | undefined;
  /** The version that this program uses. */
  needed: number;
  /** Rights on them that this role lacks, as words of a GRANT. */
  missing: string | undefined;
  /** Whether this role may make tables. */
  mayCreate: boolean;
  /** Whether the schema has tables of another program. */
  isForeign: boolean;
}

export interface StoredMemory {
  id: string;
  heads: Map<string, StoredHead>;
  /** The logs of dropped collections. */
  dropped: Set<string>;
}

/** The newest state of a collection. */
export interface StoredHead {
  generation: number;
  log: string;
  /** Of the manifest, in hexadecimal. */
  sha256: string;
}

export interface Examined {
  /** In the order of the address. */
  hosts: HostState[];
  /** Of the first host that accepts writes; undefined: there is none. An error where it stopped to answer. */
  server: ServerState | EngineError | undefined;
}

/**
 * Looks at all hosts at the same time, and at the first one that accepts writes more closely. It never fails, and ends
 * within the deadlines whatever the hosts do.
 */
export async function examine(target: Target, deadlines: Deadlines = DEADLINES): Promise<Examined> {
  const settings = { deadlines, applicationName: "svc doctor" };
  const opened = await Promise.all(
    target.hosts.map(async (host) => {
      try {
        const connection = await Connection.open(host, target, settings, "reads");
        const [row] = await connection.query(HOST);
        const state = { host, isReadOnly: row?.read_only !== "off", version: String(row?.version) };
        return { connection, state };
      } catch (error) {
        return { state: { host, error: asEngineError(error) } };
      }
    }),
  );
  const writable = opened.find(({ connection, state }) => connection && "isReadOnly" in state && !state.isReadOnly);
  const server = writable?.connection && (await stateOf(writable.connection).catch(asEngineError));
  for (const { connection } of opened) connection?.close();
  return { hosts: opened.map(({ state }) => state), server };
}

const HOST =
  "select current_setting('transaction_read_only') as read_only, current_setting('server_version') as version";

/** A role without privileges sees of a standby that it is connected, and no more. */
const SERVER = `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
  current_setting('synchronous_standby_names') as names,
  (select count(*) from pg_catalog.pg_stat_replication)::text as standbys,
  (extract(epoch from clock_timestamp()) * 1000)::text as clock`;

const CREATES = `select has_database_privilege(current_database(), 'CREATE')::text as database,
  (select has_schema_privilege(oid, 'CREATE')::text from pg_catalog.pg_namespace where nspname = 'svc') as schema,
  exists (select from pg_catalog.pg_tables where schemaname = 'svc')::text as tables`;

async function stateOf(connection: Connection): Promise<ServerState> {
  const before = Date.now();
  const [row = {}] = await connection.query(SERVER);
  const half = (Date.now() - before) / 2;
  const schema = await schemaOf(connection);
  const isReadable = schema.version === schema.needed && schema.missing === undefined;
  const { fsync, commit, names, standbys, clock } = row;
  return {
    settings: { fsync: String(fsync), commit: String(commit), standbyNames: String(names) },
    standbys: Number(standbys),
    clock: { aheadMs: Number(clock) - before - half, uncertainMs: half },
    schema,
    memory: isReadable ? await memoryOf(connection) : undefined,
  };
}

async function memoryOf(connection: Connection): Promise<StoredMemory> {
  const dropped = await connection.query("select log::text as log from svc.svc_dropped");
  return {
    id: await memoryId(connection),
    heads: await headsOf(connection),
    dropped: new Set(dropped.map(({ log }) => String(log))),
  };
}

async function schemaOf(connection: Connection): Promise<SchemaState> {
  const version = await versionOf(connection);
  const [row = {}] = await connection.query(CREATES);
  return {
    version,
    needed: VERSION,
    missing: version === undefined ? undefined : await missingRights(connection),
    mayCreate: (row.schema ?? row.database) === "true",
    isForeign: version === undefined && row.tables === "true",
  };
}

async function headsOf(connection: Connection): Promise<Map<string, StoredHead>> {
  const rows = await connection.query(
    `select collection, generation::text as generation, log::text as log, encode(sha256(manifest), 'hex') as sha256
     from svc.svc_head`,
  );
  return new Map(
    rows.map(({ collection, generation, log, sha256 }) => [
      String(collection),
      { generation: Number(generation), log: String(log), sha256: String(sha256) },
    ]),
  );
}

function asEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  return new EngineError("refused", error instanceof Error ? error.message : String(error), { cause: error });
}
