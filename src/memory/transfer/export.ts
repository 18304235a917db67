/** A collection as lines of JSON, a page at a time, so that its size does not matter. */
import { packFloats } from "../../checks/packed-vectors.ts";
import { headOf } from "../../formats/head.ts";
import type { ExportHeadPayload, ExportRowsPayload } from "../payloads.ts";
import type { Terminal } from "../terminal.ts";

/**
 * Rows of the first page. The next pages have as many rows as are likely to take `PAGE_UNITS`, but at most `PAGE_ROWS_MAX`,
 * because rows that follow may be much longer.
 */
const PAGE_ROWS_FIRST = 8;
const PAGE_ROWS_MAX = 256;
/** UTF-16 units that a page should have. */
const PAGE_UNITS = 2 * 1024 * 1024;

/** What the line of each row contains, in addition to its id and text. */
export interface LineOptions {
  readonly vectors: boolean;
  readonly metadata: boolean;
  readonly times: boolean;
}

export interface ExportPage {
  /** Whole lines, each with its end. */
  readonly lines: string;
  /** How many rows are in them. Rows that were deleted meanwhile are not. */
  readonly rows: number;
  /** How many of the ids were read so far. */
  readonly done: number;
  readonly notice: string | undefined;
}

/** The line that describes the collection, without its end. */
export function headLine({ collection, schema }: ExportHeadPayload): string {
  return JSON.stringify(headOf(collection, schema));
}

/**
 * The rows of these ids, in their order.
 * @param ids of all rows, read before: if a page began after the last id of the page before, another process could delete
 *   that row, and the place would be lost
 */
export async function* exportPages(
  terminal: Terminal,
  collection: string,
  ids: readonly string[],
  options: LineOptions,
): AsyncGenerator<ExportPage, undefined> {
  let rows = PAGE_ROWS_FIRST;
  for (let start = 0; start < ids.length; ) {
    const some = ids.slice(start, start + rows);
    const page = await terminal.export_rows({ collection, ids: some, with_vectors: options.vectors });
    const lines = page.rows.map((row) => `${rowLine(row, options)}\n`).join("");
    start += some.length;
    yield { lines, rows: page.rows.length, done: start, notice: page.notice };
    rows = Math.min(PAGE_ROWS_MAX, 4 * rows, Math.ceil((rows * PAGE_UNITS) / Math.max(1, lines.length)));
  }
}

function rowLine(row: ExportRowsPayload["rows"][number], options: LineOptions): string {
  const { id, text, vector, meaning } = row;
  const metadata = options.metadata ? row.metadata : undefined;
  const times = options.times ? { created: row.created, updated: row.updated } : {};
  const packed = vector && { vector: { f32: packFloats(vector) } };
  const meant = meaning && { meaning: Buffer.from(meaning).toString("base64") };
  return JSON.stringify({ id, metadata, text, ...times, ...packed, ...meant });
}
