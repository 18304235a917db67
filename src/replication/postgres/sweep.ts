/** Removal of stored files that no head names. */
import { confirm, NOTE, sendCommit } from "./confirm.ts";
import type { Pool } from "./pool.ts";
import { beginLocked } from "./transaction.ts";

/** Chunks that one statement deletes, so that none takes long. */
const SLICE = 32;
/** How long the ids of commits are stored: longer than a node that was cut off looks for one. */
const COMMITS_AGE = "1 day";

/**
 * A file is condemned under the lock of its collection, which commits hold too: from then on no commit can name it. Its
 * chunks are deleted afterwards, without a lock. A file counts as unused since a head stopped naming it, or since its
 * last chunk was uploaded where none ever did.
 */
const CONDEMN = `insert into svc.svc_garbage (collection, file, since)
  select $1::text, s.file, '-infinity'
  from (select c.file, max(c.made) as made from svc.svc_chunk c where c.collection = $1::text group by c.file) as s
  left join svc.svc_garbage g on g.collection = $1::text and g.file = s.file
  where coalesce(g.since, s.made) < now() - $2::float8 * interval '1 millisecond'
    and not exists (
      select from svc.svc_head h, jsonb_each_text(h.files) as n where h.collection = $1::text and n.value = s.file)
  on conflict (collection, file) do update set since = '-infinity'`;

/** The lowest places go first: a file of which some are gone is seen to be incomplete. */
const DELETE = `delete from svc.svc_chunk c using (
    select d.collection, d.file, d.at from svc.svc_garbage g join svc.svc_chunk d using (collection, file)
    where g.since = '-infinity' order by d.collection, d.file, d.at limit ${SLICE}) as s
  where c.collection = s.collection and c.file = s.file and c.at = s.at`;

const FORGET = `delete from svc.svc_garbage g where g.since = '-infinity' and not exists (
  select from svc.svc_chunk c where c.collection = g.collection and c.file = g.file)`;

/** Collections that were dropped, and of which a node has uploaded files since. Each is one step in the index. */
const HEADLESS = `with recursive found as (
    (select collection from svc.svc_chunk order by collection limit 1)
    union all
    select (select c.collection from svc.svc_chunk c where c.collection > found.collection order by c.collection limit 1)
    from found where found.collection is not null)
  select f.collection from found f
  where f.collection is not null and not exists (select from svc.svc_head h where h.collection = f.collection)`;

async function condemn(pool: Pool, collection: string, graceMs: number): Promise<void> {
  const { lock } = pool.deadlines;
  await pool.run(async (connection) => {
    await beginLocked(connection, collection, lock);
    await connection.query(CONDEMN, [collection, graceMs]);
    await connection.query("commit");
  });
}

async function deleteCondemned(pool: Pool): Promise<void> {
  let count: number | undefined;
  do {
    ({ count } = await pool.run((connection) => connection.query(DELETE)));
  } while (count !== 0);
  await pool.run((connection) => connection.query(FORGET));
}

/** Removes the files of a collection that were unused for the grace period, and those of collections that are gone. */
export async function sweepCollection(pool: Pool, collection: string, graceMs: number): Promise<void> {
  const headless = await pool.run((connection) => connection.query(HEADLESS));
  for (const name of new Set([collection, ...headless.map((row) => row.collection as string)])) {
    await condemn(pool, name, graceMs);
  }
  await deleteCondemned(pool);
  const old = `delete from svc.svc_commit where at < now() - interval '${COMMITS_AGE}'`;
  await pool.run((connection) => connection.query(old));
}

const CONDEMN_ALL = `insert into svc.svc_garbage (collection, file, since)
  select distinct $1::text, c.file, '-infinity'::timestamptz from svc.svc_chunk c where c.collection = $1::text
  on conflict (collection, file) do update set since = '-infinity'`;

const DROPPED = `insert into svc.svc_dropped (collection, log) values ($1, $2::uuid) on conflict do nothing`;

/** Removes a collection and its files, also those that a node uploads for its next commit. @returns whether it existed */
export async function dropCollection(pool: Pool, collection: string): Promise<boolean> {
  const { lock } = pool.deadlines;
  const isDropped = await pool.start(async (connection) => {
    const head = await beginLocked(connection, collection, lock);
    if (head === undefined) {
      await pool.rollBack(connection);
      return false;
    }
    await connection.query(CONDEMN_ALL, [collection]);
    await connection.query(DROPPED, [collection, head.log]);
    await connection.query("delete from svc.svc_head where collection = $1", [collection]);
    await connection.query("select pg_notify('svc', $1)", [collection]);
    const commit = crypto.randomUUID();
    await connection.query(`${NOTE} values ($1::uuid, $2, $3::bigint)`, [commit, collection, head.generation]);
    if (await sendCommit(connection)) pool.release(connection);
    else await confirm(pool, { collection, commit, what: `'${collection}' was removed` });
    return true;
  });
  // What a cut leaves here is deleted by the next sweep.
  if (isDropped) await deleteCondemned(pool).catch(() => {});
  return isDropped;
}
