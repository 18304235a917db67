/**
 * One JSON document with rows in it: an array of strings or objects, or an object that holds one. The documents of
 * Chroma, mem0, ChatGPT, Claude and the reference memory server are recognised by their members.
 */
import { isObject } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { chatRows, chatsIn } from "./chats/conversations.ts";
import { chromaRows, isChroma } from "./chroma-json.ts";
import { HEAD_FIELD } from "./head.ts";
import { ID_NAMES, isBlankText, likeliest, rowOf, TEXT_NAMES, timeKeys, withoutTimes } from "./input/fields.ts";
import type { FormatFlags } from "./input/flags.ts";
import { type Found, JsonDocument, mapped } from "./input/json-document.ts";
import type { Remarks } from "./input/remarks.ts";
import type { ForeignRow, Format } from "./input/row.ts";
import { beginsAsRow } from "./jsonl.ts";
import { mem0List, mem0Row, noteNext } from "./mem0-row.ts";
import { graphOf, graphRows } from "./memory-server.ts";

/** The format. */
export const JSON_ARRAY: Format = {
  name: "json",
  title: "one JSON array of texts or objects, or an object with one in it",
  matches: (path, head, isFolder) => !isFolder && isDocument(path, head),
  async open(path, { input, flags = {}, onBad }) {
    if (!input) throw new ValueError(`'${path}' is a folder: name a file of JSON in it`);
    return new JsonDocument(input, (value, name, remarks) => rowsOf(value, name, remarks, flags), onBad);
  },
};

/**
 * Whether the beginning of a file is that of one JSON document: an array, or an object over several lines, or one that
 * has no text of its own. An object a line, each with a text, are JSON lines.
 */
function isDocument(path: string, head: Uint8Array): boolean {
  if (/\.(jsonl|ndjson)(\.gz)?$/i.test(path)) return false;
  const text = new TextDecoder().decode(head).trimStart();
  if (text.startsWith("[")) return true;
  if (!text.startsWith("{")) return false;
  const [first = "", ...others] = text.split("\n");
  let value: unknown;
  try {
    value = JSON.parse(first);
  } catch {
    // Over several lines, or a line longer than the head.
    return others.length > 0 || !beginsAsRow(first);
  }
  if (others.join("").trim() !== "" || !isObject(value) || typeof value.text === "string") return false;
  // A line without an array has no rows: it is the first line of an export, or a bad one.
  return Object.values(value).some(Array.isArray) && !(HEAD_FIELD in value);
}

function rowsOf(value: unknown, name: string, remarks: Remarks, flags: FormatFlags): Iterable<Found> {
  const isPlain = flags.textColumn === undefined && flags.idColumn === undefined;
  if (isPlain && isChroma(value)) return chromaRows(value, name, remarks);
  const graph = isPlain ? graphOf(value) : undefined;
  if (graph) return graphRows(graph.entities, graph.relations, (list, i) => `${name}, ${list}[${i}]`, remarks);
  const chats = isPlain ? chatsIn(value) : undefined;
  if (chats) return chatRows(chats, (i) => `${name}, [${i}]`, remarks);
  const memories = isPlain ? mem0List(value) : undefined;
  if (memories) noteNext(value, name, remarks);
  if (memories)
    return mapped(memories.list, remarks, (one, i) => mem0Row(one, `${name}, ${memories.at}[${i}]`, remarks));
  const { list, at } = listIn(value, name, flags);
  return mapped(list, remarks, (one, i) => objectRow(one, `${name}, ${at}[${i}]`, remarks, flags));
}

/** The array that has the rows, and how a message calls it. @throws ValueError where there is not exactly one */
function listIn(value: unknown, name: string, { textColumn }: FormatFlags): { list: readonly unknown[]; at: string } {
  if (Array.isArray(value)) return { list: value, at: "" };
  if (!isObject(value)) throw new ValueError(`${name}: neither an array nor an object with one in it`);
  if (likeliest(textColumn === undefined ? TEXT_NAMES : [textColumn], Object.keys(value)) !== undefined) {
    return { list: [value], at: "" };
  }
  const lists = Object.entries(value).filter(([, member]) => Array.isArray(member));
  if (lists.length === 1) return { list: lists[0]![1] as unknown[], at: lists[0]![0] };
  const found = lists.map(([key]) => `'${key.slice(0, 80)}'`).slice(0, 5);
  const what = found.length === 0 ? "no array" : `several arrays (${found.join(", ")})`;
  throw new ValueError(`${name} holds ${what}: give a file with one array of rows, as in jq '.notes'`);
}

/** A row of one member of the array; undefined for one without text. */
function objectRow(
  value: unknown,
  where: string,
  remarks: Remarks,
  { textColumn, idColumn }: FormatFlags,
): ForeignRow | undefined {
  if (typeof value === "string") return isBlankText(value) ? remarks.blank(where) : rowOf({ text: value }, where);
  if (!isObject(value)) throw new ValueError(`${where}: neither a text nor an object`);
  const keys = Object.keys(value);
  const textKey = textColumn ?? likeliest(TEXT_NAMES, keys);
  if (textKey === undefined || !Object.hasOwn(value, textKey)) {
    const wanted =
      textColumn === undefined ? `none of the fields ${TEXT_NAMES.join(", ")}` : `no field '${textColumn}'`;
    throw new ValueError(`${where} has ${wanted}: name the one with the text, with --text-column`);
  }
  const idKey = idColumn ?? likeliest(ID_NAMES, keys);
  if (idColumn !== undefined && !Object.hasOwn(value, idColumn)) {
    throw new ValueError(`${where} has no field '${idColumn}', which --id-column names`);
  }
  if (isBlankText(value[textKey])) return remarks.blank(where);
  const members = Object.entries(value).filter(([key]) => key !== textKey && key !== idKey && key !== "metadata");
  const { created, updated, others } = withoutTimes(members, timeKeys(keys), remarks, where);
  const { metadata } = value;
  const taken = isObject(metadata) ? metadata : {};
  const fields =
    metadata === undefined || metadata === null || isObject(metadata)
      ? others
      : [...others, ["metadata", metadata] as const];
  return rowOf(
    {
      text: value[textKey],
      id: idKey === undefined ? undefined : value[idKey],
      created,
      updated,
      // A member of the metadata whose name is that of a field gets one of its own.
      metadata: [
        ...fields,
        ...Object.entries(taken).map(([key, member]) => {
          return [fields.some(([field]) => field === key) ? `metadata.${key}` : key, member] as const;
        }),
      ],
    },
    where,
  );
}
