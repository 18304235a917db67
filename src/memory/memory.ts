/**
 * The 19 verbs over one memory directory. The caller (the MCP server, the terminal) has parsed the arguments; a verb
 * returns its payload.
 */

import { echo, noticeWithin } from "../answers/answer.ts";
import { continuation, fitHits } from "../answers/hits.ts";
import { behindCursor, fitNames, mostIds } from "../answers/lists.ts";
import { dayOf } from "../answers/local-times.ts";
import { fitRows } from "../answers/rows.ts";
import { ALL, REPO_KEY } from "../checks/names.ts";
import type { Condition } from "../checks/where.ts";
import { TEXTS_AT_ONCE_MAX } from "../limits.ts";
import type { Replica } from "../replication/node/node.ts";
import type { SecretGuard } from "../secrets/policy.ts";
import type { Collection, Row } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import { Collections, splitId } from "../texts/collections.ts";
import { weakHits } from "../texts/confidence.ts";
import type { Embedder } from "../texts/embedder.ts";
import { awayNotice, EMPTY_QUERY, joinNotices, weakFirst } from "../texts/notices.ts";
import { passagesOf } from "../texts/passages.ts";
import { BM25 } from "../texts/ranking.ts";
import { contributions, isBlank, requireLexical, searchTexts, searchWords } from "../texts/search.ts";
import type { Searched } from "../texts/searched.ts";
import { collectionStats } from "../texts/stats.ts";
import { type AllCollections, allCollections, EMPTY_QUERY_TO_ALL } from "./collections/all-collections.ts";
import { listCollections } from "./listing.ts";
import { missingCollection, refuseAll } from "./missing-collection.ts";
import { neighboursOf } from "./neighbours.ts";
import type * as payload from "./payloads.ts";
import { Puts } from "./puts.ts";
import type { TextReader } from "./repos/sources.ts";
import type { Repositories } from "./repositories.ts";
import type * as args from "./requests.ts";
import { watch } from "./requests.ts";
import type { Terminal } from "./terminal.ts";

/** The parts of a memory, as `openMemory` assembles them. */
export interface MemoryParts {
  store: StoreView;
  embedder: Embedder;
  /** Where rows of repositories are: the same store, or one that is removed with the process. */
  repoStore: StoreView;
  /** Makes the repository verbs, once, unless it throws: their code is a third of what a first call would load. */
  repositories(): Promise<Repositories>;
  /** Reads texts of rows of repositories where the verbs about these are not used; absent: as those do. */
  repositoryTexts?: ((collection: Collection) => TextReader) | undefined;
  /** What becomes of credentials in texts that are put; they are stored by default. */
  secrets?: SecretGuard | undefined;
  /** Where the marks of briefs are; absent: none is marked. */
  marksFile?: string | undefined;
  /** This process as a node of a memory whose log is in a database. */
  replica?: Replica | undefined;
  /** Since when the database does not answer that has the memory's log; absent: there is none, or who asks knows it. */
  outage?: (() => { since: number } | undefined) | undefined;
  /** Releases what was opened for this memory. */
  dispose(): Promise<void>;
}

/** The verbs behind the tools and `svc mem`. */
export class Memory implements args.Verbs {
  private loadedRepositories: Promise<Repositories> | undefined;
  private loadedTerminal: Promise<Terminal> | undefined;

  private readonly puts: Puts;

  constructor(private readonly parts: MemoryParts) {
    this.puts = new Puts({ ...parts, open: (name) => this.open(name) });
  }

  async search(a: args.ArgumentsOf<"search">, c: args.CallContext): Promise<payload.SearchPayload> {
    const all = await this.allIfMeant(a, c);
    const collection = all?.searched ?? this.open(a.collection);
    const placeIn = continuation("search", a);
    if (isBlank(collection, a.query)) {
      const notice = all ? EMPTY_QUERY_TO_ALL : EMPTY_QUERY;
      return { collection: a.collection, ...echo(a.query, notice, a.max_bytes), hits: [] };
    }
    const times = a.with_times || c.days === true;
    const options = { topK: a.top_k, where: a.where, metadata: true, text: readsTexts(a), times };
    const project = projectOfSearch(a, c);
    const request = { ...options, recency: a.recency, scores: c.explain || a.with_text, project };
    const found = await searchTexts(collection, this.parts.embedder, a.query, request, c.signal);
    const { rows, notice } = found;
    const neighbours = a.with_neighbours ? neighboursOf(collection, rows) : undefined;
    const { missingTextNotice, weak, ...texts } = await this.hitTexts(collection, a, rows, true, c.weakTexts);
    const toHit = (row: Row) => ({
      ...(all ? splitId(row.id) : { id: row.id }),
      score: a.with_score ? row.score : undefined,
      ...timesOf(row, a, c),
      metadata: row.metadata,
      ...(weak.has(row.id) && { weak: true as const }),
      neighbours: neighbours?.(row),
      scores: c.explain ? scoresOf(row, found.meaningWeight) : undefined,
    });
    // Where no word is known, the notice about words says it.
    const fits = rows[0] && weak.has(rows[0].id) && found.known > 0 ? weakFirst(c.weakTexts) : undefined;
    const notices = joinNotices(". ", [this.away, notice, missingTextNotice, fits, all?.notice()]);
    const substitutes = c.substitutes && found.replaced.length > 0 ? { substitutes: found.replaced } : {};
    const head = { collection: a.collection, ...echo(a.query, notices, a.max_bytes), ...substitutes };
    const ranking = { rows, toHit, ...texts, textBytes: c.textBytes };
    return { ...head, ...fitHits("search", a, head, ranking, placeIn(rows)) };
  }

