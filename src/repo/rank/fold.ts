/** Windows as files: each as good as its best window and what its path adds. */
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

/** Windows by file, best first, equal ones in the order of their positions. */
export function folded<T extends Window>(windows: readonly T[], ofFile: (path: string) => OfFile): Folded<T>[] {
  const files = new Map<string, Folded<T> & OfFile>();
  for (const window of [...windows].sort((a, b) => b.score - a.score || byPosition(a, b))) {
    const { path } = window;
    const file = files.get(path);
    if (file) file.windows.push(window);
    else files.set(path, { path, windows: [window], ...ofFile(path) });
  }
  const scored = [...files.values()].map(({ path, windows, tier, bonus }) => {
    return { path, windows, tier, score: windows[0]!.score + bonus };
  });
  return scored
    .sort((a, b) => a.tier - b.tier || b.score - a.score || bytewise(a.path, b.path))
    .map(({ path, windows }) => ({ path, windows }));
}
