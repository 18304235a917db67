/** What a collection is and holds, for the page of its settings. */
import { REPO_COLLECTION, REPO_KEY } from "../../checks/names.ts";
import { OSError, ValueError } from "../../errors.ts";
import type { DetailPayload } from "../../memory/detail.ts";
import { whyUnreadable } from "../../store/overview.ts";
import type { Site } from "./site.ts";
import { call } from "./verb.ts";

export interface CollectionFacts {
  readonly detail: DetailPayload;
  /** Why it cannot be read: a word, and a sentence. */
  readonly unreadable: readonly [word: string, why: string] | undefined;
  /** Counters of `svc mem stats`. */
  readonly stats: Readonly<Record<string, unknown>>;
  /** Rows by the day of their creation. */
  readonly days: { readonly first: number; readonly rows: readonly number[] } | undefined;
  /** Whether its rows are those of repositories. */
  readonly isOfRepositories: boolean;
  /** Whether it may get another name. */
  readonly isNamedFreely: boolean;
}

/** @throws ValueError for a collection that does not exist */
export async function factsOf(site: Site, name: string): Promise<CollectionFacts> {
  if (site.local === undefined) return factsElsewhere(site, name);
  const terminal = await site.local.terminal();
  try {
    const detail = await terminal.detail({ collection: name });
    const common = ofDetail(detail);
    if (common.unreadable !== undefined) return common;
    const { stats } = await call(site, "stats", { collection: name });
    return { ...common, stats, days: await terminal.days({ collection: name, now: site.now() }) };
  } catch (error) {
    // Damage that its folder does not show: the collection can still be dropped.
    const found = error instanceof OSError && (await site.local.overview()).find((one) => one.name === name);
    if (!found) throw error;
    return ofDetail({ ...found, damaged: (error as OSError).message });
  }
}

function ofDetail(detail: DetailPayload): CollectionFacts {
  return {
    detail,
    unreadable: whyUnreadable(detail),
    stats: {},
    days: undefined,
    isOfRepositories: detail.partition_by === REPO_KEY,
    isNamedFreely: detail.name !== REPO_COLLECTION,
  };
}

/** The same of a server: the collection's counters, and its entry in the list. */
async function factsElsewhere(site: Site, name: string): Promise<CollectionFacts> {
  const [{ stats }, list] = await Promise.all([
    call(site, "stats", { collection: name }),
    call(site, "list_collections", {}),
  ]);
  const listed = list.details?.find((one) => one.name === name);
  const { scopes, scopes_omitted = 0, description } = listed ?? {};
  const partitions = Object.entries(scopes ?? {}).map(([key, rows]) => ({ key, rows }));
  const detail = {
    name,
    rows: stats.external_ids,
    bytes: numberIn(stats, "disk_bytes"),
    partition_by: stats.key_name,
    filter_columns: stats.filter_columns as string[] | undefined,
    description,
    partitions,
    partition_count: partitions.length + scopes_omitted,
  } as DetailPayload;
  const isOfRepositories = stats.key_name === REPO_KEY;
  return { detail, unreadable: undefined, stats, days: undefined, isOfRepositories, isNamedFreely: false };
}

function numberIn(stats: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = stats[name];
  return typeof value === "number" ? value : undefined;
}

/** @throws ValueError with the sentence, where the name that was typed is not the collection's */
export function requireNamed(typed: string, name: string): void {
  if (typed === name) return;
  throw new ValueError(
    typed === ""
      ? "type the collection's name, so that nothing is dropped by mistake"
      : "that is not the collection's name: nothing was dropped",
  );
}
