/**
 * Ids of repositories and rows, derived from the root, the path and the chunk number alone, without a stored counter.
 */
import { ID_BYTES_MAX } from "../../limits.ts";

/** The first 16 hex digits of SHA-1 of a resolved root path. */
export function repoIdOf(root: string): string {
  return sha1(root).slice(0, 16);
}

/** Bytes for the path in an id of 512, beside the repository, two colons and a chunk number of ten digits. */
const ID_PATH_BYTES_MAX = ID_BYTES_MAX - 16 - 1 - 1 - 10;

/**
 * A row id without its chunk number: `<repo_id>:<relative path>`. In a path that would make an id longer than 512 bytes
 * `~<16 hex digits of SHA-1 of the path>~` replaces the middle. The metadata has the path in full.
 */
export function idBase(repoId: string, path: string): string {
  // A UTF-16 unit takes at most three bytes, so nearly every path needs no encoding.
  if (path.length * 3 <= ID_PATH_BYTES_MAX) return `${repoId}:${path}`;
  const bytes = Buffer.from(path, "utf8");
  if (bytes.length <= ID_PATH_BYTES_MAX) return `${repoId}:${path}`;
  const mark = `~${sha1(path).slice(0, 16)}~`;
  const half = Math.floor((ID_PATH_BYTES_MAX - mark.length) / 2);
  let head = half;
  while (isContinuation(bytes[head]!)) head--;
  let tail = bytes.length - half;
  while (isContinuation(bytes[tail]!)) tail++;
  return `${repoId}:${bytes.toString("utf8", 0, head)}${mark}${bytes.toString("utf8", tail)}`;
}

/** The id of one chunk. */
export function rowId(base: string, chunk: number): string {
  return `${base}:${chunk}`;
}

/** Parses an id of `repoId`; undefined for an id of another form, which belongs to another writer. */
export function parseRowId(repoId: string, id: string): { base: string; chunk: number } | undefined {
  const colon = id.lastIndexOf(":");
  const digits = id.slice(colon + 1);
  if (colon <= repoId.length || !id.startsWith(`${repoId}:`) || !/^(?:0|[1-9]\d{0,9})$/.test(digits)) return undefined;
  return { base: id.slice(0, colon), chunk: Number(digits) };
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function sha1(text: string): string {
  return new Bun.CryptoHasher("sha1").update(text).digest("hex");
}