  async add(a: args.ArgumentsOf<"add">, c: args.CallContext): Promise<payload.AddPayload> {
    return this.puts.add(a, c);
  }

  async upsert(a: args.ArgumentsOf<"upsert">, c: args.CallContext): Promise<payload.UpsertPayload> {
    return this.puts.upsert(a, c);
  }

  async update(a: args.ArgumentsOf<"update">, c: args.CallContext): Promise<payload.UpdatePayload> {
    return this.puts.update(a, c);
  }

  async delete(a: args.ArgumentsOf<"delete">, c: args.CallContext): Promise<payload.DeletePayload> {
    const deleted = await this.puts.change(a.collection, (one) => one.delete(a.ids, watch(c)));
    return { deleted, collection: a.collection };
  }

  async create_collection(a: args.ArgumentsOf<"create_collection">): Promise<payload.CreateCollectionPayload> {
    refuseAll(a.name);
    const { profile } = this.parts.embedder;
    const { schema } = this.parts.store.create(a.name, {
      dim: profile.dimension,
      partitionBy: a.partition_by,
      filterColumns: a.filter_columns,
      lexical: a.lexical,
      embedderProfile: profile,
    });
    return { created: a.name, dim: schema.dim, partition_by: schema.keyName };
  }

  async list_collections(
    a: args.ArgumentsOf<"list_collections">,
    { manifestsOnly }: args.CallContext = {},
  ): Promise<payload.ListCollectionsPayload> {
    return listCollections(this.parts.store, a, manifestsOnly ? undefined : (name) => this.open(name));
  }

  async stats(a: args.ArgumentsOf<"stats">): Promise<payload.StatsPayload> {
    const { encoder } = this.parts.embedder;
    return { collection: a.collection, stats: await collectionStats(this.open(a.collection), encoder) };
  }

  async ids(a: args.ArgumentsOf<"ids">): Promise<payload.IdsPayload> {
    const collection = this.open(a.collection);
    const most = mostIds(a) ?? Number.POSITIVE_INFINITY;
    const limit = Math.min(a.limit ?? most, most);
    const behind = behindCursor("ids", a, () => collection.ids({ ...a, after: undefined, limit: undefined }));
    const ids = behind?.slice(0, limit) ?? collection.ids({ ...a, limit: Number.isFinite(limit) ? limit : undefined });
    const head = { collection: a.collection };
    return { ...head, ...fitNames("ids", a, head, "ids", ids) };
  }

  async count(a: args.ArgumentsOf<"count">): Promise<payload.CountPayload> {
    return { collection: a.collection, count: this.open(a.collection).count(a.where) };
  }

  async get(a: args.ArgumentsOf<"get">): Promise<payload.GetPayload> {
    const collection = this.open(a.collection);
    const texts = a.with_text ? await this.texts(collection) : undefined;
    const notice = joinNotices(". ", [this.away, texts?.noticeOf(a.ids)]);
    const head = {
      collection: a.collection,
      ...(notice === undefined ? {} : { notice: noticeWithin(notice, a.max_bytes) }),
    };
    // Metadata is read even where it is not requested: it locates a repository's text.
    const read = (ids: readonly string[]) =>
      collection.get(ids, { metadata: true, text: a.with_text, times: true }).map((row) => ({
        id: row.id,
        found: row.found,
        metadata: a.with_metadata ? row.metadata : undefined,
        text: texts?.textOf(row),
        ...row.times,
      }));
    return { ...head, ...fitRows(a, head, read) };
  }

