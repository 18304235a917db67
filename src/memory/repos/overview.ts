/** Which repositories a memory has, in which collections, and how one is removed. */
import { existsSync } from "node:fs";
import { shown } from "../../checks/kinds.ts";
import { REPO_COLLECTION, REPO_KEY } from "../../checks/names.ts";
import { ValueError } from "../../errors.ts";
import { repoIdOf } from "../../repo/chunks/identity.ts";
import { resolvedAsFar } from "../../repo/files/work-tree.ts";
import { forget, forgetGone, hasLogs, type Indexed, indexedIn } from "../../repo/fingerprints/indexed.ts";
import { type ShownPartial, shownPartial } from "../../repo/fingerprints/partial.ts";
import type { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import type { RepoCollections } from "./collections.ts";

/** A repository in one collection; one that is in two has two entries. */
export interface RepoEntry extends ShownPartial {
  /** Null for rows whose fingerprints are missing or damaged: indexing the repository again mends that. */
  root: string | null;
  repo_id: string;
  collection: string;
  /** Text files in the index, as of the last run. */
  files?: number;
  /** A limit ended the last run early: `files_done` of `files_found` files are indexed. */
  partial?: true;
  rows: number;
  /** About how many bytes of the collection's files are its rows. */
  bytes: number;
  /** When it was last indexed or found unchanged, within an hour; milliseconds since 1970. */
  last_used?: number;
  /** For a linked work tree of git: the common folder of its repository. */
  linked_to?: string;
  /** Whether the root is there now. */
  exists: boolean;
}

export interface ReposPayload {
  /** The last used first. */
  repositories: RepoEntry[];
  /** Roots of linked work trees whose rows this call removed, because git no longer has them. */
  removed?: string[];
}

export interface ForgetRepoPayload {
  /** As it was named. */
  forgotten: string;
  repo_id: string;
  /** Rows that were live. */
  deleted: number;
  collections: string[];
}

const ID = /^[0-9a-f]{16}$/;

/** The repositories of one store. */
export class Overview {
  constructor(
    private readonly store: Store,
    private readonly collections: RepoCollections,
  ) {}

  /**
   * All repositories, the last used first, once linked work trees that are gone are removed, where changes are not
   * refused.
   * @param only the name of a collection
   */
  async list(only?: string): Promise<ReposPayload> {
    const repositories: RepoEntry[] = [];
    const removed: string[] = [];
    for (const collection of this.of(only)) {
      if (this.store.refusal === undefined) {
        const { roots } = await forgetGone(this.folder(collection), this.collections.sink(collection, undefined));
        removed.push(...roots);
      }
      repositories.push(...this.entries(collection));
    }
    repositories.sort((a, b) => (b.last_used ?? 0) - (a.last_used ?? 0));
    return { repositories, ...(removed.length > 0 ? { removed } : {}) };
  }

  /**
   * Removes a repository's rows and fingerprints.
   * @param repository its id, or its root as an absolute path
   * @throws ValueError for one that no collection has
   */
  async forget(repository: string, only?: string): Promise<ForgetRepoPayload> {
    const repoId = ID.test(repository) ? repository : repoIdOf(resolvedAsFar(repository));
    const having = this.of(only).filter((collection) =>
      this.entries(collection).some((entry) => entry.repo_id === repoId),
    );
    if (having.length === 0) {
      const where = only === undefined ? "" : ` in collection ${shown(only)}`;
      throw new ValueError(
        `no repository ${shown(repository)} is indexed${where}: 'svc mem repos' lists those that are`,
      );
    }
    let deleted = 0;
    for (const collection of having) {
      const sink = this.collections.sink(collection, undefined);
      deleted += (await forget(this.folder(collection), repoId, sink)).deleted;
    }
    return { forgotten: repository, repo_id: repoId, deleted, collections: having.map(({ name }) => name) };
  }

  /** Collections that have repositories; others are not opened. @throws ValueError for a named one without */
  private of(only: string | undefined): Collection[] {
    const { store } = this;
    if (only !== undefined) {
      const collection = store.open(only);
      if (collection.schema.keyName === REPO_KEY) return [collection];
      throw new ValueError(`collection ${shown(only)} holds no repositories: it is not partitioned by '${REPO_KEY}'`);
    }
    const names = store.list().filter((name) => name === REPO_COLLECTION || hasLogs(this.collections.folder(name)));
    const found = names.map((name) => store.find(name));
    return found.filter((collection) => collection?.schema.keyName === REPO_KEY) as Collection[];
  }

  private entries(collection: Collection): RepoEntry[] {
    const { disk_bytes, total_rows } = collection.stats();
    const rows = new Map(collection.partitions().map((partition) => [partition.key, partition.rows]));
    const sink = this.collections.sink(collection, undefined);
    const known = new Map(indexedIn(this.folder(collection), sink).map((indexed) => [indexed.repoId, indexed]));
    const ids = new Set([...rows.keys(), ...known.keys()].filter((id) => typeof id === "string" && ID.test(id)));
    return [...ids].map((id) => {
      const count = rows.get(id) ?? 0;
      const bytes = total_rows > 0 ? Math.round((disk_bytes * count) / total_rows) : 0;
      return {
        ...describe(known.get(id as string)),
        repo_id: id as string,
        collection: collection.name,
        rows: count,
        bytes,
      };
    });
  }

  private folder({ name }: { name: string }): string {
    return this.collections.folder(name);
  }
}

/** What the fingerprints say; nothing of rows without any, or with damaged ones. */
function describe(indexed: Indexed | undefined): Omit<RepoEntry, "repo_id" | "collection" | "rows" | "bytes"> {
  const head = indexed?.head;
  if (!indexed || !head) return { root: null, exists: false };
  const { root, git } = head;
  const { tracked, partial } = indexed.note;
  return {
    root,
    exists: existsSync(root),
    files: tracked,
    ...(partial === undefined ? {} : { partial: true as const, ...shownPartial(partial) }),
    last_used: Math.round(indexed.usedMs),
    ...(git?.linked === undefined ? {} : { linked_to: git.common }),
  };
}
