import type { IgnoreRules } from "./ignore.ts";

/** Paths of one directory or of one answer of git, in the order of their strings. Those that end in a slash are directories to enter. */
export class Listing {
  private next = 0;

  /** @param rules what is ignored there; absent where git has seen to it */
  constructor(
    private readonly paths: string[],
    readonly rules?: IgnoreRules,
  ) {
    paths.sort();
  }

  /** The path whose turn it is; undefined at the end. */
  get path(): string | undefined {
    return this.paths[this.next];
  }

  step(): void {
    this.next++;
  }

  /** Puts a path in its place, which must lie ahead. */
  insert(path: string): void {
    const at = this.placeOf(path);
    if (this.paths[at] !== path) this.paths.splice(at, 0, path);
  }

  rewind(): void {
    this.next = 0;
  }

  /** Passes over what stands before a path, and over the path itself unless it is a directory. */
  skipPast(path: string): void {
    // A directory may be listed as if it were a file, as a submodule is: what is in it stands behind, though its name stands before.
    for (let length = 1; length < path.length; length++) {
      const before = path.slice(0, length);
      if (!before.endsWith("/") && this.paths[this.placeOf(before)] === before) this.insert(`${before}/`);
    }
    this.next = this.placeOf(path);
    if (this.path === path) this.next++;
    const before = this.paths[this.next - 1];
    if (before?.endsWith("/") && path.startsWith(before)) this.next--;
  }

  /** Where a path stands, or would. */
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
