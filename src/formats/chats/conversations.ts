/** Conversations of any of the assistants, by what they have in them. */
import { isObject } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import type { Found } from "../input/json-document.ts";
import type { Remarks } from "../input/remarks.ts";
import { readChatGpt } from "./chatgpt.ts";
import { readClaude } from "./claude.ts";
import { type Chat, type Fields, MEND, rowsOfChat } from "./turns.ts";

type Reader = (value: Fields, where: string, remarks: Remarks) => Chat;

/** Whether these are members of a conversation, by their names and the first character of each value. */
export function areOfChat(members: ReadonlyMap<string, string>): boolean {
  return members.get("mapping") === "{" || members.get("chat_messages") === "[";
}

function readerOf(value: unknown): Reader | undefined {
  if (!isObject(value)) return undefined;
  if (isObject(value.mapping)) return readChatGpt;
  return Array.isArray(value.chat_messages) ? readClaude : undefined;
}

/** The conversations in a document, by its first one: a list, or a single one. Undefined for another value. */
export function chatsIn(value: unknown): readonly unknown[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.length > 0 && readerOf(list[0]) ? list : undefined;
}

/** The rows of conversations. @param where the place of one, for messages @throws ValueError, TypeError naming the place */
export function* chatRows(list: readonly unknown[], where: (i: number) => string, remarks: Remarks): Generator<Found> {
  for (const [i, value] of list.entries()) yield* rowsOf(value, where(i), remarks);
}

/** The rows of one conversation. @throws as `chatRows` */
export function* rowsOf(value: unknown, where: string, remarks: Remarks): Generator<Found> {
  const chat = remarks.row(() => readChat(value, where, remarks));
  if (chat) yield* rowsOfChat(chat, remarks);
}

function readChat(value: unknown, where: string, remarks: Remarks): Chat {
  const reader = readerOf(value);
  if (reader) return reader(value as Fields, where, remarks);
  throw new ValueError(
    `${where}: not a conversation: it has neither the object 'mapping' of ChatGPT nor the array 'chat_messages' of ` +
      `Claude; ${MEND}`,
  );
}
