/** Stored files as rows of chunks. */
import { CHUNK_BYTES, type Chunk, EngineError } from "../engine.ts";
import type { Connection } from "./connection.ts";
import type { Pool } from "./pool.ts";

/** The most bytes of a stored name. */
const FILE_BYTES_MAX = 200;
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

/** The next chunks of a file, `CHUNK_BYTES` of them at most: see schema.ts. */
const READ = `select at, bytes from svc.svc_read($1::text, $2::text, $3::bigint, $4::bigint, $5::bigint, ${CHUNK_BYTES})`;

/** Bytes of a stored file. */
interface Range {
  file: string;
  from: number;
  to: number;
}

/** The chunks that have bytes of a range; at most `CHUNK_BYTES` of them are in memory at a time. */
export async function* readChunks(pool: Pool, collection: string, { file, from, to }: Range): AsyncGenerator<Chunk> {
  checkFile(file);
  for (let last = -1; ; ) {
    const rows = await pool.run((connection) => connection.query(READ, [collection, file, from, to, last]));
    for (const row of rows) {
      last = Number(row.at);
      yield { file, at: last, bytes: row.bytes as Uint8Array };
    }
    if (rows.length === 0) return;
  }
}
