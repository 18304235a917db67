/** The words in the paths of a repository's files: how well a question fits each, and which ones it names. */

/** The terms of each text, as the lexical index has them, as hashes. */
export type TermsOf = (texts: readonly string[]) => readonly Uint32Array[];

/** A term of a question. */
export interface WeighedTerm {
  hash: number;
  weight: number;
}

/** The terms of a path. */
interface PathTerms {
  folders: Uint32Array;
  base: Uint32Array;
}

/** How well a question fits each path. */
export class PathFit {
  constructor(
    private readonly numbers: ReadonlyMap<string, number>,
    private readonly sums: Float64Array,
    private readonly all: number,
  ) {}

  /** The share of the question's weight that is found in a path, 0 to 1. */
  share(path: string): number {
    const file = this.numbers.get(path);
    return file === undefined || this.all === 0 ? 0 : this.sums[file]! / this.all;
  }

  /** The paths with the largest shares above 0, at most `most`: ties in the order of paths. */
  best(most: number, isAllowed: (path: string) => boolean): string[] {
    const found: { path: string; sum: number }[] = [];
    for (const [path, file] of this.numbers) {
      const sum = this.sums[file]!;
      const last = found.length < most ? undefined : found.at(-1);
      const isBetter = (than: (typeof found)[0]) => sum > than.sum || (sum === than.sum && path < than.path);
      if (sum === 0 || most === 0 || (last && !isBetter(last)) || !isAllowed(path)) continue;
      let at = found.length;
      while (at > 0 && isBetter(found[at - 1]!)) at--;
      found.splice(at, 0, { path, sum });
      if (found.length > most) found.pop();
    }
    return found.map(({ path }) => path);
  }
}

/** The paths of one repository by their terms and their names. */
export class PathIndex {
  private readonly numbers: ReadonlyMap<string, number>;
  /** By term, where it occurs: a file's number twice, and one more where it is in the base name. */
  private readonly places = new Map<number, number[]>();
  /** Paths by their base name in lower case. */
  private readonly byName = new Map<string, string[]>();

  /** @param terms the terms of each path, in the order of `paths` */
  constructor(
    readonly paths: readonly string[],
    terms: readonly PathTerms[],
  ) {
    this.numbers = new Map(paths.map((path, file) => [path, file]));
    for (const [file, path] of paths.entries()) {
      append(this.byName, nameOf(path).toLowerCase(), path);
      const { folders, base } = terms[file]!;
      const inBase = new Set(base);
      for (const hash of inBase) append(this.places, hash, file * 2 + 1);
      for (const hash of new Set(folders)) if (!inBase.has(hash)) append(this.places, hash, file * 2);
    }
  }

  /**
   * How well a question's terms fit each path: of a term in the base name counts all of its weight, of one in the
   * folders half. Sums are in the order of `terms`.
   */
  fit(terms: readonly WeighedTerm[]): PathFit {
    const sums = new Float64Array(this.paths.length);
    let all = 0;
    for (const { hash, weight } of terms) {
      all += weight;
      for (const place of this.places.get(hash) ?? []) sums[place >> 1]! += place & 1 ? weight : weight / 2;
    }
    return new PathFit(this.numbers, sums, all);
  }

  /**
   * The files that a path names: as it is, or as the end of theirs, the shortest first. Without a slash or a dot it is
   * perhaps a word: it names files in its own case only, others in any case where none is in its own.
   */
  named(path: string): string[] {
    const same = this.byName.get(nameOf(path).toLowerCase()) ?? [];
    const ends = (fold: (text: string) => string) =>
      same.filter((known) => `/${fold(known)}`.endsWith(fold(`/${path}`)));
    const exact = ends((text) => text);
    const found = exact.length > 0 || !/[./]/.test(path) ? exact : ends((text) => text.toLowerCase());
    return found.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  }
}

/** The indexes of the repositories that were asked last. */
export class PathIndexes {
  private readonly kept = new Map<string, { index: PathIndex; terms: ReadonlyMap<string, PathTerms> }>();

  /** @param most repositories to keep: one of 8,000 files takes some megabytes */
  constructor(private readonly most: number) {}

  /** The index of a repository that has these files now. Only paths that it did not have before are tokenised. */
  of(repoId: string, paths: readonly string[], termsOf: TermsOf): PathIndex {
    const known = this.kept.get(repoId);
    const entry = known && isSame(known.index.paths, paths) ? known : made(paths, known?.terms, termsOf);
    // The one asked last is last.
    this.kept.delete(repoId);
    this.kept.set(repoId, entry);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= this.most) break;
      this.kept.delete(oldest);
    }
    return entry.index;
  }
}

function made(paths: readonly string[], known: ReadonlyMap<string, PathTerms> | undefined, termsOf: TermsOf) {
  const fresh = paths.filter((path) => !known?.has(path));
  const found = termsOf(fresh.flatMap((path) => [path.slice(0, path.lastIndexOf("/") + 1), nameOf(path)]));
  const added = new Map(fresh.map((path, i) => [path, { folders: found[i * 2]!, base: found[i * 2 + 1]! }]));
  const terms = new Map(paths.map((path) => [path, known?.get(path) ?? added.get(path)!]));
  return { index: new PathIndex(paths, [...terms.values()]), terms };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((path, i) => path === b[i]);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
