/** The repository verbs: a source directory as rows of one collection, refreshed before each query. */
import { join, resolve } from "node:path";
import { echo } from "../answers/answer.ts";
import { continuation } from "../answers/hits.ts";
import { shown } from "../checks/kinds.ts";
import { REPO_COLLECTION, REPO_KEY } from "../checks/names.ts";
import { ValueError } from "../errors.ts";
import { Deadline } from "../repo/files/deadline.ts";
import { isBelowAny } from "../repo/files/refusals.ts";
import { isIn } from "../repo/files/relative.ts";
import { readEach, readLines } from "../repo/files/source.ts";
import { Trees } from "../repo/files/trees.ts";
import type { Workspace } from "../repo/files/workspace.ts";
import { rootOf } from "../repo/fingerprints/indexed.ts";
import { loadLog } from "../repo/fingerprints/known-logs.ts";
import { readNote } from "../repo/fingerprints/note.ts";
import { shownPartial } from "../repo/fingerprints/partial.ts";
import { dryRun } from "../repo/indexing/dry-run.ts";
import { indexRepo } from "../repo/indexing/indexer.ts";
import type { IndexOptions } from "../repo/indexing/options.ts";
import { unchangedResult } from "../repo/indexing/unchanged.ts";
import type { ReadEach } from "../repo/rank/literals.ts";
import { rankFiles } from "../repo/rank/ranking.ts";
import { fitFiles } from "../repo/show/answer.ts";
import type { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { Embedder } from "../texts/embedder.ts";
import { joinNotices } from "../texts/notices.ts";
import type * as payload from "./payloads.ts";
import { isDamage, RepoCollections } from "./repos/collections.ts";
import { Overview } from "./repos/overview.ts";
import { sourceReader, type TextReader } from "./repos/sources.ts";
import { type FoundWorkspace, findWorkspace, type NamedWorkspaces } from "./repos/workspaces.ts";
import type * as args from "./requests.ts";
import { watch } from "./requests.ts";

/** The remedies in the error for a missing repository. */
const NAME_PATH = "pass the path of the repository";
const NAME_WORKSPACE = "pass workspace, or name the repository with --workspace or SVC_MCP_WORKSPACE";

/** Where rows had to be discarded. */
const MENDED = "the index was damaged, and the files were indexed again";

/** The dependencies of the repository verbs. */
export interface RepositoriesOptions {
  /** The store of repository collections: the memory's own, or one that is removed with the process. */
  repoStore: Store;
  embedder: Embedder;
  workspace: NamedWorkspaces;
  persistent: boolean;
  /** Folders that are never indexed, wherever they lie: the memory itself, and this program's secrets. */
  neverIndexed: readonly string[];
}

/** What a call names of a run; what it leaves out is as the repository was indexed before. */
type IndexCall = Partial<args.ArgumentsOf<"index_repo">> & Pick<args.ArgumentsOf<"index_repo">, "collection">;

/** The repository verbs over one store. */
export class Repositories {
  private readonly collections: RepoCollections;
  private readonly trees: Trees;
  /** What is indexed. */
  readonly overview: Overview;

  constructor(private readonly options: RepositoriesOptions) {
    this.collections = new RepoCollections(options.repoStore, options.embedder);
    this.trees = new Trees(options.repoStore.env);
    this.overview = new Overview(options.repoStore, this.collections);
  }

  /** Updates a collection to a directory's current files. */
  async index(
    a: args.ArgumentsOf<"index_repo">,
    c: args.CallContext,
  ): Promise<payload.IndexRepoPayload | payload.DryRunPayload> {
    const deadline = new Deadline(a.max_seconds);
    // The root is checked before a collection is created for it.
    const { workspace, notice } = await this.workspace(a.path, NAME_PATH, c);
    if (a.dry_run) {
      const notes = this.collections.notesOf(a.collection);
      return { ...(await dryRun({ ...this.indexOptions(workspace, a, c, deadline), notes })), ...noticed(notice) };
    }
    this.options.repoStore.refuseChanges();
    return this.whole(a.collection, async (collection, mended) => ({
      ...(await this.refresh(workspace, collection, a, c, { deadline })),
      ...noticed(notice, mended),
    }));
  }

  /**
   * Works on a collection. Where rows of repositories turn out to be damaged they are discarded and the work, which then
   * indexes files again, is done once more, with what to say of that.
   */
  private async whole<T>(name: string, work: (collection: Collection, mended?: string) => Promise<T>): Promise<T> {
    const { collections } = this;
    const { collection, isMended } = await collections.openWhole(name);
    try {
      const result = await work(collection, isMended ? MENDED : undefined);
      if (!(await collections.mend(collection))) return result;
    } catch (error) {
      if (!isDamage(error) || !(await collections.mend(collection))) throw error;
    }
    return work(collections.open(name), MENDED);
  }

  /** Waits for the calls under way and closes what they kept. */
  close(): Promise<void> {
    return this.trees.close();
  }

  private async refresh(
    workspace: Workspace,
    collection: Collection,
    a: IndexCall,
    c: args.CallContext,
    { deadline, onIndexed }: Pick<IndexOptions, "deadline" | "onIndexed">,
  ): Promise<payload.IndexRepoPayload> {
    const sink = this.collections.sink(collection, c.signal);
    const options = { ...this.indexOptions(workspace, a, c, deadline), sink, onIndexed };
    const { refusal } = this.options.repoStore;
    if (refusal !== undefined) {
      const { truncated, ...indexed } = unchangedResult(options);
      return { ...indexed, notice: `the index was not updated, so hits may be out of date: ${refusal}` };
    }
    const result = await indexRepo(options);
    await this.collections.afterRun(collection, watch(c), deadline);
    return result;
  }

  private indexOptions(
    workspace: Workspace,
    a: IndexCall,
    c: args.CallContext,
    deadline: Deadline | undefined,
  ): Omit<IndexOptions, "sink"> {
    return {
      workspace,
      collection: a.collection,
      trees: this.trees,
      folder: this.collections.folder(a.collection),
      mode: a.mode,
      windowLines: a.window_lines,
      windowOverlapLines: a.window_overlap_lines,
      maxFileBytes: a.max_file_bytes,
      maxFiles: a.max_files,
      deadline,
      force: a.force,
      exclude: [...this.options.neverIndexed],
      ...watch(c),
      onWork: c.onWork,
    };
  }

  /** Refreshes the workspace's rows, where changes are not refused, then searches them. */
  async search(a: args.ArgumentsOf<"repo_search">, c: args.CallContext): Promise<payload.RepoSearchPayload> {
    const deadline = new Deadline(a.max_seconds);
    const { workspace, notice: passedOver } = await this.workspace(a.workspace, NAME_WORKSPACE, c);
    const placeIn = continuation("repo_search", a);
    return this.whole(a.collection, async (collection, mended) => {
      let paths: readonly string[] = [];
      const refreshed = await this.refresh(workspace, collection, { collection: a.collection }, c, {
        deadline,
        onIndexed(indexed) {
          paths = indexed;
        },
      });
      const { status, truncated, folder, files_done, files_found } = refreshed;
      const { root } = workspace;
      const files = new Map<string, readonly string[] | undefined>();
      const linesOf = (path: string) => {
        if (!files.has(path)) files.set(path, this.linesOf(root, path));
        return files.get(path);
      };
      const question = {
        linesOf,
        query: a.query,
        topK: a.top_k,
        pathHint: a.path_hint,
        paths,
        withTimes: a.with_times,
        readEach: ((some, see) => readEach(this.trees.env, root, some, see)) satisfies ReadEach,
      };
      const ranking = await rankFiles(collection, this.options.embedder, workspace, question, c.signal);
      const { notice } = noticed(passedOver, mended, refreshed.notice, nothingToSearch(refreshed) ?? ranking.notice);
      const head = {
        collection: a.collection,
        ...echo(a.query, notice, a.max_bytes),
        ...{ workspace: root, folder, index_status: status, partial: truncated === true },
        ...(truncated ? { files_done, files_found } : {}),
      };
      const sources = {
        linesOf,
        termsIn: (texts: readonly string[]) => collection.termsOf(texts),
        passageOf: (text: string) =>
          collection.passages(a.query, { column: REPO_KEY, value: workspace.repoId }, [text])[0]!,
      };
      return { ...head, ...fitFiles(a, head, ranking, sources, placeIn) };
    });
  }

  /** The lines of an indexed file as they are on disk. */
  private linesOf(root: string, path: string): readonly string[] | undefined {
    const isExcluded = isBelowAny(this.options.neverIndexed, resolve(root, path));
    return isExcluded ? undefined : readLines(this.trees.env, root, path);
  }

  /** The workspace and how much of it is indexed, without indexing. */
  async info(c: args.CallContext): Promise<payload.WorkspaceInfoPayload> {
    const { persistent } = this.options;
    const { workspace, ...found } = await this.find(undefined, c);
    return {
      workspace: workspace?.root ?? null,
      ...(workspace?.below === undefined ? {} : { folder: workspace.below }),
      repo_id: workspace?.repoId ?? null,
      collection: REPO_COLLECTION,
      ...(workspace ? this.indexed(workspace) : { files_tracked: 0 }),
      persistent_index: persistent,
      source: "source" in found ? found.source : null,
      reason: found.reason,
    };
  }

  /** A reader, for one call, of the texts of a collection's rows. */
  sources(collection: Collection): TextReader {
    const { name } = collection;
    const root = (repoId: string) => rootOf(this.collections.folder(name), repoId, this.collections.notesOf(name));
    return sourceReader(this.trees.env, collection, root, this.options.neverIndexed);
  }

  /** The workspace of a call. @throws ValueError for none, or for a named one that cannot be indexed */
  private async workspace(argument: string | undefined, remedy: string, c: args.CallContext): Promise<FoundWorkspace> {
    const found = await this.find(argument, c);
    if (found.workspace === undefined) throw new ValueError(`no workspace: ${found.reason}: ${remedy}`);
    return found;
  }

  private find(argument: string | undefined, { roots, signal }: args.CallContext) {
    const { workspace, neverIndexed } = this.options;
    return findWorkspace(workspace, { argument, roots, signal }, { neverIndexed });
  }

  /** What of a workspace is indexed. */
  private indexed({ repoId, below }: Workspace): Pick<payload.WorkspaceInfoPayload, "files_tracked" | "partial"> {
    const notes = this.collections.notesOf(REPO_COLLECTION);
    const note = readNote(notes.noteOf(repoId), repoId);
    const partial = note?.partial === undefined ? {} : { partial: true as const, ...shownPartial(note.partial) };
    if (below === undefined) return { files_tracked: note?.tracked ?? 0, ...partial };
    const { files } = loadLog(this.collections.folder(REPO_COLLECTION), repoId, notes);
    const inside = [...files].filter(([file, { kind }]) => kind === "text" && isIn(below, file));
    return { files_tracked: inside.length, ...partial };
  }
}

/** Several notices as the member of an answer. */
function noticed(...notices: (string | undefined)[]): { notice?: string } {
  const notice = joinNotices(". ", notices);
  return notice === undefined ? {} : { notice };
}

/** What helps where a workspace has no file to search. */
function nothingToSearch(refreshed: payload.IndexRepoPayload): string | undefined {
  const { files_tracked, files_skipped, workspace, folder, truncated } = refreshed;
  if (files_tracked > 0 || truncated) return undefined;
  const skipped = Object.entries(files_skipped).filter(([, count]) => count > 0);
  const left = skipped.map(([reason, count]) => `${count} ${reason.replaceAll("_", " ")}`).join(", ");
  const where = shown(folder === undefined ? workspace : join(workspace, folder));
  const why = left === "" ? "all files are ignored, or there are none" : `only files that are skipped: ${left}`;
  return `the workspace ${where} has no text files to search (${why}); svc_workspace_info shows why it was chosen`;
}
