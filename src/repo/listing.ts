import type { IgnoreRules } from "./ignore.ts";

/**
 * Paths of one directory or of one git listing, in string order. Those that end in a slash are directories to enter.
 */
export class Listing {
  private next = 0;

  /** @param rules the ignore rules; absent where git has applied them */
  constructor(
    private readonly paths: string[],
    readonly rules?: IgnoreRules,
  ) {
    paths.sort();
  }

  /** The next path; undefined at the end. */
  get path(): string | undefined {
    return this.paths[this.next];
  }

  step(): void {
    this.next++;
  }

  /** Inserts a path, whose position must lie ahead. */
  insert(path: string): void {
    const at = this.placeOf(path);
    if (this.paths[at] !== path) this.paths.splice(at, 0, path);
  }

  rewind(): void {
    this.next = 0;
  }

  /** Skips all paths before a path, and the path itself unless it is a directory. */
  skipPast(path: string): void {
    // A directory may be listed like a file, as a submodule is: its name sorts before the path, its entries after it.
    for (let length = 1; length < path.length; length++) {
      const before = path.slice(0, length);
      if (!before.endsWith("/") && this.paths[this.placeOf(before)] === before) this.insert(`${before}/`);
    }
    this.next = this.placeOf(path);
    if (this.path === path) this.next++;
    const before = this.paths[this.next - 1];
    if (before?.endsWith("/") && path.startsWith(before)) this.next--;
  }

  /** The position of a path, or where it would be inserted. */
  private placeOf(path: string): number {
    let [low, high] = [0, this.paths.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.paths[middle]! < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The directory of a relative path, `""` for the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
