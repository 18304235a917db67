/** The tables, and how a database gets them. */
import { randomUUID } from "node:crypto";
import { EngineError } from "../engine.ts";
import type { Connection } from "./connection.ts";
import { stateOf } from "./errors.ts";
import type { Pool } from "./pool.ts";
import { begin } from "./transaction.ts";

/** The version of the tables that this program uses. */
export const VERSION = 3;

/**
 * What leads from each version to the next. Names are compared byte by byte: the order of a language differs between
 * systems, and an index made on one is wrong on the other. Vectors and codes do not get smaller by compression.
 */
const MIGRATIONS: readonly string[] = [
  `create table svc.svc_version (version integer not null);
   insert into svc.svc_version values (0);
   create table svc.svc_memory (id uuid not null);
   create table svc.svc_head (
     collection text collate "C" primary key,
     generation bigint not null,
     manifest bytea not null,
     files jsonb not null,
     commit uuid not null,
     changed timestamptz not null default now());
   create table svc.svc_chunk (
     collection text collate "C" not null,
     file text collate "C" not null,
     at bigint not null,
     bytes bytea not null,
     made timestamptz not null default now(),
     primary key (collection, file, at));
   alter table svc.svc_chunk alter column bytes set storage external;
   create table svc.svc_commit (
     commit uuid primary key,
     collection text collate "C" not null,
     generation bigint not null,
     at timestamptz not null default now());
   create table svc.svc_garbage (
     collection text collate "C" not null,
     file text collate "C" not null,
     since timestamptz not null default now(),
     primary key (collection, file))`,
  // The default is for existing collections, and for those that a running process of an older version makes.
  `alter table svc.svc_head add column log uuid not null
     default md5(random()::text || clock_timestamp()::text)::uuid;
   create table svc.svc_dropped (
     collection text collate "C" not null,
     log uuid not null,
     at timestamptz not null default now(),
     primary key (collection, log))`,
  // A session keeps the plans of a function. An unnamed statement is planned each time: a commit took 3.0 ms of the
  // server's CPU, and takes 1.9. A prepared statement would not survive PgBouncer.
  //
  // A chunk ends at most `most` after it begins, so the index leads to the first one that ends after `from_byte`. Sizes
  // are summed without reading the bytes: an answer has `most` at most.
  `create function svc.svc_swap(
     of_collection text, next_generation bigint, next_manifest bytea, next_files text, next_commit uuid,
     last_generation bigint, last_commit uuid, unnamed text, chunk_bytes bytea, chunk_places text
   ) returns boolean language plpgsql as $$
   begin
     update svc.svc_head set generation = next_generation, manifest = next_manifest, files = next_files::jsonb,
       commit = next_commit, changed = now()
     where collection = of_collection and generation = last_generation and commit = last_commit;
     if not found then
       return false;
     end if;
     insert into svc.svc_commit (commit, collection, generation) values (next_commit, of_collection, next_generation);
     if unnamed <> '[]' then
       insert into svc.svc_garbage (collection, file)
       select of_collection, f.file from jsonb_array_elements_text(unnamed::jsonb) as f(file)
       on conflict (collection, file) do update set since = now();
     end if;
     if chunk_places <> '[]' then
       insert into svc.svc_chunk (collection, file, at, bytes)
       select of_collection, p.file, p.at, substring(chunk_bytes from p.start for p.size)
       from jsonb_to_recordset(chunk_places::jsonb) as p(file text, at bigint, start integer, size integer)
       on conflict (collection, file, at) do update set bytes = excluded.bytes, made = now();
     end if;
     return true;
   end $$;
   create function svc.svc_read(
     of_collection text, of_file text, from_byte bigint, to_byte bigint, after_chunk bigint, most integer
   ) returns table (at bigint, bytes bytea) stable language plpgsql as $$
   #variable_conflict use_column
   begin
     return query
     select at, bytes from (
       select at, bytes, sum(octet_length(bytes)) over (order by at) as total from (
         select at, bytes from svc.svc_chunk
         where collection = of_collection and file = of_file and at > from_byte - most and at < to_byte
           and at > after_chunk and at + octet_length(bytes) > from_byte
         order by at limit 4096) as listed) as summed
     where total <= most or total = octet_length(bytes) order by at;
   end $$`,
];

/** The advisory lock under which the tables are made: the bytes of `svc` and a 1. */
const LOCK = 0x73766301;

