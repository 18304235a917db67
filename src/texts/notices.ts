/** Sentences about how a query was answered: by which words, and without what is damaged. */
import type { Damage } from "../../ffi/records.ts";
import { Trouble } from "../../ffi/ty_reader.ts";
import { firstAndMore, listed } from "../checks/kinds.ts";
import type { Question, SearchAnswer } from "../store/collection.ts";

/** Words that a notice names. */
const NAMED_MAX = 4;

/** The notice about a query without words to a repository. It gets no hits. */
export const EMPTY_REPO_QUERY = "the query has no words: name a function, a file, or words of the code";
/** The same of other collections. The terminal names its command in place of the tool. */
export const EMPTY_QUERY = "the query has no words: svc_ids with newest lists the rows that were updated last";
/** The same where a program gets hits nevertheless. */
export const UNRANKED = "the query has no words: hits are in no order of relevance";

/** The notice about rows of repositories where their files are not read. */
export const REPO_ROWS =
  "rows of a repository's index have no text here: it is in the file that 'path' of their metadata names, " +
  "from 'start_line' to 'end_line'";

/** The notice about hits of which even the first is weak. @param areShown whether weak hits have their texts */
export function weakFirst(areShown = false): string {
  const rest = areShown ? "need not be about it" : "come without text, which svc_get reads";
  return `the best hit has few of the query's words: hits marked weak ${rest}`;
}

/** The rows that a query's words were looked up in, where these are not all rows of the collection. */
export interface SearchedRows {
  /** "the rows of 'memory' with scope 'x'" */
  readonly rows: string;
  /** "rows with another scope", and those of the query's words that they have, the most telling first. */
  readonly others?: { readonly rows: string; readonly words: readonly string[] };
}

/**
 * Which words were searched as which, or that the rows have none of them; undefined where at least one word was searched
 * for as it is and no other was replaced.
 * @param similar whether rows are ranked by similarity as well
 * @param searched absent: all rows of the collection
 */
export function wordsNotice(
  name: string,
  {
    words,
    known,
    replaced,
    rows,
    meaningWeight,
  }: Pick<SearchAnswer, "words" | "known" | "replaced" | "rows"> & Partial<Pick<SearchAnswer, "meaningWeight">>,
  similar: boolean,
  searched: SearchedRows = { rows: `'${name}'` },
): string | undefined {
  if (words > 0 && known === 0) {
    const { others } = searched;
    if (similar && rows.length === 0 && others === undefined) return undefined;
    const answer =
      similar && rows.length > 0 ? `: the answer is by ${meaningWeight ? "meaning" : "similarity"} alone` : "";
    const elsewhere = others === undefined ? "" : `; ${others.rows} have ${some(others.words)}`;
    return `none of the query's words is in ${searched.rows}${answer}${elsewhere}`;
  }
  if (replaced.length === 0) return undefined;
  const named = replaced.slice(0, NAMED_MAX).map(({ word, partners }, i) => {
    return `${quoted(word)} ${i === 0 ? "was searched as" : "as"} ${listed(partners.map(quoted), "or")}`;
  });
  const more = replaced.length - named.length;
  return `${named.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

function some(words: readonly string[]): string {
  if (words.length === 0) return "some of them";
  return listed(firstAndMore(words, NAMED_MAX, quoted), "and");
}

/** What of a collection is damaged, by the bits of `Trouble`: what it is called, and where it lies. */
const DAMAGED: readonly [bit: number, what: string, parts: readonly Damage["part"][]][] = [
  [Trouble.WORDS, "the word index of '%' is damaged", ["words"]],
  [Trouble.IVF, "the approximate index of '%' is damaged", ["ivf"]],
  [Trouble.CODES, "codes of rows of '%' are damaged", ["codes"]],
  [Trouble.ROWS, "vectors of rows of '%' are damaged", ["codes", "vectors"]],
  [Trouble.FILTER, "a derived table of '%' is damaged", ["filter"]],
];

/** What that means for an answer. */
const WITHOUT: Record<number, string> = {
  [Trouble.IVF]: "the answer is exact, and takes longer",
  [Trouble.CODES]: "the answer is complete, from the stored vectors",
  [Trouble.ROWS]: "the ranking by vectors leaves these rows out",
  [Trouble.FILTER]: "the answer is complete without it",
};

/**
 * What is damaged of what the answer would have been made of, in which files, what that means for the answer, and which
 * command mends it; undefined where nothing is.
 * @param isOneOf the answer has rows of other collections too
 */
export function troubleNotice(
  collection: { readonly name: string; damages(): readonly Damage[] },
  trouble: number,
  by: Question["by"],
  isOneOf = false,
): string | undefined {
  if (trouble === 0) return undefined;
  const { name } = collection;
  const known = collection.damages();
  const said = DAMAGED.filter(([bit]) => (trouble & bit) !== 0).map(([bit, title, parts]) => {
    const files = new Set(known.filter(({ part }) => parts.includes(part)).map(({ file }) => file));
    const where = files.size === 0 ? "" : ` (${[...files].join(", ")})`;
    const what = isOneOf ? "its rows are ranked" : "the answer is";
    const words = by === "words" ? "the answer is made from the texts, and takes longer" : `${what} by vectors alone`;
    return `${title.replace("%", name)}${where}: ${WITHOUT[bit] ?? words}`;
  });
  return `${said.join("; ")}; 'svc mem check ${name} --repair' mends it`;
}

/** The notice about an answer of a machine that does not reach the database of its memory. @param outage undefined: it does */
export function awayNotice(outage: { since: number } | undefined): string | undefined {
  if (outage === undefined) return undefined;
  return `the database has not answered since ${minuteOf(outage.since)}: this is from this machine's copy`;
}

/** A time as "2026-03-31 09:30 UTC". @param ms since 1970 */
export function minuteOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Several notices as one: clauses of a sentence, or sentences. Undefined if there are none. */
export function joinNotices(separator: "; " | ". ", notices: readonly (string | undefined)[]): string | undefined {
  const all = notices.filter((notice) => notice !== undefined);
  return all.length === 0 ? undefined : all.join(separator);
}

/** Without characters that only direct how others are shown. */
function quoted(word: string): string {
  return `'${word.replaceAll(/\p{Cf}/gu, "")}'`;
}
