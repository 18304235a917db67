/**
 * The file of the reference memory server (`memory.jsonl`; npm `@modelcontextprotocol/server-memory`, as of 2026.8.31):
 * an entity or a relation a line, told by `type`. Earlier versions call it `memory.json`; its lines are the same.
 */
import { isObject } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { entityRows, relationRow } from "./memory-graph.ts";
import { Remarks } from "./remarks.ts";
import type { ForeignRow, Format } from "./row.ts";
import { LineSource } from "./source.ts";

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

class GraphLines extends LineSource {
  protected rowsOf(value: Record<string, unknown>, where: string): ForeignRow | ForeignRow[] {
    if (value.type === "entity") return entityRows(value, where);
    if (value.type === "relation") return relationRow(value, where);
    throw new ValueError(`${where}: 'type' is neither "entity" nor "relation"`);
  }
}