/** Undefined: the table of the version does not exist. */
export async function versionOf(connection: Connection): Promise<number | undefined> {
  try {
    const [row] = await connection.query("select max(version) as version from svc.svc_version");
    if (row?.version === null)
      throw refusal(connection, "svc.svc_version has no row; drop the schema svc, or restore it");
    return Number(row?.version);
  } catch (error) {
    const state = stateOf(error);
    if (state === "42P01" || state === "3F000") return undefined;
    throw error;
  }
}

function refusal(connection: Connection, text: string): EngineError {
  return new EngineError("refused", `PostgreSQL at ${connection.host.text}: ${text}`);
}

/** @returns whether the tables are those of this version. @throws EngineError `refused` where they are newer */
function isCurrent(connection: Connection, version: number | undefined): boolean {
  if (version !== undefined && version > VERSION) {
    const text = `its tables have version ${version} and this svc knows ${VERSION}; run 'svc upgrade' on this machine`;
    throw refusal(connection, text);
  }
  return version === VERSION;
}

async function migrate(connection: Connection): Promise<void> {
  await begin(connection, connection.deadlines.lock);
  await connection.query("select pg_advisory_xact_lock($1::bigint)", [LOCK], connection.deadlines.lock + 1000);
  const [schema] = await connection.query("select 1 from pg_catalog.pg_namespace where nspname = 'svc'");
  if (schema === undefined) await connection.query("create schema svc");
  // A failed statement ends the transaction, so it is looked up whether there is a version before it is read.
  const [table] = await connection.query(
    "select 1 from pg_catalog.pg_tables where schemaname = 'svc' and tablename = 'svc_version'",
  );
  const version = table === undefined ? undefined : await versionOf(connection);
  if (!isCurrent(connection, version)) {
    for (const statement of MIGRATIONS.slice(version ?? 0)) await connection.query(statement);
    await connection.query("update svc.svc_version set version = $1::integer", [VERSION]);
    if (version === undefined) await connection.query("insert into svc.svc_memory values ($1::uuid)", [randomUUID()]);
  }
  await connection.query("commit");
}

/** The id that the memory got when its tables were made. */
export async function memoryId(connection: Connection): Promise<string> {
  const [row] = await connection.query("select id::text as id from svc.svc_memory");
  if (row === undefined) throw refusal(connection, "svc.svc_memory has no row; drop the schema svc, or restore it");
  return row.id as string;
}

const RIGHTS = ["select", "insert", "update", "delete"];
const TABLES = ["svc_head", "svc_chunk", "svc_commit", "svc_garbage", "svc_memory", "svc_dropped"];
const FUNCTIONS = ["svc_swap", "svc_read"];

/** The rights on the tables and functions that this role lacks, as words of a GRANT; undefined where it has all. */
export async function missingRights(connection: Connection): Promise<string | undefined> {
  const [row] = await connection.query(
    `select string_agg(lacks || ' svc.' || name, ', ' order by name, lacks) as missing from (
       select t.name, upper(r.name) || ' on' as lacks
       from jsonb_array_elements_text($1::text::jsonb) as t(name), jsonb_array_elements_text($2::text::jsonb) as r(name)
       where not has_table_privilege('svc.' || t.name, r.name)
       union all
       select f.name, 'EXECUTE on function' from jsonb_array_elements_text($3::text::jsonb) as f(name)
       where not exists (
         select from pg_catalog.pg_proc p where p.pronamespace = 'svc'::regnamespace and p.proname = f.name
           and has_function_privilege(p.oid, 'execute'))) as missed`,
    [JSON.stringify(TABLES), JSON.stringify(RIGHTS), JSON.stringify(FUNCTIONS)],
  );
  return (row?.missing as string | null | undefined) ?? undefined;
}

/** A missing right would be noticed when it is needed: one to delete only by the first sweep. */
async function checkRights(connection: Connection): Promise<void> {
  const missing = await missingRights(connection);
  if (missing) throw refusal(connection, `this role lacks rights; grant it ${missing}`);
}

/**
 * Makes the tables or brings them to this version, once for all nodes. A role without the right to create tables is
 * enough where they are current.
 */
export async function prepareSchema(pool: Pool): Promise<void> {
  await pool.run(async (connection) => {
    if (isCurrent(connection, await versionOf(connection))) return checkRights(connection);
    try {
      await migrate(connection);
    } catch (error) {
      if (stateOf(error) !== "42P07") throw error;
      throw refusal(connection, `the schema svc has tables that svc did not make; use another database`);
    }
  });
}
