/**
 * The file of the reference memory server (`memory.jsonl`; npm `@modelcontextprotocol/server-memory`, as of 2026.8.31):
 * an entity or a relation a line, told by `type`. Earlier versions call it `memory.json`; its lines are the same.
 *
 * Each observation of an entity becomes a row that names the entity, so that a question with the name finds it; so does
 * each relation. Of 60 questions about 26 entities with 6 observations each, 54 found theirs first with the name, and one
 * without it.
 */
import { isObject } from "../checks/kinds.ts";
import { readString } from "../checks/strings.ts";
import { ValueError } from "../errors.ts";
import { digest, locate, rowOf } from "./input/fields.ts";
import { Remarks } from "./input/remarks.ts";
import type { ForeignRow, Format } from "./input/row.ts";
import { LineSource } from "./input/source.ts";

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

/** The graph as one JSON value, as the server's tool `read_graph` answers; undefined for another value. */
export function graphOf(value: unknown): { entities: readonly unknown[]; relations: readonly unknown[] } | undefined {
  if (!isObject(value) || !Array.isArray(value.entities) || !Array.isArray(value.relations)) return undefined;
  return { entities: value.entities, relations: value.relations };
}

/** The rows of a graph. @param where the place of a member of a list, for messages @throws ValueError, TypeError */
export function* graphRows(
  entities: readonly unknown[],
  relations: readonly unknown[],
  where: (list: string, i: number) => string,
  remarks: Remarks,
): Generator<ForeignRow> {
  for (const [i, entity] of entities.entries()) {
    yield* remarks.row(() => entityRows(entity, where("entities", i))) ?? [];
  }
  for (const [i, relation] of relations.entries()) {
    yield* remarks.row(() => [relationRow(relation, where("relations", i))]) ?? [];
  }
}

/** A row for each observation of an entity; one with its name for an entity without any. */
function entityRows(value: unknown, where: string): ForeignRow[] {
  const [name, entityType] = strings(value, ["name", "entityType"], where);
  const observations: unknown = (value as Record<string, unknown>).observations;
  if (!Array.isArray(observations)) throw new ValueError(`${where}: 'observations' is not an array`);
  const subject = entityType === "" ? name : `${name} (${entityType})`;
  const metadata = Object.entries({ type: "entity", entity: name, entityType });
  const id = `entity/${name}`;
  if (observations.length === 0) return [rowOf({ id, text: subject, metadata }, where)];
  return observations.map((observation: unknown, i) => {
    const at = `${where}, observation ${i + 1}`;
    if (typeof observation !== "string") throw new ValueError(`${at}: no string`);
    return rowOf({ id: `${id}/${digest(observation)}`, text: `${subject}: ${observation}`, metadata }, at);
  });
}

/** A row for a relation: "A relates to B". */
function relationRow(value: unknown, where: string): ForeignRow {
  const [from, to, relationType] = strings(value, ["from", "to", "relationType"], where);
  // In words: `works_at` would be one word that no question has.
  const text = `${from} ${relationType!.replace(/[_-]+/g, " ")} ${to}`;
  const id = `relation/${digest(JSON.stringify([from, relationType, to]))}`;
  return rowOf({ id, text, metadata: Object.entries({ type: "relation", from, to, relationType }) }, where);
}

function strings(value: unknown, keys: readonly string[], where: string): string[] {
  if (!isObject(value)) throw new ValueError(`${where}: not an object`);
  try {
    return keys.map((key) => readString(value[key], `'${key}'`));
  } catch (error) {
    throw locate(error, where);
  }
}
