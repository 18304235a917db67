/** The repository verbs: a source directory as rows of one collection, refreshed before each query. */
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import {
  indexRepo,
  readChunk,
  readFingerprintHead,
  resolveWorkspace,
  type Workspace,
  workspaceHere,
} from "../repo/indexer.ts";
import type { Collection, Row } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { Embedder } from "../texts/embedder.ts";
import { BM25 } from "../texts/ranking.ts";
import { parseArguments } from "./arguments.ts";
import { echo } from "./bounds/answer.ts";
import { continuation, fitHits } from "./bounds/hits.ts";
import type * as payload from "./payloads.ts";
import { REPO_COLLECTION, RepoCollections } from "./repos/collections.ts";
import { rankFiles } from "./repos/ranking.ts";
import type * as args from "./requests.ts";
import { watch } from "./requests.ts";

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
  private readonly collections: RepoCollections;

  constructor(private readonly options: RepositoriesOptions) {
    this.collections = new RepoCollections(options.repoStore, options.embedder);
  }

  /** Updates a collection to a directory's current files. */
  async index(a: args.IndexRepoArguments, c: args.CallContext): Promise<payload.IndexRepoPayload> {
    // The root is checked before a collection is created for it.
    const workspace = this.workspace(a.path, NAME_PATH);
    return this.refresh(workspace, this.collections.open(a.collection), a, c);
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
      sink: this.collections.sink(collection, c.signal),
      fingerprintPath: this.collections.fingerprintFile(collection.name, workspace.repoId),
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
    const collection = this.collections.open(REPO_COLLECTION);
    const call = parseArguments("index_repo", { max_seconds: a.max_seconds });
    const { status, truncated } = await this.refresh(workspace, collection, call, c);
    const textOf = this.sources(REPO_COLLECTION, workspace);
    const { query, top_k, path_hint, with_times } = a;
    const question = { query, topK: top_k, pathHint: path_hint, withTimes: with_times };
    const { files, notice } = await rankFiles(collection, this.options.embedder, workspace, question, c.signal);
    const rows = files.map((file) => file.windows[0]!);
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
    const head = workspace && readFingerprintHead(this.collections.fingerprintFile(REPO_COLLECTION, workspace.repoId));
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
      if (!roots.has(repo_id))
        roots.set(repo_id, readFingerprintHead(this.collections.fingerprintFile(collection, repo_id))?.root);
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
}

function isBelow(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}
