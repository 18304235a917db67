/** The rows of an `add` or `upsert`, from JSON to what the native side takes. Runs on the event loop for small frames, in the decoder for large ones. */
import { toRows } from "../engine/rows.ts";
import { parseBy } from "../memory/arguments.ts";
import { type PackedRows, packRows } from "../store/rows.ts";
import { readMatrix } from "../wire/vectors.ts";
import { ARGUMENTS } from "./schemas.ts";

/** Of a collection's schema, what packing needs. */
export interface PutSchema {
  dim: number;
  keyName: string;
  filterColumns: readonly string[];
}

/** Rows ready for the native side, and the answer: their ids as JSON. */
export interface PackedPut {
  rows: PackedRows;
  idsJson: string;
}

/** @throws ValueError, TypeError naming the argument that is wrong */
export function packPut(op: "add" | "upsert", args: unknown, schema: PutSchema): PackedPut {
  const { vectors, ids, metadata } = parseBy(ARGUMENTS[op], `op '${op}'`, args);
  const matrix = readMatrix(vectors, schema.dim, "vectors");
  const rows = toRows(matrix, matrix.length / schema.dim, schema.keyName, { ids, metadata });
  return { rows: packRows(rows, schema.dim, schema.filterColumns), idsJson: JSON.stringify(rows.ids) };
}
