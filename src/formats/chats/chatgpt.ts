/**
 * A conversation as ChatGPT exports it, from 2023 to 2026: a tree of messages in `mapping`. What it notes down about the user
 * are messages to `bio`; an export has no list of them.
 */
import { isObject } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { digest, timeOf } from "../input/fields.ts";
import type { Remarks } from "../input/remarks.ts";
import {
  type Chat,
  type Fields,
  idOf,
  inQuotes,
  joined,
  MEND,
  type Message,
  noteReplaced,
  roleOf,
  turnsOf,
} from "./turns.ts";

/** Messages of other types are tool calls, results of tools, and thoughts. */
const TEXTS: readonly unknown[] = [undefined, null, "text", "multimodal_text"];

/** A tree of messages: what was edited or answered again has several children, and `current_node` ends what is shown. */
export function readChatGpt(value: Fields, where: string, remarks: Remarks): Chat {
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
  messages.reverse();
  const memories = messages.filter(({ isMemory, text }) => isMemory && text !== "");
  return { id: idOf(ids, where), title: value.title, created, turns: turnsOf(messages, remarks), memories };
}

/** Undefined for a node without a message: the root has none. */
function chatGptMessage(id: string, { message }: Fields, where: string): Message | undefined {
  if (!isObject(message)) return undefined;
  const { author, content, recipient, metadata } = message;
  const { content_type, parts, text } = isObject(content) ? content : {};
  const isHidden = isObject(metadata) && metadata.is_visually_hidden_from_conversation === true;
  // What the assistant sends to a tool is not meant for the user.
  const isTurn = TEXTS.includes(content_type) && (recipient ?? "all") === "all" && !isHidden;
  const isMemory = recipient === "bio" && isObject(author) && author.role === "assistant";
  return {
    ...(isMemory && { isMemory }),
    id: message.id ?? id,
    role: isTurn && isObject(author) ? roleOf(author.role) : undefined,
    // Images are objects; so is speech, with its text.
    text: isMemory && typeof text === "string" ? text.trim() : joined(Array.isArray(parts) ? parts : []),
    time: message.create_time,
    where: `${where}, message ${inQuotes(id)}`,
  };
}
