/**
 * The rows of a put, from JSON to the native form. Runs on the event loop for small frames, in the decoder for large
 * ones.
 */
import { checkRowDetails } from "../../../checks/rows.ts";
import { parseBy } from "../../../checks/schema.ts";
import { type PackedRows, packRows } from "../../../store/pack.ts";
import { toRows } from "../../../texts/put.ts";
import { readMatrix } from "../../wire/vectors.ts";
import { ARGUMENTS } from "./schemas.ts";

/** The part of a collection's schema that packing needs. */
export interface PutSchema {
  dim: number;
  keyName: string;
  filterColumns: readonly string[];
}

/** Rows in the native form, and the reply: their ids as JSON. */
export interface PackedPut {
  rows: PackedRows;
  idsJson: string;
  /** Texts of rows without vectors. */
  texts?: readonly string[];
}

/** The operations whose rows are packed. */
export const PUTS = ["add", "upsert", "add_texts", "upsert_texts"] as const;
export type PutOp = (typeof PUTS)[number];

/** How much a token is charged for rows. */
export interface PutSize {
  readonly rows: number;
  /** Of ids, texts, metadata and vectors. */
  readonly bytes: number;
}

/** The size of packed rows. */
export function packedSize({ count, ids, metas, texts, vectors }: PackedRows): PutSize {
  const bytes = ids.bytes.length + metas.bytes.length + (texts?.bytes.length ?? 0) + (vectors?.byteLength ?? 0);
  return { rows: count, bytes };
}

/** Packs rows; those of texts without their vectors. @throws ValueError, TypeError naming the argument that is wrong */
export function packPut(op: PutOp, args: unknown, schema: PutSchema): PackedPut {
  const given = parseBy(ARGUMENTS[op], `op '${op}'`, args);
  const texts = "texts" in given ? given.texts : undefined;
  const matrix = "vectors" in given ? readMatrix(given.vectors, schema.dim, "vectors") : undefined;
  const count = texts?.length ?? matrix?.count ?? 0;
  const rows = toRows(checkRowDetails(given, count), count, schema.keyName);
  const packed = packRows({ ...rows, texts, vectors: matrix?.floats }, schema.filterColumns);
  return { rows: packed, idsJson: JSON.stringify(rows.ids), texts };
}
