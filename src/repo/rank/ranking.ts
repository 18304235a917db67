/** Ranks the files of one repository for a question; docs/ranking.md has what each part is worth. */

import type { Metadata } from "../../checks/values.ts";
import type { Collection, Row } from "../../store/collection.ts";
import type { Embedder } from "../../texts/embedder.ts";
import { EMPTY_REPO_QUERY } from "../../texts/notices.ts";
import { DENSE_WEIGHT } from "../../texts/ranking.ts";
import { isBlank, type Noticed } from "../../texts/search.ts";
import type { Workspace } from "../files/workspace.ts";
import { type LanguageRange, longestBody, stubParts } from "./bodies.ts";
import { type CandidateQuery, candidatesOf, firstWindows } from "./candidates.ts";
import { pathOf, positionOf } from "./cutoff.ts";
import { folded } from "./fold.ts";
import { nothingAt, type Scope, scopeOf as scopeAt } from "./hint.ts";
import { asksForNames, namesIn } from "./identifiers.ts";
import { literalShares, literalsIn, type ReadEach } from "./literals.ts";
import { byPosition } from "./order.ts";
import { PathIndexes } from "./paths.ts";
import { asPath, rolesAsked, seeksTests } from "./question.ts";
import { rolesOf } from "./roles.ts";
import { scopeOf } from "./scope.ts";
import { isOfSource, type Sought, Standings } from "./standing.ts";

/** A question to one repository. */
export interface RepoQuestion {
  query: string;
  /** Distinct files to rank at most. */
  topK: number;
  /** The indexed files of the repository, relative to its root. */
  paths: readonly string[];
  /** Only these: a file, a folder or a glob; absolute, or relative to the workspace or the root. */
  pathHint?: string | undefined;
  withTimes?: boolean | undefined;
  readEach: ReadEach;
  /** The lines of a file, with their ends; undefined where it is gone. */
  linesOf(path: string): readonly string[] | undefined;
}

/** A file of an answer. */
export interface RankedFile {
  path: string;
  /** Its windows among the candidates, best first; at least one. */
  windows: Row[];
}

/** Files, best first: each as good as its best window and its path. */
export interface RepoRanking extends Noticed {
  files: RankedFile[];
  /** Files that were ranked after these. */
  more: number;
  /** What was searched for. */
  question: {
    /** Identifiers, as written. */
    names: readonly string[];
    /** What is looked for as it is. */
    literals: readonly string[];
    /** What each term weighs, by its hash: see `Collection.termsOf`. */
    weights: ReadonlyMap<number, number>;
  };
}

/** How much each part counts. */
export const RANKING = {
  /** A name that a window defines weighs so many times its rarity. */
  labelShare: 1.5,
  /** Deviations that a path gains if all of the question's weight is found in its base name. */
  pathWeight: 2,
  /** Deviations that it gains if the question, which is about more than names, has all of its base name. */
  nameWeight: 1.5,
  /** What a file's second window adds to the first where a question is about more than names: see `folded`. */
  further: 0.5,
  /** Deviations that a file gains if it is the only one with the question's literals. */
  literalWeight: 4,
  /** How many of the first files are read for literals. */
  literalFiles: 30,
  /** Deviations that a file loses whose definition of a name is a stub beside that of another file. */
  stubLoss: 2,
  /** How many of the first files are read for definitions of names, to find stubs. */
  stubFiles: 8,
  /** Files with the best paths that are ranked although neither ranking lists a window of theirs. */
  pathCandidates: 20,
  denseWeight: DENSE_WEIGHT,
};

/** Windows of a file in which definitions are looked for, the best first. */
const WINDOWS_READ = 3;
/** Repositories whose paths stay tokenised in this process. */
const REPOSITORIES_KEPT = 8;
const indexes = new PathIndexes(REPOSITORIES_KEPT);

