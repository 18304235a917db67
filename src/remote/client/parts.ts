/**
 * The rows of one call, checked as a local collection checks them, and cut into parts that fit a request. All that can
 * be checked here is checked before the first part is sent, so that no call fails halfway for it.
 */

import type { RowOptions, Vectors } from "../../api/api.ts";
import { encodeMetadata } from "../../checks/metadata.ts";
import { readRowDetails } from "../../checks/rows.ts";
import { readTexts } from "../../checks/texts.ts";
import { readMatrix } from "../../checks/vectors.ts";
import { type Argument, base64Bytes, matrixPieces } from "./encode.ts";

/** The rows of a call from `from` on that one request carries, as its arguments. */
interface Part {
  from: number;
  args: Argument[];
}

/** Checked rows, and their columns. */
export interface Rows {
  count: number;
  /** Row by row; with `vectors` only. */
  floats?: Float32Array;
  columns: Column[];
  /** Ids given by the caller. */
  ids: readonly string[];
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

/** Whether the dimension is needed to count the rows, or to name the wrong one. */
export function needsDim(vectors: Vectors, { ids }: RowOptions): boolean {
  if (vectors instanceof Float32Array) return vectors.length > 0 && (!ids?.length || vectors.length % ids.length > 0);
  return Array.isArray(vectors) && vectors.some((row) => row?.length !== vectors[0]?.length);
}

/** Rows of vectors. `dim` is the collection's, where {@link needsDim}. */
export function vectorRows(vectors: Vectors, options: RowOptions, dim?: number): Rows {
  const { floats, count } = readMatrix(vectors, "vectors", dim, options.ids?.length);
  return { count, floats, ...optionColumns(options, count) };
}

/** Rows of texts. */
export function textRows(texts: readonly string[], options: RowOptions): Rows {
  readTexts(texts);
  const { columns, ids } = optionColumns(options, texts.length);
  return { count: texts.length, columns: [stringColumn("texts", texts), ...columns], ids };
}

/**
 * The rows in parts of at most `bytesMax` bytes of arguments, but at least one row; one part where there are no rows.
 */
export function* toParts({ count, floats, columns }: Rows, bytesMax: number): Generator<Part> {
  const dim = floats && count > 0 ? floats.length / count : 0;
  const vectorBytes = base64Bytes(dim * 4);
  const toPart = (from: number, to: number, lists: string[]): Part => {
    const args: Argument[] = columns.map(({ name }, i) => [name, lists[i]!]);
    if (floats) args.unshift(["vectors", ...matrixPieces(floats.subarray(from * dim, to * dim), to - from)]);
    return { from, args };
  };
  if (columns.reduce((sum, { bytesBound }) => sum + bytesBound, vectorBytes * count) <= bytesMax) {
    const lists = columns.map((column) => column.list());
    yield toPart(0, count, lists);
    return;
  }
  let from = 0;
  let bytes = 0;
  let cells: string[][] = columns.map(() => []);
  const cut = (to: number) => {
    const lists = cells.map((column) => `[${column.join(",")}]`);
    return toPart(from, to, lists);
  };
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

function optionColumns(options: RowOptions, count: number): { columns: Column[]; ids: readonly string[] } {
  const { ids, metadata } = readRowDetails(options, count);
  const columns: Column[] = [];
  if (ids) columns.push(stringColumn("ids", ids));
  if (metadata) {
    const jsons = Array.from(metadata, (row, i) => (row ? encodeMetadata(row, `metadata[${i}]`) : "null"));
    const list = `[${jsons.join(",")}]`;
    columns.push({ name: "metadata", json: (row) => jsons[row]!, list: () => list, bytesBound: list.length * 3 });
  }
  return { columns, ids: ids ?? [] };
}
