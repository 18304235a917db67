/** The repository verbs: a source directory as rows of one collection, refreshed before each query. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { Put } from "../../ffi/ty_collection.ts";
import { shown } from "../checks/kinds.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import {
  indexRepo,
  type RowSink,
  readChunk,
  readFingerprintHead,
  resolveWorkspace,
  type Workspace,
  workspaceHere,
} from "../repo/indexer.ts";
import type { Collection, Row } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import { checkSpace, type Embedder, isOlderSpace } from "../texts/embedder.ts";
import { embeddingOf } from "../texts/put.ts";
import { BM25 } from "../texts/ranking.ts";
import { type Noticed, searchTexts } from "../texts/search.ts";
import { parseArguments } from "./arguments.ts";
import { echo } from "./bounds/answer.ts";
import { continuation, fitHits } from "./bounds/hits.ts";
import type * as payload from "./payloads.ts";
import type * as args from "./requests.ts";
import { watch } from "./requests.ts";

/** The collection of `svc_repo_search`. */
export const REPO_COLLECTION = "repo_symbols";
const REPO_KEY = "repo_id";
const REPO_COLUMNS = ["repo_id", "path", "language"];

/** The remedies in the error for a missing repository. */
const NAME_PATH = "pass the path of the repository";
const NAME_WORKSPACE = "name the repository with --workspace or SVC_MCP_WORKSPACE";

/** The dependencies of the repository verbs. */
export interface RepositoriesOptions {
  store: Store;
  /** The store of repository collections: the memory's own, or one that is removed with the process. */
  repoStore: Store;
  embedder: Embedder;
  /** The configured repository; undefined: the git work tree around the working directory. */
  workspace: string | undefined;
  persistent: boolean;
  /** Folders that are never indexed, wherever they lie: the memory itself, and this program's secrets. */
  neverIndexed: readonly string[];
}

/** The repository verbs over one store. */
export class Repositories {
  constructor(private readonly options: RepositoriesOptions) {}

  /** Updates a collection to a directory's current files. */
  async index(a: args.IndexRepoArguments, c: args.CallContext): Promise<payload.IndexRepoPayload> {
    // The root is checked before a collection is created for it.
    const workspace = this.workspace(a.path, NAME_PATH);
    return this.refresh(workspace, this.collection(a.collection), a, c);
  }

  private async refresh(
    workspace: Workspace,
    collection: Collection,
    a: Omit<args.IndexRepoArguments, "path">,
    c: args.CallContext,
  ): Promise<payload.IndexRepoPayload> {
    const result = await indexRepo({
      workspace,
      collection: collection.name,
      sink: this.sink(collection, c),
      fingerprintPath: this.fingerprintFile(collection.name, workspace.repoId),
      mode: a.mode,
      windowLines: a.window_lines,
      windowOverlapLines: a.window_overlap_lines,
      maxFileBytes: a.max_file_bytes,
      maxFiles: a.max_files,
      maxSeconds: a.max_seconds,
      force: a.force,
      exclude: [...this.options.neverIndexed],
      ...watch(c),
    });
    if (collection.isSaved && collection.stats().lexical_built === 0) {
      await collection.buildLexical(BM25.k1, BM25.b, watch(c));
    }
    return result;
  }

  /** Refreshes the workspace's rows, then searches them. */
  async search(a: args.RepoSearchArguments, c: args.CallContext): Promise<payload.RepoSearchPayload> {
    const workspace = this.workspace(undefined, NAME_WORKSPACE);
    const placeIn = continuation("repo_search", a);
    const collection = this.collection(REPO_COLLECTION);
    const call = parseArguments("index_repo", { max_seconds: a.max_seconds });
    const { status, truncated } = await this.refresh(workspace, collection, call, c);
    const textOf = this.sources(REPO_COLLECTION, workspace);
    const { rows, notice } = await this.ranked(collection, workspace, a, c);
    const toHit = (row: Row) => ({ id: row.id, metadata: row.metadata, ...row.times });
    const texts = a.with_text ? (given: readonly Row[]) => given.map((row) => textOf(row.metadata)) : undefined;
    const outcome = { collection: REPO_COLLECTION, index_status: status, truncated };
    const head = { ...outcome, ...echo(a.query, notice, a.max_bytes) };
    return { ...head, ...fitHits("repo_search", a, head, { rows, toHit, texts }, placeIn(rows)) };
  }

  /** The workspace and how much of it is indexed, without indexing. */
  info(): payload.WorkspaceInfoPayload {
    const { persistent } = this.options;
    const workspace = this.workspaceOrNone();
    const head = workspace && readFingerprintHead(this.fingerprintFile(REPO_COLLECTION, workspace.repoId));
    return {
      workspace: workspace?.root ?? null,
      repo_id: workspace?.repoId ?? null,
      collection: REPO_COLLECTION,
      files_tracked: head?.tracked ?? 0,
      persistent_index: persistent,
    };
  }

  /** A collection of a separate repository store; undefined where repositories are in the memory's own store. */
  findApart(name: string): Collection | undefined {
    const { store, repoStore } = this.options;
    return repoStore === store ? undefined : repoStore.find(name);
  }

