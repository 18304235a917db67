/** The right to commit to a collection: a transaction that holds its row, on a connection of its own. */
import { type Chunk, EngineError, type Head, type Lease } from "../engine.ts";
import { checkFile, replaceChunk } from "./chunks.ts";
import { confirm, NOTE, sendCommit } from "./confirm.ts";
import type { Connection } from "./connection.ts";
import type { Pool } from "./pool.ts";
import { begin, lockHead } from "./transaction.ts";

/** @param waitMs for the lock, at most */
export async function openLease(pool: Pool, collection: string, waitMs: number): Promise<Lease> {
  return pool.start(async (connection) => {
    await begin(connection, waitMs);
    const head = await lockHead(connection, collection, waitMs);
    return new RowLease(pool, connection, collection, head);
  });
}

class RowLease implements Lease {
  readonly #pool: Pool;
  #connection: Connection | undefined;

  constructor(
    pool: Pool,
    connection: Connection,
    private readonly collection: string,
    readonly head: Head | undefined,
  ) {
    this.#pool = pool;
    this.#connection = connection;
  }

  async swap(next: Head, chunks: Iterable<Chunk>): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) throw new EngineError("again", `the lease of '${this.collection}' has ended`);
    try {
      if (next.generation <= (this.head?.generation ?? 0)) {
        throw new EngineError("refused", `'${this.collection}' is at generation ${this.head?.generation} already`);
      }
      for (const file of Object.values(next.files)) checkFile(file);
      for (const chunk of chunks) await replaceChunk(connection, this.collection, chunk);
      await this.#checkNewFiles(connection, next);
      if (!(await this.#move(connection, next))) {
        throw new EngineError("lost", `another node has committed to '${this.collection}' since the lease was granted`);
      }
    } catch (error) {
      await this.release();
      throw error;
    }
    this.#connection = undefined;
    await this.#commit(connection, next);
  }

  async release(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) await this.#pool.rollBack(connection);
  }

  /** Whether the head is now `next`: it was still that of the lease. */
  async #move(connection: Connection, next: Head): Promise<boolean> {
    const { head } = this;
    const files = Object.values(next.files);
    const unnamed = Object.values(head?.files ?? {}).filter((file) => !files.includes(file));
    const values = [this.collection, next.generation, next.manifest, JSON.stringify(next.files), next.commit];
    const [row] =
      head === undefined
        ? await connection.query(FIRST, values)
        : await connection.query(NEXT, [...values, head.generation, head.commit, JSON.stringify(unnamed)]);
    return Number(row?.moved) === 1;
  }

  /**
   * Refuses a head that names a file which is not stored as a whole. Uploads come before the lease: those of a node that
   * was suspended for longer than the grace period have been swept.
   */
  async #checkNewFiles(connection: Connection, next: Head): Promise<void> {
    const before = Object.values(this.head?.files ?? {});
    const added = Object.values(next.files).filter((file) => !before.includes(file));
    if (added.length === 0) return;
    const [row] = await connection.query(INCOMPLETE, [this.collection, JSON.stringify(added)]);
    if (row === undefined) return;
    const text = `the stored file '${row.file}' of '${this.collection}' is missing or has gaps; upload it again`;
    throw new EngineError("refused", text);
  }

  async #commit(connection: Connection, next: Head): Promise<void> {
    const { collection } = this;
    let isCommitted: boolean;
    try {
      isCommitted = await sendCommit(connection);
    } catch (error) {
      await this.#pool.rollBack(connection);
      throw error;
    }
    if (isCommitted) {
      this.#pool.keepRunning(this.#notify(connection));
      return;
    }
    const what = `commit ${next.commit} of '${collection}' was made`;
    await confirm(this.#pool, { collection, commit: next.commit, what });
  }

  /**
   * Sends the hint. Inside of the transaction it would be slower: PostgreSQL lets only one transaction of the whole
   * server commit at a time where they notify.
   */
  async #notify(connection: Connection): Promise<void> {
    const ms = this.#pool.deadlines.connect;
    await connection.query("select pg_notify('svc', $1)", [this.collection], ms).catch(() => {});
    this.#pool.release(connection);
  }
}

const COMMITTED = `noted as (
    ${NOTE} select $5::uuid, $1::text, $2::bigint from moved)`;

const FIRST = `with moved as (
    insert into svc.svc_head (collection, generation, manifest, files, commit)
    values ($1::text, $2::bigint, $3::bytea, $4::text::jsonb, $5::uuid) on conflict do nothing returning 1),
  ${COMMITTED}
  select count(*)::int as moved from moved`;

const NEXT = `with moved as (
    update svc.svc_head set generation = $2::bigint, manifest = $3::bytea, files = $4::text::jsonb, commit = $5::uuid,
      changed = now()
    where collection = $1::text and generation = $6::bigint and commit = $7::uuid returning 1),
  ${COMMITTED},
  unnamed as (
    insert into svc.svc_garbage (collection, file)
    select $1::text, f.file from moved, jsonb_array_elements_text($8::text::jsonb) as f(file)
    on conflict (collection, file) do update set since = now())
  select count(*)::int as moved from moved`;

const INCOMPLETE = `select n.file from jsonb_array_elements_text($2::text::jsonb) as n(file)
  left join lateral (
    select min(c.at) as first, sum(octet_length(c.bytes)) as held, max(c.at + octet_length(c.bytes)) as size
    from svc.svc_chunk c where c.collection = $1::text and c.file = n.file) as s on true
  left join svc.svc_garbage g on g.collection = $1::text and g.file = n.file and g.since = '-infinity'
  where s.first is distinct from 0 or s.held <> s.size or g.file is not null limit 1`;
