/** A conversation with an assistant, from any export, and the rows that it becomes: one for each turn. */
import { ValueError } from "../../errors.ts";
import { digest, isBlankText, rowOf, timeOf } from "../input/fields.ts";
import type { Found } from "../input/json-document.ts";
import type { Remarks } from "../input/remarks.ts";
import type { ForeignRow } from "../input/row.ts";

/** UTF-16 units of a title that are kept: it stands in the metadata of each turn. */
const TITLE_UNITS_MAX = 200;
/** The end of an error about a conversation. */
export const MEND = "export the chats again, or leave it out with --on-error skip";

/** Members of an object in an export. */
export type Fields = Record<string, unknown>;

/** A conversation with what was said in it, in order. */
export interface Chat {
  id: string;
  title: unknown;
  created: number | undefined;
  turns: Turn[];
  /** What the assistant noted down for other conversations. */
  memories?: readonly Message[] | undefined;
}

/** What one of them said. */
export interface Turn {
  id: unknown;
  role: "user" | "assistant";
  text: string;
  time: unknown;
  where: string;
}

/** A message that may be a turn. Without a role it is one of a tool or the system. */
export interface Message extends Omit<Turn, "role"> {
  role: Turn["role"] | undefined;
  /** Whether it is a note that the assistant makes for other conversations. */
  isMemory?: boolean;
}

/**
 * Its rows. A text has the speaker in front, "user: …" or "assistant: …", because neighbours and excerpts show texts without
 * their metadata. Over chats with 40 questions the ranking is the same within its error (nDCG@10 −.009 ± .009; locomo
 * +.0009 ± .0006), and questions that name a speaker ("what did the assistant say about …") gain .058 ± .021.
 */
export function* rowsOfChat(chat: Chat, remarks: Remarks): Generator<Found> {
  for (const [place, turn] of chat.turns.entries()) yield remarks.row(() => turnRow(chat, turn, place + 1));
  for (const { text, time, where } of chat.memories ?? []) {
    yield remarks.row(() => memoryRow({ text, created: timeOf(time) ?? chat.created }, where));
  }
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

/** What is remembered beside conversations. */
interface Memory {
  readonly text: string;
  readonly created?: number | undefined;
  readonly metadata?: readonly (readonly [string, unknown])[];
}

/** A row for it. Its id is made of its text and where it belongs, so that two exports of one memory do not double it. */
export function memoryRow({ text, created, metadata = [] }: Memory, where: string): ForeignRow {
  const fields = [["type", "memory"] as const, ...metadata];
  const id = `memory/${digest(JSON.stringify([text, metadata.find(([key]) => key === "project")?.[1] ?? null]))}`;
  return rowOf({ id, text, created, updated: created, metadata: fields }, where);
}

/** Half of a surrogate pair at the cut would be refused. */
export function beginning(title: string): string {
  return title.slice(0, TITLE_UNITS_MAX).replace(/[\ud800-\udbff]$/, "");
}

/** The speaker of a message; undefined for a tool and the system. */
export function roleOf(speaker: unknown): Turn["role"] | undefined {
  if (speaker === "user" || speaker === "human") return "user";
  return speaker === "assistant" ? "assistant" : undefined;
}

/** The messages that are turns; the others are counted. */
export function turnsOf(messages: readonly Message[], remarks: Remarks): Turn[] {
  return messages.flatMap(({ role, isMemory, ...message }) => {
    if (isMemory) return [];
    if (role === undefined) remarks.add("of a tool or the system", message.where);
    else if (message.text === "") remarks.blank(message.where);
    else return [{ ...message, role }];
    return [];
  });
}

/** Counts a message that is not shown any more. */
export function noteReplaced(message: Message | undefined, remarks: Remarks): void {
  if (message?.role && message.text !== "") remarks.add("replaced by an edit or another answer", message.where);
}

/** The first one that is an id. @throws ValueError where there is none */
export function idOf(ids: readonly unknown[], where: string): string {
  const id = ids.find((one) => typeof one === "string" && one !== "");
  if (id === undefined) throw new ValueError(`${where}: the conversation has no id; ${MEND}`);
  return id as string;
}

/** The texts in a list of texts and of objects with one, as one. */
export function joined(parts: readonly unknown[]): string {
  const texts = parts.map((part) => (typeof part === "object" && part !== null && "text" in part ? part.text : part));
  return texts.filter((text) => typeof text === "string" && !isBlankText(text)).join("\n\n");
}

/** As in "'8bd5…'". */
export function inQuotes(id: unknown): string {
  return `'${String(id).slice(0, 80)}'`;
}
