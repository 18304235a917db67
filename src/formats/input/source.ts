/** Sources of rows that read one file, or stdin. */
import { isTooDeep } from "../../checks/depth.ts";
import { isObject } from "../../checks/kinds.ts";
import { isBlank, type Line, LineSplitter, OversizeLine } from "../../checks/lines.ts";
import { ValueError } from "../../errors.ts";
import { STDIO_LINE_BYTES_MAX } from "../../limits.ts";
import type { ByteSource } from "./bytes.ts";
import type { Remarks } from "./remarks.ts";
import type { ForeignRow, RowSource } from "./row.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** What they have in common: how far they are, and what they left out. */
export abstract class FileSource implements RowSource {
  readonly name: string;
  readonly bytes: number | undefined;

  constructor(
    protected readonly input: ByteSource,
    protected readonly kept: Remarks,
  ) {
    this.name = input.name;
    this.bytes = input.bytes;
  }

  position(): number {
    return this.input.position();
  }

  remarks(): readonly string[] {
    return this.kept.sentences();
  }

  abstract rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]>;
}

/** A file with an object in JSON a line. */
export abstract class LineSource extends FileSource {
  private number = 0;

  async *rows(): AsyncGenerator<ForeignRow[]> {
    const splitter = new LineSplitter(STDIO_LINE_BYTES_MAX);
    for await (const chunk of this.input.chunks()) yield* this.parsed(splitter.push(chunk));
    yield* this.parsed(splitter.finish());
  }

  /** The rows of a line, if it has any. @throws ValueError, TypeError naming the line */
  protected abstract rowsOf(object: Record<string, unknown>, where: string): ForeignRow | ForeignRow[] | undefined;

  /** The rows of these lines; those before a bad line come before its error. */
  private *parsed(lines: Iterable<Line>): Generator<ForeignRow[]> {
    const rows: ForeignRow[] = [];
    for (const line of lines) {
      this.number += 1;
      const where = `${this.name}, line ${this.number}`;
      try {
        if (!(line instanceof OversizeLine) && isBlank(line)) continue;
        const found = this.rowsOf(parseLine(line, where), where);
        if (Array.isArray(found)) for (const row of found) rows.push(row);
        else if (found) rows.push(found);
      } catch (error) {
        if (this.kept.leavesOut(error)) continue;
        yield rows;
        throw error;
      }
    }
    yield rows;
  }
}

/** @throws ValueError for what is not an object in JSON */
function parseLine(line: Line, where: string): Record<string, unknown> {
  if (line instanceof OversizeLine) throw new ValueError(`${where} has more than ${STDIO_LINE_BYTES_MAX} bytes`);
  if (isTooDeep(line)) throw new ValueError(`${where}: nested too deeply`);
  let value: unknown;
  try {
    // A byte order mark at the beginning of a file is dropped by the decoder.
    value = JSON.parse(decoder.decode(line));
  } catch {
    throw new ValueError(`${where}: not JSON in UTF-8`);
  }
  if (!isObject(value)) throw new ValueError(`${where}: not an object`);
  return value;
}
