/**
 * Bundles as answers, whole or from any byte on (RFC 9110 §14), under a strong entity tag: a client whose connection
 * broke asks for the rest, and gets the whole where the bundle was replaced meanwhile.
 */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { PlatformTag } from "../../paths.ts";
import { answerBytes, answerError, type BundleSource } from "./context.ts";

/** A bundle and its entity tag, the quoted SHA-256 of its bytes. */
export interface ServedBundle {
  readonly body: Blob;
  readonly etag: string;
}

/** The bundle of a version and a platform, of the first source that has it; undefined where none has. */
export async function findBundle(
  sources: readonly BundleSource[],
  version: string,
  tag: PlatformTag,
): Promise<ServedBundle | undefined> {
  for (const source of sources) {
    const found = typeof source === "string" ? await fileBundle(join(source, version, `${tag}.bundle`)) : undefined;
    if (found !== undefined) return found;
    const bytes = typeof source === "function" ? await source(version, tag) : undefined;
    if (bytes === undefined) continue;
    const body = new Blob([bytes as Uint8Array<ArrayBuffer>]);
    return { body, etag: quoted(new Bun.CryptoHasher("sha256").update(bytes)) };
  }
  return undefined;
}

/**
 * Answers a GET with what its `Range` and `If-Range` ask for, and a HEAD with the headers alone. Bun's server answers
 * `Range` by itself, but of files only, and never where there is an `If-Range`.
 */
export function answerBundle(request: Request, { body, etag }: ServedBundle): Response {
  const { size } = body;
  const headers = { etag, "accept-ranges": "bytes" };
  const range = request.method === "GET" && isCurrent(request, etag) ? request.headers.get("range") : null;
  const part = parseRange(range, size);
  if (part === "unsatisfiable") {
    return answerError(416, "range_not_satisfiable", { etag, "content-range": `bytes */${size}` });
  }
  if (part === undefined) return answerBytes(200, body, headers);
  const { first, end } = part;
  const contentRange = `bytes ${first}-${end - 1}/${size}`;
  return answerBytes(206, body.slice(first, end), { ...headers, "content-range": contentRange });
}

/** Whether `If-Range` allows a part: none was sent, or it is this very tag. Dates are never sent, so none is right. */
function isCurrent(request: Request, etag: string): boolean {
  const condition = request.headers.get("if-range");
  return condition === null || condition === etag;
}

/**
 * One range of bytes, `end` not included. Undefined, which means all, for none, several, or one that is malformed: a
 * server may ignore `Range`.
 */
function parseRange(range: string | null, size: number): { first: number; end: number } | "unsatisfiable" | undefined {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? "") ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return undefined;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size : Math.min(size, Number(to) + 1);
  return first < end ? { first, end } : "unsatisfiable";
}

/** Tags by file; `stamp` changes with the file. As many as there are bundles. */
const tags = new Map<string, { stamp: string; etag: Promise<string> }>();

async function fileBundle(path: string): Promise<ServedBundle | undefined> {
  const found = await lstat(path, { bigint: true }).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  const stamp = `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
  const body = Bun.file(path);
  let known = tags.get(path);
  if (known?.stamp !== stamp) {
    known = { stamp, etag: hashed(body) };
    tags.set(path, known);
    known.etag.catch(() => tags.delete(path));
  }
  return { body, etag: await known.etag };
}

async function hashed(body: Blob): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of body.stream()) hasher.update(chunk);
  return quoted(hasher);
}

function quoted(hasher: Bun.CryptoHasher): string {
  return `"${hasher.digest("hex")}"`;
}
