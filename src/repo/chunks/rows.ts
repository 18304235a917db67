/** The rows of a file: what is the same in all of them is encoded once. */

import { encodeKey } from "../../store/filter.ts";
import type { Pack, PackedRow } from "../../store/packer.ts";
import type { Chunk } from "./chunk.ts";
import { rowId } from "./identity.ts";

const encoder = new TextEncoder();

/** One file's rows. */
export class FileRows {
  /** The path precedes the text like a title: a file's name often tells its subject. */
  private readonly title: Uint8Array;
  /** The beginning of the metadata's JSON. */
  private readonly head: string;
  /** The keys of the filter columns; undefined where they differ from row to row. */
  private readonly keys: readonly Uint8Array[] | undefined;

  /**
   * @param base of the rows' ids
   * @param text as `textBytes` gives it; chunks are its ranges
   * @param columns the collection's filter columns
   */
  constructor(
    private readonly base: string,
    private readonly file: { repo_id: string; path: string; language: string },
    private readonly text: Uint8Array,
    private readonly columns: readonly string[],
  ) {
    this.title = encoder.encode(`${file.path}\n`);
    this.head = JSON.stringify(file).slice(0, -1);
    const isOfLines = (column: string) => column === "chunk" || column.endsWith("_line") || column === "piece";
    if (!columns.some(isOfLines)) this.keys = this.keysOf(file);
  }

  /**
   * The row of a chunk.
   * @param number of the chunk
   * @param like id of a row with the same text
   */
  row(number: number, chunk: Chunk, labels: readonly string[], like: string | undefined): PackedRow {
    const { from, to, startLine, endLine, piece } = chunk;
    const rest = piece === undefined ? "" : `,"piece":${piece}`;
    const lines = { chunk: number, start_line: startLine, end_line: endLine, piece };
    return {
      id: rowId(this.base, number),
      text: [this.title, this.text.subarray(from, to)],
      metadata: `${this.head},"chunk":${number},"start_line":${startLine},"end_line":${endLine}${rest}}`,
      keys: this.keys ?? this.keysOf({ ...this.file, ...lines }),
      labels,
      like,
    };
  }

  private keysOf(values: Record<string, unknown>): Uint8Array[] {
    return this.columns.map((column) => encodeKey(Object.hasOwn(values, column) ? values[column] : undefined));
  }
}

/** The texts of a pack as strings, for an embedder outside of the kernel. */
export function textsOf({ texts: { bytes, ends } }: Pack): string[] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let from = 0;
  return Array.from(ends, (end) => {
    const text = decoder.decode(bytes.subarray(from, Number(end)));
    from = Number(end);
    return text;
  });
}
