/**
 * The rows of a put, from JSON to what the native side takes. Runs on the event loop for small frames, in the decoder
 * for large ones.
 */
import { checkBesides } from "../checks/rows.ts";
import { parseBy } from "../memory/schema.ts";
import { type PackedRows, packRows } from "../store/pack.ts";
import { toRows } from "../texts/put.ts";
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
  /** Of rows that still need their vectors. */
  texts?: readonly string[];
}

/** The operations whose rows are packed. */
export const PUTS = ["add", "upsert", "add_texts", "upsert_texts"] as const;
export type PutOp = (typeof PUTS)[number];

/** @throws ValueError, TypeError naming the argument that is wrong */
export function packPut(op: "add" | "upsert", args: unknown, schema: PutSchema): PackedPut {
  const { vectors, ids, metadata } = parseBy(ARGUMENTS[op], `op '${op}'`, args);
  const { floats, count } = readMatrix(vectors, schema.dim, "vectors");
  const rows = toRows(checkBesides({ ids, metadata }, count), count, schema.keyName);
  const packed = packRows({ ...rows, vectors: floats }, schema.filterColumns);
  return { rows: packed, idsJson: JSON.stringify(rows.ids) };
}

/** The same for texts; the vectors are added where the embedder is. @throws ValueError, TypeError */
export function packTexts(op: "add_texts" | "upsert_texts", args: unknown, schema: PutSchema): PackedPut {
  const { texts, ids, metadata } = parseBy(ARGUMENTS[op], `op '${op}'`, args);
  const rows = toRows(checkBesides({ ids, metadata }, texts.length), texts.length, schema.keyName);
  const packed = packRows({ ...rows, texts }, schema.filterColumns);
  return { rows: packed, idsJson: JSON.stringify(rows.ids), texts };
}
