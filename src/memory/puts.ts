/** The verbs that put texts: svc_add, svc_upsert and svc_update. */
import { fitDuplicates, rowsOf, type SameTexts } from "../answers/duplicates.ts";
import { fitMadeIds } from "../answers/lists.ts";
import { fitSimilar, SIMILAR_ADVICE, type SimilarTexts } from "../answers/similar.ts";
import { cut } from "../answers/sizes.ts";
import { DEFAULT_PARTITION_KEY } from "../checks/names.ts";
import type { GivenRows, SecretGuard } from "../secrets/policy.ts";
import type { Holder, Occurrences } from "../secrets/stored.ts";
import type { Collection } from "../store/collection.ts";
import { isAltered } from "../store/failure.ts";
import type { StoreView } from "../store/limited/view.ts";
import type { Embedder } from "../texts/embedder.ts";
import { joinNotices } from "../texts/notices.ts";
import { idsOrNew, type PutTexts, putTexts, type TextRows, updateTexts } from "../texts/put.ts";
import { withStoredScopes } from "../texts/replaced-metadata.ts";
import { type NearCopy, SIMILAR_TEXTS_MAX, similarRows } from "../texts/similar/similar.ts";
import { refuseAll } from "./missing-collection.ts";
import type * as payload from "./payloads.ts";
import * as args from "./requests.ts";

/** What share of an answer its notice may take: the answer has little else. */
const NOTICE_SHARE = 1 / 3;

/** What these verbs need of a memory. */
export interface PutParts {
  readonly store: StoreView;
  readonly embedder: Embedder;
  /** What becomes of credentials in texts; they are stored by default. */
  readonly secrets?: SecretGuard | undefined;
  /** A collection, of a repository too. @throws ValueError for one that does not exist */
  readonly open: (name: string) => Collection;
}

/** Puts texts into the collections of one memory. */
export class Puts {
  constructor(private readonly parts: PutParts) {}

  async add(given: args.ArgumentsOf<"add">, c: args.CallContext): Promise<payload.AddPayload> {
    const { rows: a, ...said } = await this.guarded(given);
    const ids = idsOrNew(a.ids, a.texts.length);
    const near = await this.similar({ ...a, ids, scope: c.project });
    const secrets = this.looking(a);
    const put = await this.put("add", a, ids, DEFAULT_PARTITION_KEY, c, secrets?.begin);
    const seen = await this.seen(a, ids, near, secrets, put);
    const head = { added: put.inserted, collection: a.collection, ...said, ...seen };
    return { ...head, ...(a.ids ? {} : fitMadeIds(a.max_bytes, head, rowsOf(ids, put))) };
  }

  async upsert(given: args.ArgumentsOf<"upsert">, c: args.CallContext): Promise<payload.UpsertPayload> {
    const { rows: a, ...said } = await this.guarded(given);
    const ids = idsOrNew(a.ids, a.texts.length);
    const near = await this.similar({ ...a, ids, scope: c.project });
    const secrets = this.looking(a);
    const put = await this.put(a.ids ? "upsert" : "add", a, ids, a.partition_by, c, secrets?.begin);
    const upserted = put.inserted + put.replaced;
    const seen = await this.seen(a, ids, near, secrets, put);
    const head = { upserted, collection: a.collection, ...said, ...seen };
    return { ...head, ...(a.ids ? {} : fitMadeIds(a.max_bytes, head, rowsOf(ids, put))) };
  }

  async update(given: args.ArgumentsOf<"update">, c: args.CallContext): Promise<payload.UpdatePayload> {
    const { rows: a, ...said } = await this.guarded(given);
    const rows = { ...a, scope: c.project };
    const near = await this.similar(rows, true);
    const updated = await this.change(a.collection, (one) =>
      updateTexts(one, this.parts.embedder, rows, args.watch(c)),
    );
    return { updated, collection: a.collection, ...said, ...(await this.seen(a, a.ids, near, this.looking(a))) };
  }

  /** Looks for credentials in rows that are stored as they are; undefined if credentials are masked or refused before. */
  private looking(rows: GivenRows): SecretsLook | undefined {
    return this.parts.secrets ? undefined : new SecretsLook(rows);
  }

