/**
 * The file of the reference memory server (`memory.jsonl`; npm `@modelcontextprotocol/server-memory`, as of 2026.8.31):
 * an entity or a relation a line, told by `type`. Earlier versions call it `memory.json`; its lines are the same.
 */
import { isTooDeep } from "../checks/depth.ts";
import { isObject } from "../checks/kinds.ts";
import { isBlank, type Line, LineSplitter, OversizeLine } from "../checks/lines.ts";
import { ValueError } from "../errors.ts";
import { STDIO_LINE_BYTES_MAX } from "../limits.ts";
import type { ByteSource } from "./bytes.ts";
import { notUtf8 } from "./json-document.ts";
import { entityRows, relationRow } from "./memory-graph.ts";
import { Remarks } from "./remarks.ts";
import type { ForeignRow, Format, RowSource } from "./row.ts";

/** The format. */
export const MEMORY_SERVER: Format = {
  name: "memory-server",
  title: "the file of the reference memory server, memory.jsonl",
  matches: (_path, head, isFolder) => !isFolder && isGraphLine(head),
  async open(path, { input, onBad }) {
    if (!input) throw new ValueError(`'${path}' is a folder: name the file memory.jsonl in it`);
    return new GraphLines(input, new Remarks(onBad));
  },
};

/** Whether the first line is an entity or a relation. The server writes `type` first. */
function isGraphLine(head: Uint8Array): boolean {
  const [first = ""] = new TextDecoder().decode(head).trimStart().split("\n");
  if (!/"(entity|relation)"/.test(first)) return false;
  try {
    const value: unknown = JSON.parse(first);
    if (!isObject(value)) return false;
    if (value.type === "entity") return "name" in value && "observations" in value;
    return value.type === "relation" && "from" in value && "to" in value && "relationType" in value;
  } catch {
    return /^\{"type":"entity","name":"/.test(first);
  }
}

class GraphLines implements RowSource {
  readonly name: string;
  readonly bytes: number | undefined;
  private number = 0;

  constructor(
    private readonly input: ByteSource,
    private readonly kept: Remarks,
  ) {
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

  private *parsed(lines: Iterable<Line>): Generator<ForeignRow[]> {
    for (const line of lines) {
      this.number += 1;
      const where = `${this.name}, line ${this.number}`;
      const rows = this.kept.row(() => lineRows(line, where));
      if (rows) yield rows;
    }
  }
}

/** @throws ValueError, TypeError naming the line */
function lineRows(line: Line, where: string): ForeignRow[] {
  if (line instanceof OversizeLine) throw new ValueError(`${where} has more than ${STDIO_LINE_BYTES_MAX} bytes`);
  if (isBlank(line)) return [];
  if (isTooDeep(line)) throw new ValueError(`${where}: nested too deeply`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(line);
  } catch {
    throw notUtf8(where);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ValueError(`${where}: not JSON`);
  }
  if (!isObject(value)) throw new ValueError(`${where}: not an object`);
  if (value.type === "entity") return entityRows(value, where);
  if (value.type === "relation") return [relationRow(value, where)];
  throw new ValueError(`${where}: 'type' is neither "entity" nor "relation"`);
}
