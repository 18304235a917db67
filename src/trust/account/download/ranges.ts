/** The headers of responses that may be gone on with, and of requests that do (RFC 9110 §8.8, §13.1.5, §14). */
import type { Facts } from "./partial.ts";

/** The headers that ask for all from byte `length` on; undefined where all is to be asked for. */
export function rangeHeaders(length: number, { validator }: Facts): Record<string, string> | undefined {
  if (length === 0 || validator === undefined) return undefined;
  return { range: `bytes=${length}-`, "if-range": validator };
}

/** What a whole response says of its document. */
export function factsOf(headers: Headers): Facts {
  const length = Number(headers.get("content-length") ?? Number.NaN);
  return { validator: validatorOf(headers), total: Number.isSafeInteger(length) ? length : undefined };
}

/**
 * A validator that proves bytes to be the same: a strong entity tag, or a date at least a second before the response's
 * (RFC 9110 §8.8.2.2, §13.1.5). One of unusual length or characters is none.
 */
function validatorOf(headers: Headers): string | undefined {
  if (headers.get("accept-ranges")?.trim().toLowerCase() === "none") return undefined;
  const etag = headers.get("etag");
  if (etag !== null) return /^"[\x21\x23-\x7e]{1,500}"$/.test(etag) ? etag : undefined;
  const modified = headers.get("last-modified") ?? "";
  const age = Date.parse(headers.get("date") ?? "") - Date.parse(modified);
  return age >= 1000 && /^[A-Za-z0-9 ,:]{1,40}$/.test(modified) ? modified : undefined;
}

/** What a 206 brings where it is the rest of the same document from `length` on, or its beginning; else undefined. */
export function restOf(headers: Headers, length: number, facts: Facts): { end: number; total: number } | undefined {
  const { validator, total } = facts;
  const [, first, last, whole] =
    /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers.get("content-range") ?? "") ?? [];
  const rest = { first: Number(first), end: Number(last) + 1, total: Number(whole) };
  const fits = rest.first === length && rest.end > rest.first && rest.end <= rest.total;
  const tag = headers.get(validator?.startsWith('"') ? "etag" : "last-modified");
  if (!fits || rest.total !== (total ?? rest.total) || isEncoded(headers)) return undefined;
  return tag === null || tag === validator ? rest : undefined;
}

/** Whether the bytes on the way are others than the document's. */
export function isEncoded(headers: Headers): boolean {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  return encoding !== "" && encoding !== "identity";
}
