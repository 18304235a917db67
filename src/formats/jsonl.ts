/** JSON lines: what `svc mem export` writes, and every file with an object a line that has a text. */
import { optional } from "../checks/create-options.ts";
import { isTooDeep } from "../checks/depth.ts";
import { readId } from "../checks/ids.ts";
import { isObject } from "../checks/kinds.ts";
import { isBlank, type Line, LineSplitter, OversizeLine } from "../checks/lines.ts";
import { readObject } from "../checks/metadata.ts";
import { readString } from "../checks/strings.ts";
import { CancelledError, SvcError, ValueError } from "../errors.ts";
import { STDIO_LINE_BYTES_MAX } from "../limits.ts";
import type { ByteSource } from "./bytes.ts";
import type { ForeignRow, Format, RowSource } from "./row.ts";

/** What a line may have. */
const FIELDS: ReadonlySet<string> = new Set(["id", "text", "metadata", "created", "updated"]);

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The format. It is the last one to be tried: an object at the beginning is all that tells it. */
export const JSONL: Format = {
  name: "jsonl",
  title: 'JSON lines, as in {"text": …, "id": …, "metadata": …}',
  matches: (path, head, isFolder) => !isFolder && (/\.(jsonl|ndjson)(\.gz)?$/i.test(path) || beginsAsObject(head)),
  async open(path, { input }) {
    if (!input) throw new ValueError(`'${path}' is a folder: name a file of JSON lines in it`);
    return new JsonLines(input);
  },
};

/** Nothing at all is a file without rows. */
function beginsAsObject(head: Uint8Array): boolean {
  const text = new TextDecoder().decode(head).trimStart();
  return text === "" || text.startsWith("{");
}

class JsonLines implements RowSource {
  readonly name: string;
  readonly bytes: number | undefined;
  private number = 0;

  constructor(private readonly input: ByteSource) {
    this.name = input.name;
    this.bytes = input.bytes;
  }

  position(): number {
    return this.input.position();
  }

  async *rows(): AsyncGenerator<ForeignRow[]> {
    const splitter = new LineSplitter(STDIO_LINE_BYTES_MAX);
    for await (const chunk of this.input.chunks()) yield* this.parsed(splitter.push(chunk));
    yield* this.parsed(splitter.finish());
  }

  /** The rows of these lines; those before a bad line come before its error. */
  private *parsed(lines: Iterable<Line>): Generator<ForeignRow[]> {
    const rows: ForeignRow[] = [];
    try {
      for (const line of lines) {
        this.number += 1;
        const where = `${this.name}, line ${this.number}`;
        if (line instanceof OversizeLine) throw new ValueError(`${where} has more than ${STDIO_LINE_BYTES_MAX} bytes`);
        if (!isBlank(line)) rows.push(parseRow(line, where));
      }
    } catch (error) {
      yield rows;
      throw error;
    }
    yield rows;
  }
}

/** @throws ValueError, TypeError naming the line and what is wrong with it */
function parseRow(line: Uint8Array, where: string): ForeignRow {
  if (isTooDeep(line)) throw new ValueError(`${where}: nested too deeply`);
  let row: unknown;
  try {
    // A byte order mark at the beginning of a file is dropped by the decoder.
    row = JSON.parse(decoder.decode(line));
  } catch {
    throw new ValueError(`${where}: not JSON in UTF-8`);
  }
  if (!isObject(row)) throw new ValueError(`${where}: not an object`);
  const { id, text, metadata } = row;
  const unknown = Object.keys(row).find((key) => !FIELDS.has(key));
  // A field that is not kept would be silently lost.
  if (unknown !== undefined)
    throw new ValueError(`${where}: unknown field '${unknown}', only id, text and metadata are kept`);
  try {
    return {
      id: optional(id, "id", readId),
      text: readString(text, "text"),
      metadata: readObject(metadata, "metadata"),
      where,
    };
  } catch (error) {
    throw locate(error, where);
  }
}

/** The same failure with where it happened in front; its type stays. */
export function locate(error: unknown, where: string): unknown {
  if (error instanceof SvcError && !(error instanceof CancelledError)) error.message = `${where}: ${error.message}`;
  return error;
}
