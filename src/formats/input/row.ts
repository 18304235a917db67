/** What an import reads: rows from elsewhere, where they come from, and the formats they come in. */
import type { SvcError } from "../../errors.ts";
import type { ByteSource } from "./bytes.ts";
import type { FormatFlags } from "./flags.ts";

/** A row as a file has it, its parts checked. */
export interface ForeignRow {
  /** Checked by `readId`. Absent: the import derives one from the content, the same for the same file. */
  readonly id?: string | undefined;
  /** Well-formed; absent for a row that is a vector alone. */
  readonly text?: string | undefined;
  readonly metadata?: Record<string, unknown> | null | undefined;
  /** When it came in and when it was last put, in milliseconds since 1970. */
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  /** Finite numbers. It is used where the collection's vectors are made by the same embedder: `RowSource.schema`. */
  readonly vector?: Float32Array | undefined;
  /** The vector of meaning as an export has it. What is not one of this build's encoder and of this text is not used. */
  readonly meaning?: Uint8Array | undefined;
  /** Where it stands, for messages, as in "'notes.csv', line 3". */
  readonly where: string;
}

/** What is known of the collection that rows were exported of; each part may be absent. */
export interface ForeignSchema {
  readonly dim?: number | undefined;
  readonly dtype?: string | undefined;
  readonly metric?: string | undefined;
  readonly partition_by?: string | undefined;
  readonly filter_columns?: readonly string[] | undefined;
  readonly lexical?: boolean | undefined;
  /** The profile of the embedder that made its vectors; null: they are raw vectors; absent: not known. */
  readonly embedder?: object | null | undefined;
  readonly description?: string | undefined;
}

/** What an import reads, once. */
export interface RowSource {
  /** For messages. */
  readonly name: string;
  /** Bytes in all, where that is known. */
  readonly bytes: number | undefined;
  /** The schema of the exported collection, if the source has it: known once its first rows are there. */
  readonly schema?: ForeignSchema | undefined;
  /** How many of the bytes were read so far. */
  position(): number;
  /** What was left out, a sentence for each reason: complete once all rows were read. */
  remarks?(): readonly string[];
  /**
   * The rows in their order, by themselves or several at once: a promise for each of a million rows takes as long as
   * parsing them.
   * @throws ValueError, TypeError naming the place and what is wrong there; OSError; CancelledError
   */
  rows(signal: AbortSignal): AsyncIterable<ForeignRow | readonly ForeignRow[]>;
}

/** How a source is opened. */
export interface FormatOptions {
  readonly signal: AbortSignal;
  /** The bytes of the file or of stdin, unpacked; absent for a folder. */
  readonly input?: ByteSource | undefined;
  /** Gets what is wrong with a row, which is then left out. Absent: it ends the reading. */
  readonly onBad?: ((error: SvcError) => void) | undefined;
  /** What was said about the file; those that are not for this format were refused. */
  readonly flags?: FormatFlags | undefined;
}

/** One format. */
export interface Format {
  /** For `--from`. */
  readonly name: string;
  /** For messages and help, as in "JSON lines". */
  readonly title: string;
  /**
   * Whether this may be it. The first format of the list that matches is taken.
   * @param path `-` for stdin
   * @param head the first bytes, unpacked, at most 64 KiB; none of a folder
   */
  matches(path: string, head: Uint8Array, isFolder: boolean): boolean;
  /** @throws ValueError for what cannot be of this format, such as a folder */
  open(path: string, options: FormatOptions): Promise<RowSource>;
}
