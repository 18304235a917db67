/** A conversation as Claude exports it, from 2024 to 2026: a list of messages in `chat_messages`. */
import { isObject } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { timeOf } from "../input/fields.ts";
import type { Remarks } from "../input/remarks.ts";
import { type Chat, type Fields, idOf, joined, MEND, type Message, noteReplaced, roleOf, turnsOf } from "./turns.ts";

/** A list; in newer exports each message names its parent, so that what was edited or answered again can be left out. */
export function readClaude(value: Fields, where: string, remarks: Remarks): Chat {
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
