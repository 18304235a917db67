/**
 * Chats with an assistant as ChatGPT and Claude export them, in a file `conversations.json`: each turn becomes a row.
 *
 * A text has the speaker in front, "user: …" or "assistant: …", because neighbours and excerpts show texts without their
 * metadata. Over chats with 40 questions the ranking is the same within its error (nDCG@10 −.009 ± .009; locomo +.0009
 * ± .0006), and questions that name a speaker ("what did the assistant say about …") gain .058 ± .021.
 */
import { isObject } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { digest, isBlankText, rowOf, timeOf } from "../input/fields.ts";
import { type Found, JsonDocument } from "../input/json-document.ts";
import { Remarks } from "../input/remarks.ts";
import type { ForeignRow, Format } from "../input/row.ts";
import { LineSource } from "../input/source.ts";

/** UTF-16 units of a title that are kept: it stands in the metadata of each turn. */
const TITLE_UNITS_MAX = 200;
const MEND = "export the chats again, or leave it out with --on-error skip";
/** Messages of ChatGPT of other types are tool calls, results of tools, and thoughts. */
const CHATGPT_TEXTS: readonly unknown[] = [undefined, null, "text", "multimodal_text"];

type Fields = Record<string, unknown>;

/** The format. */
export const CHATS: Format = {
  name: "chats",
  title: "the conversations.json of an export of ChatGPT or Claude, or a line of JSON for each of its conversations",
  /** Not recognised here: json.ts recognises the documents. Lines need --from chats. */
  matches: () => false,
  async open(path, { input, onBad }) {
    if (!input) throw new ValueError(`'${path}' is a folder: name the file conversations.json in it`);
    const isLines = new TextDecoder().decode(input.head).trimStart().startsWith("{");
    return isLines ? new ChatLines(input, new Remarks(onBad)) : new JsonDocument(input, documentRows, onBad);
  },
};

class ChatLines extends LineSource {
  protected rowsOf(value: Fields, where: string): ForeignRow[] {
    return [...chatRows([value], () => where, this.kept)].filter((row) => row !== undefined);
  }
}

function documentRows(value: unknown, name: string, remarks: Remarks): Iterable<Found> {
  const list = Array.isArray(value) ? value : [value];
  return chatRows(list, (i) => `${name}, [${i}]`, remarks);
}

/** The conversations in a document, by its first one: a list, or a single one. Undefined for another value. */
export function chatsIn(value: unknown): readonly unknown[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.length > 0 && readerOf(list[0]) ? list : undefined;
}

/** The rows of conversations. @param where the place of one, for messages @throws ValueError, TypeError naming the place */
export function* chatRows(list: readonly unknown[], where: (i: number) => string, remarks: Remarks): Generator<Found> {
  for (const [i, value] of list.entries()) {
    const chat = remarks.row(() => readChat(value, where(i), remarks));
    for (const [place, turn] of chat?.turns.entries() ?? []) {
      yield remarks.row(() => turnRow(chat!, turn, place + 1));
    }
  }
}

/** A conversation with what was said in it, in order. */
interface Chat {
  id: string;
  title: unknown;
  created: number | undefined;
  turns: Turn[];
}

interface Turn {
  id: unknown;
  role: "user" | "assistant";
  text: string;
  time: unknown;
  where: string;
}

/** A message that may be a turn. Without a role it is one of a tool or the system. */
interface Message extends Omit<Turn, "role"> {
  role: Turn["role"] | undefined;
}

function turnRow(
  { id: session, title, created }: Chat,
  { id, role, text, time, where }: Turn,
  turn: number,
): ForeignRow {
  const at = timeOf(time) ?? created;
  const metadata: [string, unknown][] = Object.entries({ session, turn, role });
  if (typeof title === "string" && title.trim() !== "") metadata.push(["title", beginning(title.trim())]);
  // A message without an id has its place: the same in the next export, unless an earlier one is edited.
  const name = typeof id === "string" && id !== "" ? id : String(turn);
  return rowOf({ id: `${session}/${name}`, text: `${role}: ${text}`, created: at, updated: at, metadata }, where);
}

/** Half of a surrogate pair at the cut would be refused. */
function beginning(title: string): string {
  return title.slice(0, TITLE_UNITS_MAX).replace(/[\ud800-\udbff]$/, "");
}

type Reader = (value: Fields, where: string, remarks: Remarks) => Chat;

function readerOf(value: unknown): Reader | undefined {
  if (!isObject(value)) return undefined;
  if (isObject(value.mapping)) return readChatGpt;
  return Array.isArray(value.chat_messages) ? readClaude : undefined;
}

function readChat(value: unknown, where: string, remarks: Remarks): Chat {
  const reader = readerOf(value);
  if (reader) return reader(value as Fields, where, remarks);
  throw new ValueError(
    `${where}: not a conversation: it has neither the object 'mapping' of ChatGPT nor the array 'chat_messages' of ` +
      `Claude; ${MEND}`,
  );
}

