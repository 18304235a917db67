/** Stored files as rows of chunks. */
import { CHUNK_BYTES, type Chunk, EngineError } from "../engine.ts";
import type { Connection } from "./connection.ts";
import type { Pool } from "./pool.ts";

/** The most bytes of a stored name. */
const FILE_BYTES_MAX = 200;
/** Rows that one statement lists. */
const LIST_ROWS = 4096;

/** @throws EngineError `refused` for a name that PostgreSQL cannot store, or would store as another one */
export function checkName(name: string, what: string): void {
  if (name.includes("\0"))
    throw new EngineError("refused", `the ${what} has a NUL byte, which PostgreSQL cannot store`);
  if (!name.isWellFormed()) throw new EngineError("refused", `the ${what} is not valid Unicode`);
}

export function checkFile(file: string): void {
  checkName(file, "name of a stored file");
  const bytes = Buffer.byteLength(file);
  if (bytes === 0 || bytes > FILE_BYTES_MAX) {
    throw new EngineError(
      "refused",
      `the name of a stored file has ${bytes} bytes; 1 to ${FILE_BYTES_MAX} are possible`,
    );
  }
}

/** The values of a row. @throws EngineError `refused` for a chunk that cannot be stored */
export function chunkValues({ file, at, bytes }: Chunk): unknown[] {
  checkFile(file);
  if (bytes.length > CHUNK_BYTES) {
    throw new EngineError(
      "refused",
      `a chunk of '${file}' has ${bytes.length} bytes; at most ${CHUNK_BYTES} are possible`,
    );
  }
  if (!Number.isSafeInteger(at) || at < 0) throw new EngineError("refused", `a chunk of '${file}' begins at ${at}`);
  return [file, at, bytes];
}

const INSERT = `insert into svc.svc_chunk as c (collection, file, at, bytes) values ($1, $2, $3::bigint, $4::bytea)`;
const AGAIN = `on conflict (collection, file, at) do update set made = now() where c.bytes = excluded.bytes returning 1`;
/** The caller has the lease: a chunk of a commit takes the place of an earlier one. */
const REPLACE = "on conflict (collection, file, at) do update set bytes = excluded.bytes, made = now()";

/** Stores a chunk of a commit, in place of an earlier one at its offset: the caller has the lease of the collection. */
export async function replaceChunk(connection: Connection, collection: string, chunk: Chunk): Promise<void> {
  await connection.query(`${INSERT} ${REPLACE}`, [collection, ...chunkValues(chunk)]);
}

/** Stores a chunk of an upload. A repetition makes it younger, so that the sweep leaves it. */
export async function putChunk(pool: Pool, collection: string, chunk: Chunk): Promise<void> {
  const values = [collection, ...chunkValues(chunk)];
  const rows = await pool.run((connection) => connection.query(`${INSERT} ${AGAIN}`, values));
  if (rows.length > 0) return;
  const { file, at } = chunk;
  const text = `other bytes are stored at ${at} of '${file}' in '${collection}'; repeat the call`;
  throw new EngineError("refused", text);
}

/**
 * A chunk ends at most `CHUNK_BYTES` after it begins, so the index leads to the first one that ends after `from`. Sizes are
 * summed without reading the bytes: an answer has `CHUNK_BYTES` at most.
 */
const READ = `select at, bytes from (
    select at, bytes, sum(octet_length(bytes)) over (order by at) as total from (
      select at, bytes from svc.svc_chunk
      where collection = $1 and file = $2 and at > $3::bigint - ${CHUNK_BYTES} and at > $4::bigint
        and at + octet_length(bytes) > $3::bigint
      order by at limit ${LIST_ROWS}) as listed) as summed
  where total <= ${CHUNK_BYTES} or total = octet_length(bytes) order by at`;

/** The chunks of a file that end after `from`; at most `CHUNK_BYTES` of them are in memory at a time. */
export async function* readChunks(pool: Pool, collection: string, file: string, from: number): AsyncGenerator<Chunk> {
  checkFile(file);
  for (let last = -1; ; ) {
    const rows = await pool.run((connection) => connection.query(READ, [collection, file, from, last]));
    for (const row of rows) {
      last = Number(row.at);
      yield { file, at: last, bytes: row.bytes as Uint8Array };
    }
    if (rows.length === 0) return;
  }
}
