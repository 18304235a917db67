/**
 * Credentials in rows that are stored as they are, for a notice. The strings of many rows are looked at together: that
 * takes 0.3 ms for a thousand texts of 230 bytes, a third of what each by itself takes.
 */
import { firstAndMore, listed, shown } from "../checks/kinds.ts";
import type { Metadata } from "../checks/values.ts";
import { findSecret } from "./content.ts";
import type { GivenRows } from "./policy.ts";

/** A string of a row with a credential. */
export interface Holder {
  index: number;
  part: "text" | "metadata" | "id";
  /** Which kind of credential, in words. */
  kind: string;
}

/** Rows that a notice names. */
const NAMED_MAX = 3;
/** Strings that are looked at together: bytes. */
const CHUNK_BYTES = 256 * 1024;
const LINE_FEED = 10;
/** The shortest credential is an AWS key id. Most values of metadata are shorter. */
const SHORTEST_UNITS = 20;

const encoder = new TextEncoder();

/**
 * A sentence that names the first rows with credentials and what the user can do; undefined where none has one. It has
 * no credential: an id with one is not named.
 * @param found see {@link holders}
 * @param ids of the stored rows
 */
export function storedSecretsNotice(
  collection: string,
  found: readonly Holder[],
  ids: readonly string[],
): string | undefined {
  if (found.length === 0) return undefined;
  const named = firstAndMore(found, NAMED_MAX, ({ index, part, kind }) => {
    if (part === "id") return `the id of text ${index + 1} (${kind})`;
    return `${part === "text" ? "" : "the metadata of "}text ${index + 1} (id ${shown(ids[index]!)}, ${kind})`;
  });
  const where = listed(named, "and");
  const [first] = found as readonly [Holder];
  const id = found.length === 1 && first.part !== "id" ? asWord(ids[first.index]!, "ID") : "ID";
  return (
    `stored with a credential: ${where}. The user can remove it for good with ` +
    `'svc mem delete ${asWord(collection, "NAME")} ${id} --purge', or start svc with --secrets mask`
  );
}

/** A name that a shell takes as it is, else what stands for it. */
function asWord(name: string, placeholder: string): string {
  return /^\w[\w.-]{0,79}$/.test(name) ? name : placeholder;
}

/** The rows with a credential, in their order. @param rows with the ids that the caller gave */
export function holders(rows: GivenRows): Holder[] {
  const found: Holder[] = [];
  const chunk = new Uint8Array(CHUNK_BYTES);
  const keys = new Set<string>();
  let [bytes, first] = [0, 0];
  const note = (index: number) => {
    const holder = found.at(-1)?.index === index ? undefined : holderOf(rows, index);
    if (holder) found.push(holder);
  };
  // Strings side by side may look like a credential that none of them is, so rows are looked at by themselves then.
  const look = (last: number) => {
    if (bytes > 0 && findSecret(chunk.subarray(0, bytes))) {
      for (let i = first; i <= last; i++) note(i);
      keys.clear();
    }
    [bytes, first] = [0, last];
  };
  for (let i = 0; i < rows.texts.length; i++) {
    const use = (string: string) => {
      // A UTF-16 unit takes at most three bytes.
      const most = string.length * 3 + 1;
      if (most > CHUNK_BYTES) return note(i);
      if (bytes + most > CHUNK_BYTES) look(i);
      bytes += encoder.encodeInto(string, chunk.subarray(bytes)).written;
      chunk[bytes++] = LINE_FEED;
    };
    eachString(rows, i, use, keys);
  }
  look(rows.texts.length - 1);
  return found;
}

function holderOf(rows: GivenRows, index: number): Holder | undefined {
  let holder: Holder | undefined;
  const use = (string: string, part: Holder["part"]) => {
    const secret = holder ? undefined : findSecret(Buffer.from(string));
    if (secret) holder = { index, part, kind: secret.kind };
  };
  eachString(rows, index, use, new Set());
  return holder;
}

/** Keys that tell what their value is. */
const TELLING_KEY = /key$/i;

/** All strings of a row that are long enough for a credential. @param keys of metadata that need not be used again: most rows have the same ones */
function eachString(
  { texts, ids, metadata }: GivenRows,
  index: number,
  use: (string: string, part: Holder["part"]) => void,
  keys: Set<string>,
): void {
  const look = (string: string, part: Holder["part"]) => {
    if (string.length >= SHORTEST_UNITS) use(string, part);
  };
  const add = (key: string, value: unknown) => {
    if (key.length >= SHORTEST_UNITS && !keys.has(key)) {
      keys.add(key);
      use(key, "metadata");
    }
    if (typeof value === "string") look(TELLING_KEY.test(key) ? `${key}=${value}` : value, "metadata");
    else if (Array.isArray(value)) for (const item of value) add(key, item);
    else if (typeof value === "object" && value !== null) {
      for (const name of Object.keys(value)) add(name, (value as Metadata)[name]);
    }
  };
  look(texts[index]!, "text");
  if (ids) look(ids[index]!, "id");
  const object = metadata?.[index];
  if (object) for (const name of Object.keys(object)) add(name, object[name]);
}
