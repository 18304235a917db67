/** The notes, questions and calls of `test/data/day`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dir, "../../data/day");

/** The collections that the notes are in, as svc lists them. */
export const COLLECTIONS: readonly string[] = ["decisions", "journal", "notes", "people"];

/** A note as an agent stores it. */
export interface DayNote {
  collection: string;
  id: string;
  text: string;
  metadata?: { scope?: string; kind?: string };
}

/** A question: `shared` shares words of content with each right note, `other` shares none. */
export interface Question {
  id: string;
  kind: "shared" | "other";
  text: string;
  /** Ids of the notes that answer it, each with words of its text that an answer has to show. */
  right: Readonly<Record<string, string>>;
}

/** A call of the day, and what is right about its answer: `right` as of a question, or words that it contains. */
export interface DayCall {
  tool: string;
  arguments: Readonly<Record<string, unknown>>;
  /** What the call stands for; the kind of a question. */
  what: string;
  right?: Readonly<Record<string, string>>;
  contains?: readonly string[];
  isQuestion: boolean;
}

/** Whether a text has a right note of a call: its id, and the words that answer. */
export function showsRight({ right = {} }: DayCall, text: string): boolean {
  return Object.entries(right).some(([id, words]) => text.includes(id) && text.includes(words));
}

type Written = Omit<DayCall, "isQuestion"> | { question: string; arguments: DayCall["arguments"] };

/** All notes, in the order in which they are stored. */
export const dayNotes = () => readLines<DayNote>("notes.jsonl");

/** The sixty questions. */
export const dayQuestions = () => readLines<Question>("questions.jsonl");

/** The calls in order, with the questions in their places. */
export function dayCalls(): DayCall[] {
  const questions = new Map(dayQuestions().map((question) => [question.id, question]));
  return readLines<Written>("calls.jsonl").map((call) => {
    if (!("question" in call)) return { ...call, isQuestion: false };
    const { kind, text, right } = questions.get(call.question)!;
    return { tool: "svc_search", arguments: { ...call.arguments, query: text }, what: kind, right, isQuestion: true };
  });
}

function readLines<T>(name: string): T[] {
  return readFileSync(join(FOLDER, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
