/**
 * Credentials in rows that are stored as they are, for a notice. The strings of many rows are looked at together, which
 * takes a third of what each by itself takes.
 */
import { type PackedStrings, packStrings } from "../../ffi/packing.ts";
import { firstAndMore, listed, shown } from "../checks/kinds.ts";
import type { Metadata } from "../checks/values.ts";
import { BEGINNINGS, findSecret, isSecretAt } from "./content.ts";
import type { GivenRows } from "./policy.ts";

/** Where the texts of a call hold one of some strings: `Collection.occurrences`. */
export type Occurrences = (strings: PackedStrings) => Uint32Array | undefined;

/** A string of a row with a credential. */
export interface Holder {
  index: number;
  part: "text" | "metadata" | "id";
  /** Which kind of credential, in words. */
  kind: string;
}

/** Rows that a notice names. */
const NAMED_MAX = 3;
/** UTF-16 units of texts from which on they are searched for what credentials begin with: 0.3 ms a MB. */
const SEARCHED_UNITS = 16 * 1024;
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

/**
 * The rows with a credential, in their order.
 * @param rows with the ids that the caller gave
 * @param occurrences in these texts; absent: each is looked at here
 */
export function holders(rows: GivenRows, occurrences?: Occurrences): Holder[] {
  const found = occurrences && textsWithSecrets(rows, occurrences);
  let chunk: Uint8Array | undefined; // most metadata have no string that is long enough
  const keys = new Set<string>();
  const looked = new Set(found);
  let [bytes, first] = [0, 0];
  // Strings side by side may look like a credential that none of them is, so rows are looked at by themselves then.
  const look = (last: number) => {
    if (chunk && bytes > 0 && findSecret(chunk.subarray(0, bytes))) {
      for (let i = first; i <= last; i++) looked.add(i);
      keys.clear();
    }
    [bytes, first] = [0, last];
  };
  for (let i = 0; i < rows.texts.length; i++) {
    const use = (string: string) => {
      // A UTF-16 unit takes at most three bytes.
      const most = string.length * 3 + 1;
      if (most > CHUNK_BYTES) {
        looked.add(i);
        return;
      }
      if (bytes + most > CHUNK_BYTES) look(i);
      chunk ??= new Uint8Array(CHUNK_BYTES);
      bytes += encoder.encodeInto(string, chunk.subarray(bytes)).written;
      chunk[bytes++] = LINE_FEED;
    };
    if (found === undefined) eachText(rows, i, use);
    eachOther(rows, i, use, keys);
  }
  look(rows.texts.length - 1);
  return [...looked].sort((a, b) => a - b).flatMap((i) => holderOf(rows, i) ?? []);
}

let beginnings: PackedStrings | undefined;

/** The indexes of the texts with a credential; undefined: that is not known. */
function textsWithSecrets({ texts }: GivenRows, occurrences: Occurrences): Iterable<number> | undefined {
  let units = 0;
  for (const { length } of texts) units += length;
  if (units < SEARCHED_UNITS) return undefined;
  beginnings ??= packStrings(BEGINNINGS);
  let places: Uint32Array | undefined;
  try {
    places = occurrences(beginnings);
  } catch {
    return undefined;
  }
  const found = new Set<number>();
  let [index, bytes] = [-1, new Uint8Array(0)];
  for (let at = 0; at < (places?.length ?? 0); at += 2) {
    if (places![at] !== index) [index, bytes] = [places![at]!, encoder.encode(texts[places![at]!])];
    if (!found.has(index) && isSecretAt(bytes, places![at + 1]!)) found.add(index);
  }
  return places && found;
}

function holderOf(rows: GivenRows, index: number): Holder | undefined {
  let holder: Holder | undefined;
  const use = (string: string, part: Holder["part"]) => {
    const secret = holder ? undefined : findSecret(Buffer.from(string));
    if (secret) holder = { index, part, kind: secret.kind };
  };
  eachText(rows, index, use);
  eachOther(rows, index, use, new Set());
  return holder;
}

/** Keys that tell what their value is. */
const TELLING_KEY = /key$/i;

type Use = (string: string, part: Holder["part"]) => void;

/** The text of a row, if it is long enough for a credential. */
function eachText({ texts }: GivenRows, index: number, use: Use): void {
  if (texts[index]!.length >= SHORTEST_UNITS) use(texts[index]!, "text");
}

/** The other strings of a row that are long enough. @param keys of metadata that need not be used again: most rows have the same ones */
function eachOther({ ids, metadata }: GivenRows, index: number, use: Use, keys: Set<string>): void {
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
  if (ids) look(ids[index]!, "id");
  const object = metadata?.[index];
  if (object) for (const name of Object.keys(object)) add(name, object[name]);
}
