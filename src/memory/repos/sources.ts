/**
 * The texts of repositories' rows, which lie in the repositories' files: the lines of a row as they are on disk now. A
 * reader is for one call, which looks up each repository's root once.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { shown } from "../../checks/kinds.ts";
import type { Metadata } from "../../checks/values.ts";
import { isBelowAny } from "../../repo/files/refusals.ts";
import { readChunk } from "../../repo/files/source.ts";
import type { Collection, Row } from "../../store/collection.ts";
import { REPO_ROWS } from "../../texts/notices.ts";

/** Texts that are read together to see whether there are any. */
const BATCH_ROWS = 64;

/** Reads the texts of one collection's rows. */
export interface TextReader {
  /** A row's text, stored or from its file; undefined where it has none, or its lines are gone. */
  readonly textOf: (row: Pick<Row, "metadata" | "text">) => string | undefined;
  /** Why some of these rows have no text; undefined where all have theirs, as far as is known before files are read. */
  readonly noticeOf: (ids: readonly string[]) => string | undefined;
}

/**
 * Of a collection of repositories.
 * @param rootOf the root of a repository; undefined where it is not known
 * @param neverIndexed folders of which nothing is read
 */
export function sourceReader(
  env: Environment,
  collection: Collection,
  rootOf: (repoId: string) => string | undefined,
  neverIndexed: readonly string[],
): TextReader {
  const roots = new Map<string, string | undefined>();
  const rootOnce = (repoId: string) => {
    if (!roots.has(repoId)) roots.set(repoId, rootOf(repoId));
    return roots.get(repoId);
  };
  const linesOf = (metadata: Row["metadata"]) => {
    const { repo_id, path, piece, start_line, end_line } = (metadata ?? {}) as Metadata;
    if (typeof repo_id !== "string" || !/^[0-9a-f]{16}$/.test(repo_id) || typeof path !== "string") return undefined;
    const root = rootOnce(repo_id);
    if (root === undefined || isBelowAny(neverIndexed, resolve(root, path))) return undefined;
    const part = typeof piece === "number" ? piece : undefined;
    return readChunk(env, root, path, Number(start_line), Number(end_line), part);
  };
  return {
    textOf: ({ text, metadata }) => text ?? linesOf(metadata),
    noticeOf(ids) {
      const lacking: string[] = [];
      for (const [repoId, own] of Map.groupBy(ids, (id) => /^([0-9a-f]{16}):/.exec(id)?.[1])) {
        if (repoId === undefined) continue;
        const root = rootOnce(repoId);
        if ((root === undefined || !existsSync(root)) && lacksTexts(collection, own)) lacking.push(repoId);
      }
      const [first, ...others] = lacking;
      if (first === undefined) return undefined;
      const more = others.length === 0 ? "" : ` (nor do rows of ${others.length} other repositories)`;
      return reasonOf(first, roots.get(first), more);
    },
  };
}

/** Of a collection of repositories, where their files are not read: the texts that are stored. */
export function storedReader(collection: Collection): TextReader {
  return {
    textOf: ({ text }) => text,
    noticeOf: (ids) => (lacksTexts(collection, ids) ? REPO_ROWS : undefined),
  };
}

/** Whether some rows have no text. Rows of other programs have theirs, whatever is known of a repository. */
function lacksTexts(collection: Collection, ids: readonly string[]): boolean {
  for (let at = 0; at < ids.length; at += BATCH_ROWS) {
    const rows = collection.get(ids.slice(at, at + BATCH_ROWS), { text: true });
    if (rows.some(({ found, text }) => found && text === undefined)) return true;
  }
  return false;
}

function reasonOf(repoId: string, root: string | undefined, more: string): string {
  if (root !== undefined) {
    return (
      `rows of the repository ${shown(root)} have no text${more}, because that folder is missing: restore or mount ` +
      `the folder, or remove its rows with 'svc mem repos --forget ${repoId}'`
    );
  }
  return (
    `rows of the repository ${repoId} have no text${more}: its fingerprint file, which stores the path of its folder, ` +
    "is missing or damaged; run 'svc mem index' in that folder, or call svc_index_repo with its path"
  );
}
