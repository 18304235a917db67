/** The words in the paths of a repository's files: how well a question fits each, and which ones it names. */
import { bytewise } from "./order.ts";

/** The terms of each text, as the lexical index has them, as hashes. */
export type TermsOf = (texts: readonly string[]) => readonly Uint32Array[];

/** A term of a question. */
export interface WeighedTerm {
  hash: number;
  weight: number;
}

/** A path in its parts. */
interface Part {
  /** The number of its folders' terms among those of all files. */
  folders: number;
  /** The distinct terms of its base name. */
  base: Uint32Array;
}

/** How well a question fits each path. */
export class PathFit {
  constructor(
    private readonly numbers: ReadonlyMap<string, number>,
    private readonly sums: Float64Array,
    private readonly all: number,
    private readonly parts: readonly Part[],
    private readonly asked: ReadonlyMap<number, number>,
  ) {}

  /** The share of the question's weight that is found in a path, 0 to 1. */
  share(path: string): number {
    const file = this.numbers.get(path);
    return file === undefined || this.all === 0 ? 0 : this.sums[file]! / this.all;
  }

  /** The share of a base name's terms that the question has, 0 to 1: 1 where the question says all of the name. */
  nameShare(path: string): number {
    const file = this.numbers.get(path);
    const base = file === undefined ? [] : this.parts[file]!.base;
    return base.length === 0 ? 0 : base.filter((hash) => this.asked.has(hash)).length / base.length;
  }

  /** The paths with the largest shares above 0, at most `most`; equal ones in the order of paths. */
  best(most: number, isAllowed: (path: string) => boolean): string[] {
    const found: { path: string; sum: number }[] = [];
    let least = 0;
    for (const [path, file] of this.numbers) {
      const sum = this.sums[file]!;
      if (sum <= 0 || sum < least || !isAllowed(path)) continue;
      let at = found.length;
      while (at > 0 && isBefore(path, sum, found[at - 1]!)) at--;
      if (at >= most) continue;
      found.splice(at, 0, { path, sum });
      if (found.length > most) found.pop();
      if (found.length === most) least = found[most - 1]!.sum;
    }
    return found.map(({ path }) => path);
  }
}

/**
 * The paths of one repository with their terms. All are read for each question, 2 ms for 8,000 that fit in part. Lists
 * of the paths of each term answer sooner, but 2,500 paths cost a process 29 ms of CPU before its first answer, and 18
 * so.
 */
export class PathIndex {
  readonly paths: readonly string[];
  private readonly numbers: ReadonlyMap<string, number>;
  private readonly parts: readonly Part[];
  private implemented: ReadonlySet<string> | undefined;

  /** @param folders the distinct terms of folders, which files share */
  constructor(
    readonly files: ReadonlyMap<string, Part>,
    readonly folders: readonly Uint32Array[],
  ) {
    this.paths = [...files.keys()];
    this.parts = [...files.values()];
    this.numbers = new Map(this.paths.map((path, file) => [path, file]));
  }

  /**
   * How well a question's terms fit each path: of a term in the base name counts all of its weight, of one in the
   * folders alone half. Sums are in the order of a path's terms.
   */
  fit(terms: readonly WeighedTerm[]): PathFit {
    const weights = new Map(terms.map(({ hash, weight }) => [hash, weight]));
    // Most terms of paths are none of the question's.
    const isPerhaps = new Uint8Array(1 << 16);
    for (const { hash } of terms) isPerhaps[hash & 0xffff] = 1;
    const halves = new Float64Array(this.folders.length);
    const inFolders = this.folders.map((hashes, folders) => {
      const found: number[] = [];
      for (const hash of hashes) {
        const weight = isPerhaps[hash & 0xffff] ? weights.get(hash) : undefined;
        if (weight === undefined) continue;
        found.push(hash);
        halves[folders]! += weight / 2;
      }
      return found;
    });
    const sums = new Float64Array(this.parts.length);
    for (let file = 0; file < sums.length; file++) {
      const { folders, base } = this.parts[file]!;
      let sum = halves[folders]!;
      for (const hash of base) {
        const weight = isPerhaps[hash & 0xffff] ? weights.get(hash) : undefined;
        if (weight !== undefined) sum += inFolders[folders]!.includes(hash) ? weight / 2 : weight;
      }
      sums[file] = sum;
    }
    let all = 0;
    for (const { weight } of terms) all += weight;
    return new PathFit(this.numbers, sums, all, this.parts, weights);
  }

