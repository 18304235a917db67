/** What all pages of a collection show of it. */
import { REPO_KEY } from "../../checks/names.ts";
import type { FilterValue } from "../../checks/values.ts";
import { whyUnreadable } from "../../store/overview.ts";
import type { Site } from "./site.ts";
import { call } from "./verb.ts";

export interface CollectionAbout {
  readonly name: string;
  readonly rows: number;
  /** Columns that a filter may name. */
  readonly columns: readonly string[];
  /** The column that groups rows, and its values with the most rows; a memory elsewhere has no such list. */
  readonly groupedBy?: string | undefined;
  readonly groups: readonly (FilterValue | null)[];
  readonly description?: string | undefined;
  /** It holds the index of a repository, whose rows follow its files: they are not edited. */
  readonly isRepository: boolean;
  /** Why it cannot be read. */
  readonly unreadable?: string | undefined;
}

/** @throws ValueError for a collection that does not exist */
export async function collectionAbout(site: Site, name: string): Promise<CollectionAbout> {
  if (site.local === undefined) {
    const { stats } = await call(site, "stats", { collection: name });
    const columns = (stats.filter_columns ?? []) as string[];
    const { key_name: groupedBy, external_ids: rows } = stats;
    return { name, rows, columns, groupedBy, groups: [], isRepository: groupedBy === REPO_KEY };
  }
  const detail = await (await site.local.terminal()).detail({ collection: name });
  const { rows = 0, filter_columns = [], partition_by: groupedBy, partitions = [], description } = detail;
  const columns = groupedBy === undefined ? [] : [groupedBy, ...filter_columns.filter((one) => one !== groupedBy)];
  return {
    name,
    rows,
    columns,
    groupedBy,
    groups: partitions.map(({ key }) => key),
    description,
    isRepository: groupedBy === REPO_KEY,
    unreadable: whyUnreadable(detail)?.[1],
  };
}
