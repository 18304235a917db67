/**
 * The rows of one call: checked as a local collection checks them, and cut into parts that fit a request. All that can be known here is
 * known before the first part goes out, so that no half is written for a reason that was there from the beginning.
 */

import { kindOf } from "../checks/kinds.ts";
import type { Metadata, RowOptions, Vectors } from "../engine/api.ts";
import { ArgumentTypeError, KeyError, ValueError } from "../errors.ts";
import { METADATA_BYTES_MAX, METADATA_DEPTH_MAX, TEXT_BYTES_MAX } from "../limits.ts";
import { type Argument, base64Bytes, matrixPieces } from "./encode.ts";
import { readMatrix } from "./matrix.ts";
import { checkList, checkStrings, idList, shown } from "./values.ts";

/** Rows `from` to before `to` of a call, as the arguments of a request. */
export interface Part {
  from: number;
  to: number;
  args: Argument[];
}

/** Rows that are checked: how many, and each one's JSON where a column has it as JSON. */
export interface Rows {
  count: number;
  /** Row by row; with `vectors` only. */
  floats?: Float32Array;
  columns: Column[];
  /** Where the caller gave some. */
  ids?: readonly string[];
}

/** One argument, row by row. */
interface Column {
  name: string;
  /** As JSON, one row. */
  json(row: number): string;
  /** As JSON, all rows. */
  list(): string;
  /** Bytes that `list` has at most: cheap to know. */
  bytesBound: number;
}

/** A column of strings. */
export function stringColumn(name: string, strings: readonly string[]): Column {
  let units = 0;
  for (const string of strings) units += string.length;
  return {
    name,
    json: (row) => JSON.stringify(strings[row]),
    list: () => JSON.stringify(strings),
    // A UTF-16 unit is at most six bytes, as \u0000.
    bytesBound: units * 6 + strings.length * 3 + 2,
  };
}

/** Whether only the dimension says how many rows these are. */
export function needsDim(vectors: Vectors, options: RowOptions): boolean {
  return vectors instanceof Float32Array && vectors.length > 0 && !options.ids;
}

/** Rows of vectors. `dim` is the collection's, where {@link needsDim}. */
export function vectorRows(vectors: Vectors, options: RowOptions, dim?: number): Rows {
  const { floats, count } = readMatrix(vectors, dim, options.ids?.length);
  return { count, floats, ...optionColumns(options, count, "vectors") };
}

/** Rows of texts. */
export function textRows(texts: readonly string[], options: RowOptions): Rows {
  checkStrings("texts", texts);
  texts.forEach((text, i) => {
    // At most three bytes a UTF-16 unit: most texts need no count.
    if (text.length * 3 <= TEXT_BYTES_MAX) return;
    const bytes = Buffer.byteLength(text);
    if (bytes <= TEXT_BYTES_MAX) return;
    throw new ValueError(`texts[${i}] has ${bytes} bytes of UTF-8; the limit is ${TEXT_BYTES_MAX}: store it in parts`);
  });
  const { columns, ids } = optionColumns(options, texts.length, "texts");
  return { count: texts.length, columns: [stringColumn("texts", texts), ...columns], ids };
}

/** Refuses ids that stand twice in one call. */
export function checkDistinct({ ids }: Rows): void {
  if (!ids || new Set(ids).size === ids.length) return;
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const id of ids) (seen.has(id) ? twice : seen).add(id);
  const named = [...twice].slice(0, 3).map(shown).join(", ") + (twice.size > 3 ? ` and ${twice.size - 3} more` : "");
  const what = twice.size === 1 ? "this id stands" : "these ids stand";
  throw new KeyError(`${what} twice in the call, nothing was added: ${named}`);
}

