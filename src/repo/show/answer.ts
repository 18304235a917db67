/** A ranking of files as the hits of an answer in at most so many bytes. */

import type { Passage } from "../../answers/excerpt.ts";
import { type Bounds, fitHits } from "../../answers/hits.ts";
import { shareRoom } from "../../answers/share.ts";
import { jsonBytes } from "../../answers/sizes.ts";
import { definitionsIn } from "../chunks/definitions.ts";
import { Literal } from "../rank/literals.ts";
import type { RepoRanking } from "../rank/ranking.ts";
import type { Form } from "./forms.ts";
import { type FileHit, FileHits, type FileRow, fileRows } from "./hits.ts";
import { literalValues, termValues } from "./worth.ts";

/** The arguments that shape an answer. */
export interface Shape extends Bounds {
  query: string;
  form: Form;
  per_file: number;
}

/** What lines are chosen from, and by. */
export interface Sources {
  /** The lines of a file, with their ends; undefined where it is gone. */
  linesOf(path: string): readonly string[] | undefined;
  /** The hashes of the terms in each text, as the question's weights have them. */
  termsIn(texts: readonly string[]): readonly Uint32Array[];
  /** What of a text the question is about. */
  passageOf(text: string): Passage;
}

/** The hits that fit, and what was left out. */
export interface FittedFiles {
  /** Where hits that were asked for did not fit: to be passed as `after`. */
  next?: string;
  hits: FileHit[];
  /** Files that were ranked after those of the hits. */
  more?: number;
}

/**
 * Ids and paths come before any text: the texts share what these leave.
 * @param head the answer's other fields
 * @param placeIn where the answer begins in its rows
 */
export function fitFiles(
  args: Shape,
  head: object,
  ranking: RepoRanking,
  { linesOf, termsIn, passageOf }: Sources,
  placeIn: (rows: readonly FileRow[]) => number,
): FittedFiles {
  const { form, per_file, max_bytes } = args;
  const { names, weights } = ranking.question;
  const literals = ranking.question.literals.map((literal) => new Literal(literal));
  const rarest = Math.max(1, ...weights.values());
  const rows = fileRows(ranking.files, per_file);
  const from = placeIn(rows);
  const shown = new FileHits({
    form,
    question: { names, literals, valuesOf: literalValues(literals, termValues(weights, termsIn), rarest) },
    definitionsIn,
    linesOf,
    passageOf,
  });
  // As many files as there are take no less room than those that are left in the end.
  const most = { ...head, more: ranking.files.length + ranking.more };
  const fitted = fitHits("repo_search", args, most, { rows, toHit: (row) => shown.hitOf(row) }, from);
  const given = rows.slice(from, from + fitted.hits.length);
  const room = max_bytes === 0 ? Number.POSITIVE_INFINITY : max_bytes - jsonBytes({ ...most, ...fitted });
  const texts = given.map((row, i) => shown.textOf(row, fitted.hits[i]!)).filter((text) => text !== undefined);
  shareRoom(texts, room);
  const more = ranking.more + filesBehind(rows, from + given.length);
  return more === 0 ? fitted : { ...fitted, more };
}

/** Files of the rows from `at` on, without one that has rows before it. */
function filesBehind(rows: readonly FileRow[], at: number): number {
  const before = new Set(rows.slice(0, at).map(({ path }) => path));
  return new Set(rows.slice(at).map(({ path }) => path)).difference(before).size;
}
