/** The interface of a collection that the repositories in it use. */
import type { Pack } from "../../store/packer.ts";
import type { Deadline } from "../files/deadline.ts";

/** The live rows of one repository: others do not change it, nor does how they are stored. */
export interface RowsState {
  count: number;
  digest: string;
}

/** Rows to put and ids to delete. */
export interface Change {
  deleteIds: string[];
  /** In the order of their files. The sink takes them out of the list: each is released once it is put. */
  rows: Pack[];
  /** Asked when no other process can change rows: where it is false, nothing is changed. Absent: it is true. */
  isCurrent?: () => boolean;
  /** Whether the rows' `like` still holds; asked when no other process can change rows. Absent: it does. */
  areLike?: () => boolean;
  /** Whether the run ends a transaction here because it is full: most likely more follow. */
  isFull?: boolean;
  /**
   * The repository's note from then on, undefined for none; called once the rows are changed and before they are saved.
   * @param rows as they are then; undefined where more transactions follow
   * @param generation of that save
   */
  note?: (rows: RowsState | undefined, generation: number) => unknown;
  /** Bounds how long another process's change is waited for: a TimeoutError. What has begun is not interrupted. */
  deadline?: Deadline;
}

/** The interface of a collection that indexing needs. Queries see other processes' saves. */
export interface RowSink {
  /** The collection's filter columns, of which rows have a key each. */
  readonly columns: readonly string[];
  /** Whether the collection was ever saved. */
  readonly isSaved: boolean;
  /** The number of its last save. */
  readonly generation: number;
  /** The notes of its repositories, by repository. */
  notes(): ReadonlyMap<string, unknown>;
  noteOf(repoId: string): unknown;
  /** The live rows whose `repo_id` column equals the value. */
  stateOf(repoId: string): RowsState;
  /**
   * One durable transaction of rows of one repository: deletions, upserts and its note become visible together. Unknown
   * ids to delete are ignored. Undefined where the change is not current.
   */
  replace(repoId: string, change: Change): Promise<{ deleted: number; upserted: number } | undefined>;
  /** Live ids whose `repo_id` column equals the value. */
  idsOf(repoId: string): Promise<string[]>;
  /** About how many milliseconds the upkeep will take that follows a run which puts so many rows. Absent: none. */
  msAfter?(rows: number): number;
}
