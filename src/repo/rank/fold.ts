/** Windows as files: each as good as its best window, shares of its next ones, and what its path adds. */
import { byPosition, bytewise, type WindowPosition } from "./order.ts";

/** A window of a file. */
export interface Window extends WindowPosition {
  score: number;
}

/** What a file has beside its windows. */
export interface OfFile {
  /** Files with a lower one come first, whatever their scores. */
  tier: number;
  /** Is added to the score. */
  bonus: number;
}

/** A file with its windows, best first. */
export interface Folded<T extends Window> {
  path: string;
  windows: T[];
}

/** Windows of a file that count beside its best one. */
const FURTHER_MAX = 3;
/** A window counts as far as its score is above this: nearly all candidates are. */
const FURTHER_FROM = -1;

/**
 * Windows by file, best first, equal ones in the order of their positions.
 * @param share what the second window of a file adds, and to the power of two what the third adds, and so on
 */
export function folded<T extends Window>(
  windows: readonly T[],
  ofFile: (path: string) => OfFile,
  share: number,
): Folded<T>[] {
  const files = new Map<string, Folded<T> & OfFile>();
  for (const window of [...windows].sort((a, b) => b.score - a.score || byPosition(a, b))) {
    const { path } = window;
    const file = files.get(path);
    if (file) file.windows.push(window);
    else files.set(path, { path, windows: [window], ...ofFile(path) });
  }
  const scored = [...files.values()].map(({ path, windows, tier, bonus }) => {
    return { path, windows, tier, score: scoreOf(windows, share) + bonus };
  });
  return scored
    .sort((a, b) => a.tier - b.tier || b.score - a.score || bytewise(a.path, b.path))
    .map(({ path, windows }) => ({ path, windows }));
}

/** @param windows of one file, best first */
function scoreOf(windows: readonly Window[], share: number): number {
  let score = windows[0]!.score;
  const further = windows.slice(1, 1 + FURTHER_MAX);
  for (const [i, window] of further.entries()) score += share ** (i + 1) * Math.max(0, window.score - FURTHER_FROM);
  return score;
}
