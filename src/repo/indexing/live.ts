/**
 * The rows that a collection has of a repository, by the ids that lie in it: read where the fingerprints do not say what
 * there is, because another writer changed the rows or the fingerprints are missing.
 */
import { idBase, parseRowId } from "../chunks/identity.ts";
import type { RowSink } from "../fingerprints/row-sink.ts";

/** Numbers of the live chunks by the base of their ids. */
export class LiveRows {
  private constructor(
    private readonly repoId: string,
    private readonly numbers: ReadonlyMap<string, readonly number[]>,
  ) {}

  static async read(sink: RowSink, repoId: string): Promise<LiveRows> {
    const found = new Map<string, number[]>();
    for (const id of await sink.idsOf(repoId)) {
      const parsed = parseRowId(repoId, id);
      if (!parsed) continue;
      const numbers = found.get(parsed.base);
      if (numbers) numbers.push(parsed.chunk);
      else found.set(parsed.base, [parsed.chunk]);
    }
    return new LiveRows(repoId, found);
  }

  get isEmpty(): boolean {
    return this.numbers.size === 0;
  }

  /** Numbers of a file's chunks. */
  of(path: string): readonly number[] {
    return this.numbers.get(idBase(this.repoId, path)) ?? [];
  }

  /** Whether a file has the chunks 0 to `chunks`, exclusive, and no others. */
  hasExactly(path: string, chunks: number): boolean {
    const numbers = this.of(path);
    return numbers.length === chunks && numbers.every((chunk) => chunk < chunks);
  }

  /** The rows of files other than these: the base of their ids, the path in it, of which the middle may be replaced. */
  *others(paths: Iterable<string>): Generator<{ base: string; path: string; numbers: readonly number[] }> {
    const known = new Set([...paths].map((path) => idBase(this.repoId, path)));
    for (const [base, numbers] of this.numbers) {
      if (!known.has(base)) yield { base, path: base.slice(this.repoId.length + 1), numbers };
    }
  }
}
