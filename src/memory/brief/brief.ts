/** What to know of a memory at the beginning of a session, in a bounded number of tokens. */

import { shown } from "../../checks/kinds.ts";
import { readString } from "../../checks/strings.ts";
import { ValueError } from "../../errors.ts";
import { SCOPE_BYTES_MAX } from "../../limits.ts";
import type { Collection, Row } from "../../store/collection.ts";
import { type Visited, visitCollections } from "../collections/visit.ts";
import { type ChangeCounts, changesSince } from "./changes.ts";
import { type Candidate, type Composed, compose, LEAST_TOKENS, type Part } from "./compose.ts";
import { BRIEF_TOKENS, BRIEF_TOKENS_MAX, BRIEF_TOKENS_MIN } from "./limits.ts";
import { lastMarkOf, markBrief } from "./marks.ts";
import { isBeginning, newestRows, pinnedRows, rankOf, rowsOfKinds, type Scopes, scopesOf } from "./rows.ts";

export interface BriefArguments {
  /** Only rows of this scope, and those of the default one; absent: rows of all scopes. */
  project?: string | undefined;
  /** Tokens of the text at most. */
  max_tokens?: number | undefined;
  /** Whether the next brief of the project tells what changed after this one. */
  mark?: boolean | undefined;
}

export interface BriefPayload extends Composed {
  project?: string;
  /** When the last brief of the project was marked, in milliseconds since 1970. */
  since?: number;
  /** By collection, what changed since then. */
  changes?: Record<string, ChangeCounts>;
  /** Rows of the collections that it covers. */
  rows: number;
  /** Collections that could not be read, by name, with the reason. */
  unreadable?: Record<string, string>;
  /** Why this brief could not be marked. */
  unmarked?: string;
  /** No current row has the scope of the project. */
  is_unknown_project?: true;
}

/** What a brief needs of a memory. */
interface BriefParts extends Visited {
  /** Where marks are; absent: nothing is marked. */
  readonly marksFile?: string | undefined;
}

/** @throws ValueError for a number of tokens that is out of range, or a project without a name; TypeError */
export async function briefOf(memory: BriefParts, a: BriefArguments): Promise<BriefPayload> {
  const { store, marksFile } = memory;
  const { max_tokens = BRIEF_TOKENS } = a;
  if (!Number.isInteger(max_tokens) || max_tokens < BRIEF_TOKENS_MIN || max_tokens > BRIEF_TOKENS_MAX) {
    const range = `from ${BRIEF_TOKENS_MIN} to ${BRIEF_TOKENS_MAX}`;
    throw new ValueError(`max_tokens is ${max_tokens}: give a whole number ${range}`, "limit");
  }
  const project = a.project === undefined ? undefined : readProject(a.project);
  // Before anything is read: what is saved meanwhile is new to the next brief.
  const now = Date.now();
  const since = marksFile === undefined ? undefined : lastMarkOf(marksFile, store.dir, project);
  const found = await gather(memory, { scopes: scopesOf(project), since, most: Math.ceil(max_tokens / LEAST_TOKENS) });
  const { rows, changes, unreadable } = found;
  const composed = compose({ ...found, since, project }, max_tokens);
  const isUnknown = project !== undefined && ![...found.parts.values()].flat().some(({ rank }) => rank === 0);
  const unmarked = a.mark && marksFile !== undefined ? markBrief(marksFile, store.dir, project, now) : undefined;
  return {
    ...(project !== undefined && { project }),
    ...(since !== undefined && { since, changes: Object.fromEntries(changes) }),
    rows,
    ...composed,
    ...(unreadable.size > 0 && { unreadable: Object.fromEntries(unreadable) }),
    ...(unmarked !== undefined && { unmarked }),
    ...(isUnknown && { is_unknown_project: true }),
  };
}

function readProject(value: unknown): string {
  const project = readString(value, "project");
  if (project === "") throw new ValueError("project is empty: give the name of a scope");
  const bytes = Buffer.byteLength(project);
  if (bytes <= SCOPE_BYTES_MAX) return project;
  throw new ValueError(`project ${shown(project)} has ${bytes} bytes; the limit is ${SCOPE_BYTES_MAX}`, "limit");
}

interface Wanted {
  scopes: Scopes;
  since: number | undefined;
  /** Rows of each part, of each collection. */
  most: number;
}

/** The candidates of all collections, each part in its order. */
interface Gathered {
  parts: Map<Part, Candidate[]>;
  changes: Map<string, ChangeCounts>;
  unreadable: Map<string, string>;
  rows: number;
}

async function gather(parts: Visited, wanted: Wanted): Promise<Gathered> {
  const found: Gathered = { parts: new Map(), changes: new Map(), unreadable: new Map(), rows: 0 };
  found.unreadable = await visitCollections(parts, (collection) => {
    // Rows of vectors have no texts.
    if (collection.schema.embedderProfile !== null) look(collection, wanted, found);
  });
  for (const [part, rows] of found.parts) if (part !== "pinned") rows.sort(byScopeAndTime);
  return found;
}

/** Nothing of a collection is taken before all of it is read. */
function look(collection: Collection, { scopes, since, most }: Wanted, found: Gathered): void {
  const { name } = collection;
  const toCandidate = (row: Row): Candidate => ({
    collection: name,
    id: row.id,
    updated: row.times!.updated,
    text: row.text,
    isCut: isBeginning(row),
    rank: rankOf(row, scopes),
  });
  const own = new Map<Part, Candidate[]>();
  own.set("pinned", pinnedRows(collection, scopes).map(toCandidate));
  for (const [kind, rows] of rowsOfKinds(collection, scopes, most)) own.set(kind, rows.map(toCandidate));
  const changed = since === undefined ? undefined : changesSince(collection, since, scopes, most);
  own.set("changed", changed?.rows.map(({ kind, row }) => ({ ...toCandidate(row), change: kind })) ?? []);
  own.set("newest", newestRows(collection, scopes, most).map(toCandidate));
  const rows = collection.stats().live_rows;

  for (const [part, candidates] of own) {
    const all = found.parts.get(part);
    if (all) all.push(...candidates);
    else found.parts.set(part, candidates);
  }
  if (changed && Object.values(changed.counts).some((count) => count !== 0)) found.changes.set(name, changed.counts);
  found.rows += rows;
}

function byScopeAndTime(a: Candidate, b: Candidate): number {
  return a.rank - b.rank || b.updated - a.updated;
}