/** Ranks the files of one repository. @throws ValueError for a path hint outside of the workspace */
export async function rankFiles(
  collection: Collection,
  embedder: Embedder,
  workspace: Workspace,
  question: RepoQuestion,
  signal: AbortSignal | undefined,
): Promise<RepoRanking> {
  const { query, topK, paths, pathHint, withTimes, readEach, linesOf } = question;
  const { repoId } = workspace;
  const names = namesIn(query);
  const literals = literalsIn(query);
  const within = scopeOf(workspace, pathHint);
  const scope = within === undefined ? everything(paths) : scopeAt(within, paths, !pathHint?.includes("/"));
  if (scope.files === 0) {
    const notice = pathHint && within !== undefined ? nothingAt(pathHint, within, paths) : undefined;
    return { files: [], more: 0, notice, question: { names, literals, weights: new Map() } };
  }

  const candidateQuery: CandidateQuery = {
    query,
    names,
    labelShare: RANKING.labelShare,
    repoId,
    scope,
    files: topK,
    withTimes,
  };
  const found = await candidatesOf(collection, embedder, candidateQuery, signal);
  // A sign may be the name of a definition.
  if (found.known === 0 && isBlank(collection, query)) {
    return { files: [], more: 0, notice: EMPTY_REPO_QUERY, question: { names, literals, weights: new Map() } };
  }
  const index = indexes.of(repoId, paths, (texts) => collection.termsOf(texts));
  // A word that no row has is in no path either: what is known of the question is all of it.
  const fit = index.fit(found.weights.filter(({ known }) => known));
  // The path is relative to the repository, so a parent folder named `tests` does not count.
  const relative = query.replaceAll(`${workspace.root}/`, "");
  const path = asPath(relative);
  const inFolder = workspace.below === undefined ? path : `${workspace.below}/${path}`;
  const namedFiles = index.namedBy(path).filter(scope.allows);
  const pathCandidates = new Set([
    ...namedFiles.slice(0, RANKING.pathCandidates),
    ...fit.best(RANKING.pathCandidates, scope.allows),
  ]);
  for (const row of found.rows) pathCandidates.delete(pathOf(row));
  const rows = [...found.rows, ...firstWindows(collection, candidateQuery, [...pathCandidates])];
  rows.sort((a, b) => byPosition(positionOf(a), positionOf(b)));

  const sought: Sought = {
    roles: new Set([...rolesAsked(relative), ...rolesOf(within ?? "")]),
    isOfTests: seeksTests(relative),
    isOfNames: asksForNames(query, names),
  };
  const standings = new Standings(sought, index);
  const scores = collection.fuse(rows, (row) => standings.of(pathOf(row)).prior, RANKING.denseWeight);
  const windows = rows.map((row, i) => ({
    ...positionOf(row),
    score: scores[i]! - standings.of(pathOf(row)).loss,
    row,
  }));
  const tiers = new Map(namedFiles.map((one) => [one, one === path || one === inFolder ? 0 : 1]));
  const { pathWeight, nameWeight, literalWeight, stubLoss, further } = RANKING;
  // A name is defined in one place, whatever else is in that file. Many words may be about all of a file.
  const { isOfNames, isOfTests } = sought;
  const tierOf = (file: string) => tiers.get(file) ?? 2;
  const bonusOf = (file: string) => pathWeight * fit.share(file) + (isOfNames ? 0 : nameWeight * fit.nameShare(file));
  const share = isOfNames || isOfTests ? 0 : further;
  const extraBonus = new Map<string, number>();
  const fold = () =>
    folded(windows, (file) => ({ tier: tierOf(file), bonus: bonusOf(file) + (extraBonus.get(file) ?? 0) }), share);
  let ranked = fold();
  if (literals.length > 0) {
    // Documents and tests often have a literal as an example of what the source does.
    const sources = ranked.map((file) => file.path).filter((file) => isOfSource(standings.of(file)));
    const shares = literalShares(literals, sources.slice(0, RANKING.literalFiles), readEach);
    for (const [file, part] of shares) extraBonus.set(file, literalWeight * part);
    ranked = fold();
  }
  if (names.length > 0) {
    const bodies = new Map<string, number>();
    for (const { path: file, windows: found } of ranked.slice(0, RANKING.stubFiles)) {
      if (!isOfSource(standings.of(file)) || !index.files.has(file)) continue;
      const body = longestBody(linesOf(file), found.slice(0, WINDOWS_READ).map(rangeOf), names);
      // Files that define a name come first: after one that does not there are no others.
      if (body === undefined && isOfNames) break;
      if (body !== undefined) bodies.set(file, body);
    }
    for (const [file, part] of stubParts(bodies, isOfNames))
      extraBonus.set(file, (extraBonus.get(file) ?? 0) - stubLoss * part);
    ranked = fold();
  }
  return {
    files: ranked.slice(0, topK).map((file) => ({ path: file.path, windows: file.windows.map(({ row }) => row) })),
    more: Math.max(0, ranked.length - topK),
    notice: found.notice,
    question: { names, literals, weights: new Map(found.weights.map(({ hash, weight }) => [hash, weight])) },
  };
}

function rangeOf({ row: { metadata } }: { row: Row }): LanguageRange {
  const { start_line, end_line, language } = metadata as Metadata;
  return { start: Number(start_line), end: Number(end_line), language: String(language) };
}

function everything(paths: readonly string[]): Scope {
  return { under: undefined, allows: () => true, files: paths.length };
}
