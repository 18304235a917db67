/** A memory of mem0 as JSON: of its JavaScript package in camelCase, of its platform and its Python package in snake_case. */
import { isObject } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { isBlankText, rowOf, timeKeys, withoutTimes } from "./input/fields.ts";
import type { Remarks } from "./input/remarks.ts";
import type { ForeignRow } from "./input/row.ts";

/** Fields that are not kept: digests and word lists that mem0 made of the text, and answers of a search. */
const DROPPED: ReadonlySet<string> = new Set([
  "hash",
  "textLemmatized",
  "text_lemmatized",
  "score",
  "event",
  "messages",
]);

/** What the JavaScript package calls fields that the others call so. */
const SNAKE: ReadonlyMap<string, string> = new Map([
  ["userId", "user_id"],
  ["agentId", "agent_id"],
  ["runId", "run_id"],
  ["appId", "app_id"],
  ["actorId", "actor_id"],
  ["memoryType", "memory_type"],
  ["expirationDate", "expiration_date"],
  ["attributedTo", "attributed_to"],
]);

/** The memories in an answer of `getAll`: a list, or one under `results` or `memories`; undefined for another value. */
export function mem0List(value: unknown): { list: readonly unknown[]; at: string } | undefined {
  const at = isObject(value) ? ["results", "memories"].find((key) => Array.isArray(value[key])) : "";
  if (at === undefined) return undefined;
  const list = (isObject(value) ? value[at] : value) as unknown;
  if (!Array.isArray(list)) return undefined;
  const [first] = list;
  if (!isObject(first) || typeof first.memory !== "string") return undefined;
  return Object.keys(first).some((key) => DROPPED.has(key) || SNAKE.has(key) || /_(id|at)$|At$/.test(key))
    ? { list, at }
    : undefined;
}

/** Says so where the platform has more memories than are in this answer. */
export function noteNext(value: unknown, name: string, remarks: Remarks): void {
  if (isObject(value) && typeof value.next === "string") {
    remarks.say(
      `${name} is one page of several, and 'next' is the address of the following one: import the others too`,
    );
  }
}

/** Its row; undefined for one without text. @throws ValueError, TypeError naming the place */
export function mem0Row(value: unknown, where: string, remarks: Remarks): ForeignRow | undefined {
  if (!isObject(value)) throw new ValueError(`${where}: not an object`);
  const { id, memory, metadata } = value;
  if (isBlankText(memory)) return remarks.blank(where);
  const members = Object.entries(value).filter(([key]) => key !== "id" && key !== "memory" && key !== "metadata");
  const { created, updated, others } = withoutTimes(members, timeKeys(Object.keys(value)), remarks, where);
  const named = new Map<string, unknown>(isObject(metadata) ? Object.entries(metadata) : []);
  for (const [key, member] of others) {
    if (!DROPPED.has(key) && member !== null && member !== undefined) named.set(SNAKE.get(key) ?? key, member);
  }
  return rowOf({ id, text: memory, created, updated, metadata: [...named] }, where);
}
