/**
 * Tables of text: CSV (RFC 4180) and TSV, in UTF-8, parsed by csv-parse 7. The first line names the columns; one of them
 * is the text, one may be the id, and the others become metadata.
 */
import type { CsvError, Info, Parser } from "csv-parse";
import { ValueError } from "../errors.ts";
import { TEXT_BYTES_MAX } from "../limits.ts";
import { checkColumns, readHeader } from "./csv-header.ts";
import type { ByteSource } from "./input/bytes.ts";
import {
  ID_NAMES,
  isBlankText,
  likeliest,
  rowOf,
  TEXT_NAMES,
  type TimeKeys,
  timeKeys,
  withoutTimes,
} from "./input/fields.ts";
import type { FormatFlags } from "./input/flags.ts";
import { notUtf8 } from "./input/json-document.ts";
import { Remarks } from "./input/remarks.ts";
import type { ForeignRow, Format } from "./input/row.ts";
import { FileSource } from "./input/source.ts";

const DELIMITERS = [",", "\t", ";", "|"];
/** Bytes of one record: its longest text, and the columns beside it. */
const RECORD_BYTES_MAX = TEXT_BYTES_MAX + 1024 * 1024;

/** UTF-16 units of a line that names columns; a longer one is text. */
const HEADER_UNITS_MAX = 10_000;

/** The format. */
export const CSV: Format = {
  name: "csv",
  title: "CSV or TSV whose first line names the columns",
  matches: (path, head, isFolder) => !isFolder && (/\.(csv|tsv|tab)(\.gz)?$/i.test(path) || hasHeader(head)),
  async open(path, { input, flags = {}, onBad }) {
    if (!input) throw new ValueError(`'${path}' is a folder: name a file of CSV in it`);
    const { delimiter } = flags;
    if (delimiter !== undefined && [...delimiter].length !== 1) {
      throw new ValueError(`--delimiter is '${delimiter}': give one character, or leave it out`);
    }
    return new Table(input, delimiter ?? delimiterOf(head(input.head)), flags, new Remarks(onBad));
  },
};