/** The rows in parts of at most `bytesMax` bytes of arguments, but at least one row; one part where there are no rows. */
export function* toParts({ count, floats, columns }: Rows, bytesMax: number): Generator<Part> {
  const dim = floats && count > 0 ? floats.length / count : 0;
  const vectorBytes = base64Bytes(dim * 4);
  const toPart = (from: number, to: number, lists: string[]): Part => {
    const args: Argument[] = columns.map(({ name }, i) => [name, lists[i]!]);
    if (floats) args.unshift(["vectors", ...matrixPieces(floats.subarray(from * dim, to * dim), to - from)]);
    return { from, to, args };
  };
  if (columns.reduce((sum, { bytesBound }) => sum + bytesBound, vectorBytes * count) <= bytesMax) {
    yield toPart(
      0,
      count,
      columns.map((column) => column.list()),
    );
    return;
  }
  let from = 0;
  let bytes = 0;
  let cells: string[][] = columns.map(() => []);
  const cut = (to: number) =>
    toPart(
      from,
      to,
      cells.map((column) => `[${column.join(",")}]`),
    );
  for (let row = 0; row < count; row++) {
    const jsons = columns.map((column) => column.json(row));
    const size = jsons.reduce((sum, json) => sum + Buffer.byteLength(json) + 1, vectorBytes);
    if (row > from && bytes + size > bytesMax) {
      yield cut(row);
      from = row;
      bytes = 0;
      cells = columns.map(() => []);
    }
    bytes += size;
    jsons.forEach((json, i) => {
      cells[i]!.push(json);
    });
  }
  yield cut(count);
}

// ---------------------------------------------------------------------------------------------------------------------

function optionColumns(
  { ids: given, metadata }: RowOptions,
  count: number,
  rows: string,
): Pick<Rows, "columns" | "ids"> {
  const columns: Column[] = [];
  const ids = given ? idList(given) : undefined;
  if (ids) {
    checkCount("ids", ids, count, rows);
    columns.push(stringColumn("ids", ids));
  }
  if (metadata) {
    checkList("metadata", metadata);
    checkCount("metadata", metadata, count, rows);
    const jsons = Array.from(metadata, metadataJson);
    const list = `[${jsons.join(",")}]`;
    columns.push({ name: "metadata", json: (row) => jsons[row]!, list: () => list, bytesBound: list.length * 3 });
  }
  return { columns, ids };
}

function checkCount(name: string, list: readonly unknown[], count: number, rows: string): void {
  if (list.length === count) return;
  throw new ValueError(`${name} has ${list.length} entries and ${rows} has ${count} rows; give one for each row`);
}

function metadataJson(metadata: Metadata | null | undefined, at: number): string {
  if (metadata === null || metadata === undefined) return "null";
  if (typeof metadata !== "object" || Array.isArray(metadata)) {
    throw new ArgumentTypeError(`metadata[${at}] must be an object or null, got ${kindOf(metadata)}`);
  }
  checkValues(metadata, `metadata[${at}]`, 1);
  const json = JSON.stringify(metadata);
  if (json.length * 3 > METADATA_BYTES_MAX) {
    const bytes = Buffer.byteLength(json);
    if (bytes > METADATA_BYTES_MAX) {
      throw new ValueError(`metadata[${at}] has ${bytes} bytes as JSON; the limit is ${METADATA_BYTES_MAX}`);
    }
  }
  return json;
}

/** Refuses what JSON would turn into something else without a word, and what is nested too deep. */
function checkValues(parent: object, where: string, depth: number): void {
  if (depth > METADATA_DEPTH_MAX) throw new ValueError(`${where} is nested deeper than ${METADATA_DEPTH_MAX} levels`);
  for (const key of Object.keys(parent)) {
    const value = (parent as Record<string, unknown>)[key];
    if (typeof value === "string" || value === null) continue;
    if (typeof value === "number" && Number.isFinite(value) && (Number.isSafeInteger(value) || value % 1 !== 0))
      continue;
    const at = Array.isArray(parent) ? `${where}[${key}]` : `${where}.${key}`;
    if (typeof value === "number") throw notExact(at, value);
    if (typeof value === "bigint")
      throw new ArgumentTypeError(`${at} is a bigint, which JSON does not have: store it as a string`);
    if (typeof value === "object") checkValues(value, at, depth + 1);
  }
}

function notExact(at: string, value: number): ValueError {
  if (!Number.isFinite(value)) return new ValueError(`${at} is ${value}; JSON has no such number`);
  return new ValueError(`${at} is ${value}, beyond 2^53, where integers lose digits: store it as a string`);
}
