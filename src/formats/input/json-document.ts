/** One JSON value in a file, and the rows of one: read as a whole, within bounds. */
import { Breather } from "../../breather.ts";
import { isTooDeep } from "../../checks/depth.ts";
import { ValueError } from "../../errors.ts";
import { JSON_DOCUMENT_BYTES_MAX } from "../../limits.ts";
import type { ByteSource } from "./bytes.ts";
import { Remarks } from "./remarks.ts";
import type { ForeignRow, FormatOptions } from "./row.ts";
import { FileSource } from "./source.ts";

/** Beyond this a second parse, to say in which line the first one failed, takes too long. */
const LOCATED_CHARACTERS_MAX = 16 * 1024 * 1024;

/** A row, or undefined in place of one that is left out. */
export type Found = ForeignRow | undefined;

/** How a document is read: what says which rows are in it. */
type Reader = (value: unknown, name: string, remarks: Remarks) => Iterable<Found>;

/** The rows of a document that is read as a whole. */
export class JsonDocument extends FileSource {
  constructor(
    input: ByteSource,
    private readonly reader: Reader,
    onBad: FormatOptions["onBad"],
  ) {
    super(input, new Remarks(onBad));
  }

  async *rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]> {
    const value = await readJson(this.input);
    const breather = new Breather(signal, "interrupted");
    for (const group of inGroups(this.reader(value, this.name, this.kept))) {
      if (breather.due) await breather.pause();
      yield group;
    }
  }
}

/** Rows that are handed on at once: a promise for each takes as long as parsing it. */
const GROUP_ROWS = 256;

/** Rows some hundred at a time, those that are left out counted; those before an error come before it. */
export function* inGroups(rows: Iterable<Found>): Generator<ForeignRow[]> {
  let group: ForeignRow[] = [];
  let count = 0;
  try {
    for (const row of rows) {
      if (row) group.push(row);
      if (++count % GROUP_ROWS !== 0) continue;
      yield group;
      group = [];
    }
  } catch (error) {
    yield group;
    throw error;
  }
  yield group;
}

/** A row for each member of a list. */
export function* mapped(
  list: readonly unknown[],
  remarks: Remarks,
  row: (one: unknown, i: number) => Found,
): Generator<Found> {
  for (const [i, one] of list.entries()) yield remarks.row(() => row(one, i));
}

/** The value. @throws ValueError for what is not JSON in UTF-8, too long or too deep; OSError; CancelledError */
export async function readJson(input: ByteSource): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input.chunks()) {
    length += chunk.length;
    if (length > JSON_DOCUMENT_BYTES_MAX) {
      throw new ValueError(
        `${input.name} has more than ${JSON_DOCUMENT_BYTES_MAX} bytes, and JSON is read as a whole: make JSON lines of ` +
          "it, as in jq -c '.[]', which are read line by line",
        "limit",
      );
    }
    chunks.push(chunk);
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
  if (isTooDeep(bytes)) throw new ValueError(`${input.name}: nested too deeply, or too many objects and arrays`);
  const text = decoded(bytes, input.name);
  try {
    return JSON.parse(text);
  } catch {
    throw new ValueError(`${input.name}${await placeOf(text)}: not JSON`);
  }
}

/** UTF-8 as text, without a byte order mark. @throws ValueError that says how to convert other encodings */
export function decoded(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notUtf8(name);
  }
}

/** The error for bytes in another encoding. */
export function notUtf8(where: string): ValueError {
  return new ValueError(`${where}: not UTF-8; convert it first, as in iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW`);
}

/** Where the text stops being JSON, as ", line 3". JSON.parse does not say it. */
async function placeOf(text: string): Promise<string> {
  if (text.length > LOCATED_CHARACTERS_MAX) return "";
  const { parse } = await import("jsonc-parser");
  const errors: { offset: number }[] = [];
  parse(text, errors as never[], { disallowComments: true, allowTrailingComma: false });
  if (errors.length === 0) return "";
  return `, line ${text.slice(0, errors[0]!.offset).split("\n").length}`;
}