const head = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Whether the first line looks like names of columns, with that of a text among them. */
function hasHeader(bytes: Uint8Array): boolean {
  const [line = ""] = head(bytes).split(/\r\n|[\r\n]/);
  if (line.length > HEADER_UNITS_MAX || /^\s*[[{<#]/.test(line)) return false;
  const names = line.split(delimiterOf(line)).map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
  return names.length > 1 && likeliest(TEXT_NAMES, names) !== undefined;
}

/** The delimiter that stands most often in the first line, outside of quotes. */
function delimiterOf(text: string): string {
  const line = /^(?:"[^"]*"|[^"\r\n])*/.exec(text)?.[0] ?? "";
  const bare = line.replace(/"[^"]*"/g, "");
  const counted = DELIMITERS.map((one) => [one, bare.split(one).length] as const);
  return counted.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/** The columns of a table: which is the text, which the id. */
interface Columns {
  readonly names: readonly string[];
  readonly text: number;
  readonly id: number;
  /** Those that are times. */
  readonly times: TimeKeys;
}

class Table extends FileSource {
  private columns: Columns | undefined;
  private ready: ForeignRow[] = [];
  /** The first thing that was wrong. Nothing that comes after it is a row. */
  private failure: unknown;
  /** Lines of the records so far; empty lines between them are counted by the parser. */
  private lines = 0;
  private emptyLines = 0;

  constructor(
    input: ByteSource,
    private readonly delimiter: string,
    private readonly flags: FormatFlags,
    kept: Remarks,
  ) {
    super(input, kept);
  }

  async *rows(): AsyncGenerator<ForeignRow[]> {
    const { parse } = await import("./csv-parser.ts");
    const rest = this.input.chunks()[Symbol.asyncIterator]();
    const { header, read } = await readHeader(rest, this.delimiter, RECORD_BYTES_MAX);
    checkColumns(header, this.name, this.delimiter);
    if (!header.isEnded) throw tooLong(`${this.name}, line ${this.line}`);
    const parser = parse({
      bom: true,
      delimiter: this.delimiter,
      ...(header.lineEnd && { record_delimiter: header.lineEnd }),
      info: false,
      skip_empty_lines: true,
      max_record_size: RECORD_BYTES_MAX,
      relax_column_count: true, // counted below, where a bad row can be left out
      // Nothing is passed on: a promise for each row takes longer than parsing it.
      on_record: (record: string[], info) => this.record(record, info),
    });
    parser.on("error", (error) => this.fail(this.located(error as CsvError)));
    const decoder = new TextDecoder("utf-8", { fatal: true });
    for await (const chunk of joined(read, rest)) {
      try {
        decoder.decode(chunk, { stream: true });
      } catch {
        this.fail(notUtf8(`${this.name}, at or after line ${this.line}`));
      }
      if (this.failure === undefined) await written(parser, chunk);
      yield* this.taken();
    }
    try {
      decoder.decode();
    } catch {
      this.fail(notUtf8(`${this.name}, at its end`));
    }
    if (this.failure === undefined) await written(parser, undefined);
    yield* this.taken();
    if (!this.columns) throw new ValueError(`${this.name} is empty: its first line names the columns`);
  }

  private fail(error: unknown): void {
    this.failure ??= error;
  }

  /** What is ready, and then what was wrong. */
  private *taken(): Generator<ForeignRow[]> {
    if (this.ready.length > 0) yield this.ready;
    this.ready = [];
    if (this.failure !== undefined) throw this.failure;
  }

  private record(record: string[], info: Info): null {
    if (this.failure !== undefined) return null;
    this.emptyLines = info.empty_lines;
    const where = `${this.name}, line ${this.line}`;
    try {
      if (!this.columns) this.columns = this.header(record);
      else {
        const { columns } = this;
        const row = this.kept.row(() => this.row(record, columns, where));
        if (row) this.ready.push(row);
      }
    } catch (error) {
      this.fail(error);
    }
    // The parser's own count takes CRLF in a quoted field for two.
    this.lines +=
      1 + record.reduce((sum, cell) => sum + (/[\r\n]/.test(cell) ? cell.split(/\r\n|[\r\n]/).length - 1 : 0), 0);
    return null;
  }

  /** The line that the next record begins in, or the one that is being read. */
  private get line(): number {
    return this.lines + this.emptyLines + 1;
  }

  /** @throws ValueError for columns of one name, or without one that is the text */
  private header(cells: readonly string[]): Columns {
    const names = cells.map((cell) => cell.trim());
    const seen = new Set<string>();
    const twice = names.find((one) => one !== "" && seen.size === seen.add(one).size);
    if (twice !== undefined)
      throw new ValueError(`${this.name}: two columns are called '${twice.slice(0, 80)}': rename one`);
    const listed = names
      .slice(0, 20)
      .map((one) => `'${one.slice(0, 80)}'`)
      .join(", ");
    const at = (flag: string, wanted: string | undefined, usual: readonly string[]) => {
      const found = wanted ?? likeliest(usual, names);
      const column = found === undefined ? -1 : names.indexOf(found);
      if (wanted !== undefined && column < 0) {
        throw new ValueError(`${this.name} has no column '${wanted}', which ${flag} names; it has ${listed}`);
      }
      return column;
    };
    const text = at("--text-column", this.flags.textColumn, TEXT_NAMES);
    if (text < 0) {
      throw new ValueError(
        `${this.name}: none of its columns (${listed}) is called ${TEXT_NAMES.join(", ")}: name the one with the texts, ` +
          "with --text-column",
      );
    }
    return { names, text, id: at("--id-column", this.flags.idColumn, ID_NAMES), times: timeKeys(names) };
  }

  private row(cells: readonly string[], { names, text, id, times }: Columns, where: string): ForeignRow | undefined {
    if (cells.length !== names.length) {
      throw new ValueError(
        `${where}: ${cells.length} fields, where the first line has ${names.length}: a delimiter or a quote is missing`,
      );
    }
    if (isBlankText(cells[text])) return this.kept.blank(where);
    const fields = names.flatMap((name, i): [string, unknown][] => {
      const cell = cells[i] ?? "";
      if (i === text || i === id || cell === "") return [];
      return [[name === "" ? `column ${i + 1}` : name, this.flags.typed ? typedCell(cell) : cell]];
    });
    if (times.created === undefined && times.updated === undefined)
      return rowOf({ text: cells[text], id: cells[id], metadata: fields }, where);
    const { created, updated, others } = withoutTimes(fields, times, this.kept, where);
    return rowOf({ text: cells[text], id: cells[id], created, updated, metadata: others }, where);
  }

  private located(error: CsvError): unknown {
    const { code } = error;
    this.emptyLines = (error as { empty_lines?: number }).empty_lines ?? this.emptyLines;
    const at = `${this.name}, line ${this.line}`;
    if (code === "CSV_MAX_RECORD_SIZE") return tooLong(at);
    if (code === "CSV_QUOTE_NOT_CLOSED") {
      return new ValueError(`${at}: a field begins with a quote that no other one closes`);
    }
    return new ValueError(`${at}: ${error.message.slice(0, 200)}`);
  }
}

function tooLong(where: string): ValueError {
  return new ValueError(`${where}: a row of more than ${RECORD_BYTES_MAX} bytes`, "limit");
}

/** Chunks that were read, and all that follow. */
async function* joined(read: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* read.splice(0);
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Resolves once a chunk, or the end, is parsed; a failure arrives as an event. */
function written(parser: Parser, chunk: Uint8Array | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (chunk) parser.write(chunk, () => resolve());
    else {
      parser.once("error", () => resolve());
      parser.once("end", () => resolve());
      parser.resume();
      parser.end();
    }
  });
}

/** A number as JSON writes it, true, false or null; anything else is the text. */
function typedCell(cell: string): unknown {
  if (!/^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/.test(cell)) return cell;
  const value: unknown = JSON.parse(cell);
  // An identifier of twenty digits would lose some of them.
  return typeof value === "number" &&
    (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    ? cell
    : value;
}