  async search_lexical(
    a: args.ArgumentsOf<"search_lexical">,
    c: args.CallContext = {},
  ): Promise<payload.LexicalSearchPayload> {
    const collection = this.open(a.collection);
    const placeIn = continuation("search_lexical", a);
    const times = a.with_times || c.days === true;
    const detail = { metadata: true, text: readsTexts(a), explain: a.explain, times };
    const options = { topK: a.top_k, where: a.where, ...detail };
    const found = await searchWords(collection, a.query, { ...options, project: projectOfSearch(a, c) });
    const { rows, notice = isBlank(collection, a.query) ? EMPTY_QUERY : undefined } = found;
    const neighbours = a.with_neighbours ? neighboursOf(collection, rows) : undefined;
    const toHit = (row: Row) => ({
      id: row.id,
      score: row.score,
      ...timesOf(row, a, c),
      metadata: row.metadata,
      neighbours: neighbours?.(row),
      explain: a.explain ? contributions(row.terms) : undefined,
    });
    const { missingTextNotice, weak: _, ...texts } = await this.hitTexts(collection, a, rows);
    const head = {
      collection: a.collection,
      ...echo(a.query, joinNotices(". ", [this.away, notice, missingTextNotice]), a.max_bytes),
    };
    const ranking = { rows, toHit, ...texts, textBytes: c.textBytes };
    return { ...head, ...fitHits("search_lexical", a, head, ranking, placeIn(rows)) };
  }

  async compact(a: args.ArgumentsOf<"compact">, c: args.CallContext): Promise<payload.CompactPayload> {
    await this.open(a.collection).compact(watch(c));
    return { compacted: a.collection };
  }

  async build_ivf(a: args.ArgumentsOf<"build_ivf">, c: args.CallContext): Promise<payload.BuildIvfPayload> {
    const { collection, min_rows, target_recall } = a;
    const { buildIvf } = await import("../tune/ivf.ts");
    const { partitions, largest } = await buildIvf(this.open(collection), min_rows, target_recall, watch(c));
    return { ivf_built: collection, min_rows, target_recall, partitions, largest_partition: largest };
  }

  async build_lexical(a: args.ArgumentsOf<"build_lexical">, c: args.CallContext): Promise<payload.BuildLexicalPayload> {
    const { k1 = BM25.k1, b = BM25.b } = a;
    const collection = this.open(a.collection);
    requireLexical(collection);
    await collection.buildLexical(k1, b, watch(c));
    return { lexical_built: a.collection, k1, b };
  }

  async tune(a: args.ArgumentsOf<"tune">, c: args.CallContext): Promise<payload.TunePayload> {
    if (!a.dry_run) this.parts.store.refuseChanges();
    const { tune } = await import("../tune/tuner.ts");
    return { collection: a.collection, plan: await tune(this.open(a.collection), a.dry_run, watch(c)) };
  }

  async index_repo(
    a: args.ArgumentsOf<"index_repo">,
    c: args.CallContext,
  ): Promise<payload.IndexRepoPayload | payload.DryRunPayload> {
    return (await this.repositories()).index(a, c);
  }

  async repo_search(a: args.ArgumentsOf<"repo_search">, c: args.CallContext): Promise<payload.RepoSearchPayload> {
    return (await this.repositories()).search(a, c);
  }

  async workspace_info(
    _: args.ArgumentsOf<"workspace_info">,
    c: args.CallContext,
  ): Promise<payload.WorkspaceInfoPayload> {
    this.parts.store.requireUsable(); // what is not stored is not told either
    return (await this.repositories()).info(c);
  }

  /** The repository verbs, and what is indexed. They are loaded with the first call. @throws where they are refused */
  repositories(): Promise<Repositories> {
    this.loadedRepositories ??= this.parts.repositories().catch((error) => {
      this.loadedRepositories = undefined;
      throw error;
    });
    return this.loadedRepositories;
  }

  /** The verbs that are not tools. They are loaded with the first call. */
  terminal(): Promise<Terminal> {
    const open = (name: string) => this.open(name);
    const textReader = (collection: Collection) => this.texts(collection);
    this.loadedTerminal ??= import("./terminal.ts").then(
      ({ Terminal }) => new Terminal({ ...this.parts, open, textReader }),
    );
    return this.loadedTerminal;
  }

  /** What the folders of collections say without being opened. Damaged ones too. @param after only those after it */
  async overview({ after = "" }: { after?: string | undefined } = {}): Promise<payload.CollectionOverview[]> {
    const { store } = this.parts;
    return store.overview(store.listed().filter((name) => name > after));
  }

  /** Generations and nodes of a memory whose log is in a database; undefined for a memory of this machine alone. */
  async replication(): Promise<payload.ReplicationPayload | undefined> {
    const { replica } = this.parts;
    if (replica === undefined) return undefined;
    return { collections: replica.report().collections, node: replica.id, nodes: await replica.connected() };
  }