  /** Whether a file only declares what another file of the repository implements. */
  isDeclaration(path: string): boolean {
    if (DECLARES.test(path)) return true;
    if (!HEADER.test(path)) return false;
    this.implemented ??= new Set(this.paths.filter((known) => IMPLEMENTS.test(known)).map(stemOf));
    return this.implemented.has(stemOf(path));
  }

  /**
   * The files that a path names: as it is, or as the end of theirs, the shortest first. Without a slash or a dot it is
   * perhaps a word: it names files in its own case only, others in any case where none is in its own.
   */
  namedBy(path: string): string[] {
    if (path === "") return [];
    const exact = this.paths.filter((known) => endsIn(known, path, (end) => end === path));
    if (exact.length > 0 || !/[./]/.test(path)) return exact.sort(shorter);
    const lower = path.toLowerCase();
    return this.paths.filter((known) => endsIn(known, path, (end) => end.toLowerCase() === lower)).sort(shorter);
  }
}

/** Files that declare types alone. */
const DECLARES = /\.(d\.[mc]?ts|pyi|mli|fsi)$/i;
/** Headers, which declare what a file of the same name implements, in whatever folder. */
const HEADER = /\.(h|hh|hpp|hxx|h\+\+)$/i;
const IMPLEMENTS = /\.(c|cc|cpp|cxx|c\+\+|m|mm)$/i;

function stemOf(path: string): string {
  return nameOf(path).replace(/\.[^.]*$/, "");
}

/** The indexes of the repositories that were asked last. */
export class PathIndexes {
  private readonly kept = new Map<string, PathIndex>();

  /** @param most repositories to keep: one of 8,000 files takes some megabytes */
  constructor(private readonly most: number) {}

  /** The index of a repository that has these files now. Only paths that it did not have before are tokenised. */
  of(repoId: string, paths: readonly string[], termsOf: TermsOf): PathIndex {
    const known = this.kept.get(repoId);
    const index = known && isSame(known.paths, paths) ? known : indexOf(paths, known, termsOf);
    // The one asked last is last.
    this.kept.delete(repoId);
    this.kept.set(repoId, index);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= this.most) break;
      this.kept.delete(oldest);
    }
    return index;
  }
}

function indexOf(paths: readonly string[], known: PathIndex | undefined, termsOf: TermsOf): PathIndex {
  const fresh = paths.filter((path) => !known?.files.has(path));
  const numbers = new Map<string, number>();
  for (const path of paths) if (!numbers.has(foldersOf(path))) numbers.set(foldersOf(path), numbers.size);
  const found = termsOf([...numbers.keys(), ...fresh.map(wordsOf)]).map(distinct);
  const bases = new Map(fresh.map((path, i) => [path, found[numbers.size + i]!]));
  const baseOf = (path: string) => bases.get(path) ?? known!.files.get(path)!.base;
  const files = new Map(paths.map((path) => [path, { folders: numbers.get(foldersOf(path))!, base: baseOf(path) }]));
  return new PathIndex(files, found.slice(0, numbers.size));
}

/** What names of tests have before or after the name of what they test. */
const OF_TEST =
  /^(?:tests?|specs?)[._-]|[._-](?:tests?|specs?|unittest)(?=\.)|(?<=[a-z0-9])(?:Tests?|TestCase|Specs?)(?=\.)|^Test(?=[A-Z])/;

/** A base name and, of a test, the name of what it tests: as one word `JsonReaderTest` has no term of `JsonReader`. */
function wordsOf(path: string): string {
  const name = nameOf(path);
  const tested = name.replace(OF_TEST, "");
  return tested === name ? name : `${name} ${tested}`;
}

function isBefore(path: string, sum: number, other: { path: string; sum: number }): boolean {
  return sum > other.sum || (sum === other.sum && bytewise(path, other.path) < 0);
}

function distinct(hashes: Uint32Array): Uint32Array {
  // Few are repeated, and a copy of each took longer than all else.
  for (let at = 1; at < hashes.length; at++)
    if (hashes.indexOf(hashes[at]!) < at) return hashes.filter((hash, i) => hashes.indexOf(hash) === i);
  return hashes;
}

/** Whether the end of a path, as long as `path` and begun at a folder or a name, is as asked. */
function endsIn(known: string, path: string, isAsked: (end: string) => boolean): boolean {
  const at = known.length - path.length;
  return at >= 0 && (at === 0 || known[at - 1] === "/") && isAsked(known.slice(at));
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((path, i) => path === b[i]);
}

function shorter(a: string, b: string): number {
  return a.length - b.length || bytewise(a, b);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function foldersOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
