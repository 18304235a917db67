/** The right to commit to a collection: a transaction that holds its row, on a connection of its own. */
import { CHUNK_BYTES, type Chunk, EngineError, type Head, type Lease } from "../engine.ts";
import { checkFile, chunkValues, replaceChunk } from "./chunks.ts";
import { confirm, NOTE, sendCommit } from "./confirm.ts";
import type { Connection } from "./connection.ts";
import { hintOf } from "./nodes.ts";
import type { Pool } from "./pool.ts";
import { beginLocked } from "./transaction.ts";

/** @param waitMs for the lock, at most */
export async function openLease(pool: Pool, collection: string, waitMs: number): Promise<Lease> {
  return pool.start(async (connection) => {
    const head = await beginLocked(connection, collection, waitMs);
    return new RowLease(pool, connection, collection, head);
  });
}

class RowLease implements Lease {
  readonly #pool: Pool;
  #connection: Connection | undefined;
  /** The server ends sessions that are idle in a transaction, as that of a node that was frozen; a change may take longer. */
  readonly #alive: ReturnType<typeof setInterval>;

  constructor(
    pool: Pool,
    connection: Connection,
    private readonly collection: string,
    readonly head: Head | undefined,
  ) {
    this.#pool = pool;
    this.#connection = connection;
    const everyMs = pool.deadlines.idle / 3;
    this.#alive = setInterval(() => void this.#connection?.query("select 1").catch(() => {}), everyMs);
    this.#alive.unref();
  }

  async swap(next: Head, chunks: Iterable<Chunk>): Promise<void> {
    const connection = this.#connection;
    clearInterval(this.#alive);
    if (connection === undefined) throw new EngineError("again", `the lease of '${this.collection}' has ended`);
    try {
      if (next.generation <= (this.head?.generation ?? 0)) {
        throw new EngineError("refused", `'${this.collection}' is at generation ${this.head?.generation} already`);
      }
      for (const file of Object.values(next.files)) checkFile(file);
      if (!(await this.#store(connection, next, chunks))) {
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
    clearInterval(this.#alive);
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) await this.#pool.rollBack(connection);
  }

  /** Whether the head is now `next`: it was still that of the lease. */
  async #store(connection: Connection, next: Head, chunks: Iterable<Chunk>): Promise<boolean> {
    const { head } = this;
    const [files, before] = [Object.values(next.files), Object.values(head?.files ?? {})];
    const added = files.filter((file) => !before.includes(file));
    const unnamed = before.filter((file) => !files.includes(file));
    // The usual commit appends little to files that the head names: head and chunks are one round trip.
    const last = await this.#storeFirst(connection, chunks, head !== undefined && added.length === 0);
    await this.#checkAdded(connection, added);
    const values = [this.collection, next.generation, next.manifest, JSON.stringify(next.files), next.commit];
    const [row] =
      head === undefined
        ? await connection.query(FIRST, [...values, next.log])
        : await connection.query(SWAP, [
            ...values,
            ...[head.generation, head.commit, JSON.stringify(unnamed)],
            ...joined(last),
          ]);
    return Number(row?.moved) === 1;
  }

  /**
   * Stores chunks of a commit.
   * @param leavesSome whether the last ones, of `CHUNK_BYTES` together at most, are left for the statement of the head
   * @returns those
   */
  async #storeFirst(connection: Connection, chunks: Iterable<Chunk>, leavesSome: boolean): Promise<Chunk[]> {
    let [left, bytes]: [Chunk[], number] = [[], 0];
    for (const chunk of chunks) {
      if (!leavesSome || bytes + chunk.bytes.length > CHUNK_BYTES) {
        for (const one of left) await replaceChunk(connection, this.collection, one);
        [left, bytes] = [[], 0];
      }
      if (leavesSome) {
        left.push(chunk);
        bytes += chunk.bytes.length;
      } else {
        await replaceChunk(connection, this.collection, chunk);
      }
    }
    return left;
  }

  /**
   * Refuses a head that names a file which is not stored as a whole. Uploads come before the lease: those of a node that
   * was suspended for longer than the grace period have been swept.
   */
  async #checkAdded(connection: Connection, added: readonly string[]): Promise<void> {
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
    await connection
      .query("select pg_notify('svc', $1)", [hintOf(this.#pool.settings, this.collection)], ms)
      .catch(() => {});
    this.#pool.release(connection);
  }
}

const FIRST = `with moved as (
    insert into svc.svc_head (collection, generation, manifest, files, commit, log)
    values ($1::text, $2::bigint, $3::bytea, $4::text::jsonb, $5::uuid, $6::uuid) on conflict do nothing returning 1),
  noted as (
    ${NOTE} select $5::uuid, $1::text, $2::bigint from moved)
  select count(*)::int as moved from moved`;

/** Moves the head to the next state, if it is still the last one, and stores chunks of its files: see schema.ts. */
const SWAP = `select svc.svc_swap($1::text, $2::bigint, $3::bytea, $4::text, $5::uuid, $6::bigint, $7::uuid, $8::text,
  $9::bytea, $10::text)::int as moved`;

/** The bytes of chunks one after the other, and where each begins there, from 1. */
function joined(chunks: readonly Chunk[]): [Uint8Array, string] {
  let start = 1;
  const places = chunks.map((chunk) => {
    const [file, at] = chunkValues(chunk);
    const place = { file, at, start, size: chunk.bytes.length };
    start += chunk.bytes.length;
    return place;
  });
  return [Buffer.concat(chunks.map(({ bytes }) => bytes)), JSON.stringify(places)];
}

const INCOMPLETE = `select n.file from jsonb_array_elements_text($2::text::jsonb) as n(file)
  left join lateral (
    select min(c.at) as first, sum(octet_length(c.bytes)) as held, max(c.at + octet_length(c.bytes)) as size
    from svc.svc_chunk c where c.collection = $1::text and c.file = n.file) as s on true
  left join svc.svc_garbage g on g.collection = $1::text and g.file = n.file and g.since = '-infinity'
  where s.first is distinct from 0 or s.held <> s.size or g.file is not null limit 1`;
