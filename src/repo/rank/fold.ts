/** Windows as files: each as good as its best window and what its path adds. */

/** A window of a file. */
export interface Window {
  path: string;
  /** In the order of insertion; no two windows share one. */
  birth: number;
  score: number;
}

/** What a file has beside its windows. */
export interface OfFile {
  /** Files with a lower one come first, whatever their scores. */
  place: number;
  /** Is added to the score. */
  bonus: number;
}

/** A file with its windows, best first. */
export interface Folded<T extends Window> {
  path: string;
  windows: T[];
}

/** Windows by file, best first, equal ones in the order of insertion. */
export function folded<T extends Window>(windows: readonly T[], ofFile: (path: string) => OfFile): Folded<T>[] {
  const files = new Map<string, Folded<T> & OfFile>();
  for (const window of [...windows].sort(better)) {
    const { path } = window;
    const file = files.get(path);
    if (file) file.windows.push(window);
    else files.set(path, { path, windows: [window], ...ofFile(path) });
  }
  const scored = [...files.values()].map(({ path, windows, place, bonus }) => {
    const [{ score, birth }] = windows as [T, ...T[]];
    return { path, windows, place, birth, score: score + bonus };
  });
  return scored.sort((a, b) => a.place - b.place || better(a, b)).map(({ path, windows }) => ({ path, windows }));
}

function better(a: { score: number; birth: number }, b: { score: number; birth: number }): number {
  return b.score - a.score || a.birth - b.birth;
}
