/** Why a collection cannot be read, as far as its folder shows. */

/** At most one of these, with a sentence. */
export interface Unreadable {
  /** What is wrong with its files. */
  damaged?: string;
  /** An interrupted first save left its folder, which holds no row: how it is removed. */
  leftover?: string;
  /** Its format is of an earlier version, or of a later one, than this program's: both versions, and what helps. */
  older?: string;
  newer?: string;
}

/** The reason as a word, and its sentence; undefined where there is none. */
export function whyUnreadable({
  damaged,
  leftover,
  older,
  newer,
}: Unreadable): [word: string, why: string] | undefined {
  const found = Object.entries({ damaged, leftover, older, newer }).find(([, why]) => why !== undefined);
  return found as [string, string] | undefined;
}