  /** Rows as they may be stored, and how many credentials are masked in them where there is one. */
  private async guarded<T extends { texts: readonly string[] }>(rows: T): Promise<{ rows: T; masked?: number }> {
    const { secrets } = this.parts;
    if (secrets === undefined) return { rows };
    const { guardSecrets } = await import("../secrets/policy.ts");
    const { rows: guarded, masked } = guardSecrets(secrets, rows);
    return masked === 0 ? { rows: guarded } : { rows: guarded, masked };
  }

  /** Stored rows that nearly have the texts of a call. A search that fails must not keep a text from being stored. */
  private async similar(
    rows: { collection: string; supersedes?: readonly string[] | undefined } & TextRows,
    keepsMetadata = false,
  ): Promise<NearCopy[]> {
    const { store, embedder } = this.parts;
    try {
      const collection = rows.texts.length > SIMILAR_TEXTS_MAX ? undefined : store.find(rows.collection);
      if (collection === undefined) return [];
      const scoped = withStoredScopes(collection, rows, keepsMetadata);
      return await similarRows(collection, embedder, scoped, keepsMetadata);
    } catch {
      return [];
    }
  }

  /** What the answer says about the rows that are stored now. */
  private async seen(
    a: { collection: string; max_bytes: number } & GivenRows,
    ids: readonly string[],
    near: readonly NearCopy[],
    secrets: SecretsLook | undefined,
    put?: PutTexts,
  ): Promise<SameTexts & SimilarTexts & payload.Superseded & payload.StoredNotice> {
    const stored = put ? rowsOf(ids, put) : ids;
    const similar = fitSimilar(a.max_bytes, ids, near, put?.duplicates);
    const credentials = await secrets?.notice(a.collection, stored);
    const notice = joinNotices(". ", [put?.notice, credentials, similar.similar && SIMILAR_ADVICE]);
    return {
      ...(notice === undefined ? {} : { notice: a.max_bytes === 0 ? notice : cut(notice, a.max_bytes * NOTICE_SHARE) }),
      ...(put && put.superseded > 0 ? { superseded: put.superseded } : {}),
      ...(put ? fitDuplicates(a.max_bytes, ids, put) : {}),
      ...similar,
    };
  }

  /** A put into a collection that is created where absent; a put that fails leaves no empty collection behind. */
  private async put(
    mode: "add" | "upsert",
    a: {
      collection: string;
      texts: readonly string[];
      metadata?: TextRows["metadata"];
      skip_duplicates?: boolean | undefined;
      supersedes?: readonly string[] | undefined;
    },
    ids: readonly string[],
    partitionBy: string,
    c: args.CallContext,
    whileSaving: SecretsLook["begin"] | undefined,
  ): Promise<PutTexts> {
    const { store, embedder } = this.parts;
    const rows = { ...a, ids, scope: c.project };
    const put = (collection: Collection) =>
      putTexts(collection, embedder, mode, rows, args.watch(c), a.skip_duplicates, whileSaving);
    if (store.find(a.collection)) return this.change(a.collection, put);
    refuseAll(a.collection);
    const { profile } = embedder;
    const schema = { dim: profile.dimension, partitionBy, embedderProfile: profile };
    return store.createWith(a.collection, schema, put);
  }

  /**
   * Changes a collection, and once more where another process altered it while the change waited: nothing of that one
   * was written, and the second one is made in the collection as it is now.
   */
  async change<T>(name: string, work: (collection: Collection) => Promise<T>): Promise<T> {
    const collection = this.parts.open(name);
    try {
      return await work(collection);
    } catch (error) {
      if (!isAltered(error)) throw error;
      this.parts.store.forget(collection);
      return work(this.parts.open(name));
    }
  }
}

/** Looks for credentials in rows while these are saved, or else when the notice is made. */
class SecretsLook {
  private found: Promise<readonly Holder[]> | undefined;

  constructor(private readonly rows: GivenRows) {}

  readonly begin = (occurrences?: Occurrences): void => {
    // The module is loaded with the first text.
    this.found ??= import("../secrets/stored.ts").then(({ holders }) => holders(this.rows, occurrences));
  };

  /** @param ids of the stored rows */
  async notice(collection: string, ids: readonly string[]): Promise<string | undefined> {
    this.begin();
    const { storedSecretsNotice } = await import("../secrets/stored.ts");
    return storedSecretsNotice(collection, (await this.found)!, ids);
  }
}