  /**
   * A reader, for one call, of rows' lines as they are on disk now: each repository's root is looked up once. It
   * returns undefined for a row of no repository, or whose lines are gone.
   * @param known a workspace that needs no look-up
   */
  sources(collection: string, known?: Workspace): (metadata: unknown) => string | undefined {
    const roots = new Map<string, string | undefined>(known && [[known.repoId, known.root]]);
    return (metadata) => {
      const { repo_id, path, piece, start_line, end_line } = (metadata ?? {}) as Metadata;
      if (typeof repo_id !== "string" || !/^[0-9a-f]{16}$/.test(repo_id) || typeof path !== "string") return undefined;
      if (!roots.has(repo_id)) roots.set(repo_id, readFingerprintHead(this.fingerprintFile(collection, repo_id))?.root);
      const root = roots.get(repo_id);
      if (root === undefined) return undefined;
      if (this.options.neverIndexed.some((folder) => isBelow(folder, resolve(root, path)))) return undefined;
      return readChunk(root, path, Number(start_line), Number(end_line), typeof piece === "number" ? piece : undefined);
    };
  }

  /**
   * The repository of a call: the named one, the configured one, or the current work tree. @throws ValueError for none
   */
  private workspace(named: string | undefined, remedy: string): Workspace {
    const given = named ?? this.options.workspace;
    return given === undefined ? workspaceHere(remedy) : resolveWorkspace(given);
  }

  /** The workspace; undefined where none is configured and the working directory is in none. */
  private workspaceOrNone(): Workspace | undefined {
    try {
      return this.workspace(undefined, NAME_WORKSPACE);
    } catch (error) {
      if (this.options.workspace === undefined && error instanceof ValueError) return undefined;
      throw error;
    }
  }

  /** Hits of one repository; with a path hint, of the files below that path. */
  private async ranked(
    collection: Collection,
    { root, repoId }: Workspace,
    a: args.RepoSearchArguments,
    c: args.CallContext,
  ): Promise<{ rows: Row[] } & Noticed> {
    const path = a.path_hint && relativeHint(root, a.path_hint);
    const under = path ? { column: "path", value: path } : undefined;
    const where = { column: REPO_KEY, value: repoId };
    const options = { topK: a.top_k, where, under, metadata: true, times: a.with_times };
    return searchTexts(collection, this.options.embedder, a.query, options, c.signal);
  }

  /**
   * The collection of that name. `repo_symbols` of an earlier embedder version is discarded: an export, the remedy for
   * other collections, lacks its texts, and each repository is indexed again at its next query.
   */
  private current(name: string): Collection | undefined {
    const { repoStore, embedder } = this.options;
    const isOlder = (c: Collection) => name === REPO_COLLECTION && isOlderSpace(c.schema.embedderProfile, embedder);
    const known = repoStore.find(name);
    if (!known || !isOlder(known)) return known;
    // Another process may have replaced it since this one opened it.
    const now = repoStore.reopen(name);
    if (!now || !isOlder(now)) return now;
    repoStore.discard(now);
    return undefined;
  }

  private collection(name: string): Collection {
    const { repoStore, embedder } = this.options;
    const existing = this.current(name);
    if (existing) {
      if (existing.schema.keyName !== REPO_KEY) {
        throw new ValueError(
          `collection ${shown(name)} is partitioned by '${existing.schema.keyName}', ` +
            `a repository needs '${REPO_KEY}': choose another collection`,
        );
      }
      checkSpace(name, existing.schema.embedderProfile, embedder);
      return existing;
    }
    return repoStore.create(name, {
      dim: embedder.profile.dimension,
      // 4 bits a dimension rank as well as 32.
      dtype: "int4",
      partitionBy: REPO_KEY,
      filterColumns: REPO_COLUMNS,
      lexical: true,
      embedderProfile: embedder.profile,
    });
  }

  private fingerprintFile(collection: string, repoId: string): string {
    return join(this.options.repoStore.dir, collection, `repo-${repoId}.fingerprints`);
  }

  private sink(collection: Collection, c: args.CallContext): RowSink {
    const { embedder } = this.options;
    return {
      get generation() {
        return collection.generation;
      },
      async replace({ deleteIds, rows }) {
        const texts = rows.map((row) => row.text);
        const embedding = await embeddingOf(embedder, texts, c.signal);
        return collection.change(async (t) => {
          const deleted = deleteIds.length > 0 ? await t.delete(deleteIds) : 0;
          if (rows.length === 0) return { deleted, upserted: 0 };
          const ids = rows.map((row) => row.id);
          // The text stays in the source file; its terms are kept for the lexical index.
          const put = { ids, ...embedding, texts, metadata: rows.map((row) => row.metadata), dropText: true };
          const { inserted, replaced } = await t.put(Put.UPSERT, put, { signal: c.signal });
          return { deleted, upserted: inserted + replaced };
        }, c.signal);
      },
      idsOf: async (repoId) => collection.ids({ where: { column: REPO_KEY, value: repoId } }),
    };
  }
}

/** A path hint relative to the root, as in rows' metadata; agents often pass absolute ones. */
function relativeHint(root: string, hint: string): string {
  const inside = relative(root, resolve(root, hint)).replaceAll(sep, "/");
  if (inside === ".." || inside.startsWith("../") || isAbsolute(inside)) {
    throw new ValueError(`path_hint ${shown(hint)} lies outside the workspace: give a path below its root`);
  }
  return inside;
}

function isBelow(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}