/** A tree of messages: what was edited or answered again has several children, and `current_node` ends what is shown. */
function readChatGpt(value: Fields, where: string, remarks: Remarks): Chat {
  const nodes = new Map(Object.entries(value.mapping as Fields));
  const created = timeOf(value.create_time);
  // Exports of 2023 have no id. The time has microseconds.
  const ids = [value.conversation_id, value.id, created === undefined ? "" : digest(String(value.create_time))];
  const messages: Message[] = [];
  const shown = new Set<unknown>();
  let from = `${where}, current_node`;
  for (let at = value.current_node; nodes.size > 0 && at !== null && at !== undefined; ) {
    const node = nodes.get(at as string);
    if (!isObject(node))
      throw new ValueError(`${from}: leads to ${inQuotes(at)}, which is not in the mapping; ${MEND}`);
    if (shown.has(at)) throw new ValueError(`${from}: leads in a circle to ${inQuotes(at)}; ${MEND}`);
    shown.add(at);
    const message = chatGptMessage(at as string, node, where);
    if (message) messages.push(message);
    from = `${where}, parent of ${inQuotes(at)}`;
    at = node.parent;
  }
  if (nodes.size > 0 && shown.size === 0) throw new ValueError(`${where}: has no 'current_node'; ${MEND}`);
  for (const [id, node] of nodes) {
    if (!shown.has(id) && isObject(node)) noteReplaced(chatGptMessage(id, node, where), remarks);
  }
  return { id: idOf(ids, where), title: value.title, created, turns: turnsOf(messages.reverse(), remarks) };
}

/** Undefined for a node without a message: the root has none. */
function chatGptMessage(id: string, { message }: Fields, where: string): Message | undefined {
  if (!isObject(message)) return undefined;
  const { author, content, recipient, metadata } = message;
  const { content_type, parts } = isObject(content) ? content : {};
  const isHidden = isObject(metadata) && metadata.is_visually_hidden_from_conversation === true;
  // What the assistant sends to a tool is not meant for the user.
  const isTurn = CHATGPT_TEXTS.includes(content_type) && (recipient ?? "all") === "all" && !isHidden;
  return {
    id: message.id ?? id,
    role: isTurn && isObject(author) ? roleOf(author.role) : undefined,
    // Images are objects; so is speech, with its text.
    text: joined(Array.isArray(parts) ? parts : []),
    time: message.create_time,
    where: `${where}, message ${inQuotes(id)}`,
  };
}

/** A list; in newer exports each message names its parent, so that what was edited or answered again can be left out. */
function readClaude(value: Fields, where: string, remarks: Remarks): Chat {
  const list = (value.chat_messages as unknown[]).map((one, i) => {
    const at = `${where}, chat_messages[${i}]`;
    if (!isObject(one)) throw new ValueError(`${at}: not an object; ${MEND}`);
    return { fields: one, message: claudeMessage(one, at) };
  });
  const isTree = list.length > 0 && list.every(({ fields }) => fields.parent_message_uuid !== undefined);
  let shown = list;
  if (isTree) {
    const byId = new Map(list.map((one) => [one.fields.uuid, one]));
    const path = new Set<(typeof list)[number]>();
    let at = byId.get(value.current_leaf_message_uuid) ?? list.at(-1);
    for (; at && !path.has(at); at = byId.get(at.fields.parent_message_uuid)) path.add(at);
    if (at) throw new ValueError(`${at.message.where}: its parents are in a circle; ${MEND}`);
    shown = [...path].reverse();
    for (const one of list) if (!path.has(one)) noteReplaced(one.message, remarks);
  }
  const turns = turnsOf(
    shown.map(({ message }) => message),
    remarks,
  );
  return { id: idOf([value.uuid], where), title: value.name, created: timeOf(value.created_at), turns };
}

function claudeMessage({ uuid, sender, text, content, created_at }: Fields, where: string): Message {
  const blocks = Array.isArray(content) ? content : [];
  // Other blocks are tool calls and thoughts. `text` has a placeholder for them.
  const texts = blocks.filter((block) => isObject(block) && block.type === "text");
  return { id: uuid, role: roleOf(sender), text: joined(blocks.length > 0 ? texts : [text]), time: created_at, where };
}

function roleOf(speaker: unknown): Turn["role"] | undefined {
  if (speaker === "user" || speaker === "human") return "user";
  return speaker === "assistant" ? "assistant" : undefined;
}

/** The texts in a list of texts and of objects with one, as one. */
function joined(parts: readonly unknown[]): string {
  const texts = parts.map((part) => (isObject(part) ? part.text : part));
  return texts.filter((text) => typeof text === "string" && !isBlankText(text)).join("\n\n");
}

/** The messages that are turns; the others are counted. */
function turnsOf(messages: readonly Message[], remarks: Remarks): Turn[] {
  return messages.flatMap(({ role, ...message }) => {
    if (role === undefined) remarks.add("of a tool or the system", message.where);
    else if (message.text === "") remarks.blank(message.where);
    else return [{ ...message, role }];
    return [];
  });
}

function noteReplaced(message: Message | undefined, remarks: Remarks): void {
  if (message?.role && message.text !== "") remarks.add("replaced by an edit or another answer", message.where);
}

/** The first one that is an id. */
function idOf(ids: readonly unknown[], where: string): string {
  const id = ids.find((one) => typeof one === "string" && one !== "");
  if (id === undefined) throw new ValueError(`${where}: the conversation has no id; ${MEND}`);
  return id as string;
}

/** As in "'8bd5…'". */
function inQuotes(id: unknown): string {
  return `'${String(id).slice(0, 80)}'`;
}