  /** Finishes running changes and closes everything. */
  async close(): Promise<void> {
    await (await this.loadedRepositories?.catch(() => undefined))?.close();
    await this.parts.store.close();
    await this.parts.dispose();
  }

  /** That answers may be old, where the database of this memory cannot be reached. */
  private get away(): string | undefined {
    return awayNotice(this.parts.outage?.());
  }

  /** All collections of texts, where "*" stands for them. */
  private async allIfMeant(a: args.ArgumentsOf<"search">, c: args.CallContext): Promise<AllCollections | undefined> {
    if (a.collection !== ALL || this.parts.store.find(ALL)) return undefined;
    return allCollections(this.parts, a.where, c.signal);
  }

  private open(name: string): Collection {
    const { store, repoStore } = this.parts;
    const found = (repoStore === store ? undefined : repoStore.find(name)) ?? store.find(name);
    if (found === undefined) throw missingCollection(name, new Set([store, repoStore]));
    return found;
  }

  /** A reader of rows' texts for one call: as stored, or from the repository's file. */
  private async texts(collection: Searched): Promise<TextReader> {
    if (collection instanceof Collections || collection.schema.keyName !== REPO_KEY) return STORED_TEXTS;
    return this.parts.repositoryTexts?.(collection) ?? (await this.repositories()).sources(collection);
  }

  /**
   * What hits show of their texts; without `with_text` only `weak`, which is empty then.
   * - `texts` reads the texts of hits. Texts that did not come with the ranking are read when shown.
   * - `passages` finds the best passage of each text.
   * - `missingTextNotice` says why some hits have no text.
   * - `weak` has the ids of weak hits.
   * @param marksWeak whether hits may be weak
   * @param showsWeak whether these have their texts
   */
  private async hitTexts(
    collection: Searched,
    a: { query: string; where?: Condition | undefined; with_text: boolean; top_k: number },
    ranked: readonly Row[],
    marksWeak = false,
    showsWeak = false,
  ) {
    const weak = new Set<string>();
    if (!a.with_text) return { weak };
    const { textOf, noticeOf } = await this.texts(collection);
    const textsOf = (rows: readonly Row[]) => {
      const stored = readsTexts(a) ? rows : collection.get(rows.map(idOf), { text: true });
      return rows.map(({ metadata }, i) => textOf({ metadata, text: stored[i]!.text }));
    };
    const passages = passagesOf(collection, a.query, a.where);
    if (marksWeak && textOf === STORED_TEXTS.textOf && this.parts.embedder.kernelModel !== undefined) {
      const first = ranked.slice(0, MARKED_MAX);
      const judged = textsOf(first).map((text = "") => (text.length > JUDGED_UNITS ? "" : text));
      const questionShares = passages(judged).map(({ questionShare }, i) => (judged[i] === "" ? 1 : questionShare));
      for (const [i, isWeak] of weakHits(first, questionShares).entries()) if (isWeak) weak.add(first[i]!.id);
    }
    const texts = (rows: readonly Row[]) =>
      textsOf(rows).map((text, i) => (weak.has(rows[i]!.id) && !showsWeak ? undefined : text));
    return { texts, passages, missingTextNotice: noticeOf(ranked.map(idOf)), weak };
  }
}

/** Of a collection whose texts are all stored. */
const STORED_TEXTS: TextReader = { textOf: (row) => row.text, noticeOf: () => undefined };

/** A longer text is not read to see whether it fits: UTF-16 units. Such a hit is not weak. */
const JUDGED_UNITS = 16 * 1024;
/** Only so many first hits can be weak: the texts of others are not read for it. */
const MARKED_MAX = 64;

/** What a score was made of. */
function scoresOf({ scores }: Row, meaningWeight: number | undefined): payload.ScoreParts | undefined {
  if (scores === undefined) return undefined;
  const listed = Object.entries(scores).filter(([, score]) => Number.isFinite(score));
  const weight = meaningWeight === undefined ? {} : { meaning_weight: meaningWeight };
  return { ...(Object.fromEntries(listed) as Partial<typeof scores>), ...weight };
}

/** A search that names a scope is about that one. */
const projectOfSearch = (a: { where?: Condition | undefined }, c: args.CallContext) =>
  a.where === undefined ? c.project : undefined;

const idOf = ({ id }: { id: string }) => id;

/** What a hit says of its row's times. */
function timesOf({ times }: Row, a: { with_times: boolean }, c: args.CallContext) {
  return { ...(c.days && times && { date: dayOf(times.updated) }), ...(a.with_times && times) };
}

/** Whether the texts come with the ranking, in one call: not those of a long one, of which few fit into an answer. */
function readsTexts(a: { with_text: boolean; top_k: number }): boolean {
  return a.with_text && a.top_k <= TEXTS_AT_ONCE_MAX;
}
