/** The rules of ignore files: of one file, and of all that apply in a directory. */
import { bytesOf, compile, folded, matches, type Pattern } from "./pattern.ts";

interface Placed {
  pattern: Pattern;
  /** Its place in the file: the last match counts. */
  place: number;
}

/** The patterns of one ignore file. */
export class IgnoreFile {
  /**
   * Places by literal pattern, so that a list of any length costs one look-up. The last place for a literal counts:
   * `1` at its end marks what only directories match.
   */
  private readonly names = new Map<string, number>();
  private readonly paths = new Map<string, number>();
  private readonly others: Placed[] = [];
  private readonly negated: boolean[] = [];

  /** @param text the file's bytes as a binary string @param foldsCase `core.ignoreCase` */
  constructor(
    text: string,
    private readonly foldsCase: boolean,
  ) {
    for (const line of linesOf(text)) {
      const pattern = compile(line, foldsCase);
      if (!pattern) continue;
      const place = this.negated.length;
      this.negated.push(pattern.negated);
      if (pattern.steps || pattern.isSuffix) this.others.push({ pattern, place });
      else {
        const literals = pattern.anchored ? this.paths : this.names;
        // A slash in front keeps the two kinds of key apart: no name or path begins with one.
        literals.set((pattern.directoryOnly ? "/" : "") + pattern.literal, place);
      }
    }
  }

  get isEmpty(): boolean {
    return this.negated.length === 0;
  }

  /**
   * What the last pattern that matches says: true for ignored, false for taken back, undefined where none matches.
   * @param path from the file's directory, a binary string
   */
  verdict(path: string, isDirectory: boolean): boolean | undefined {
    const compared = this.foldsCase ? folded(path) : path;
    const nameAt = compared.lastIndexOf("/") + 1;
    let last = -1;
    if (this.names.size > 0) last = latest(this.names, compared.slice(nameAt), isDirectory);
    if (this.paths.size > 0) last = Math.max(last, latest(this.paths, compared, isDirectory));
    for (let i = this.others.length - 1; i >= 0; i--) {
      const { pattern, place } = this.others[i]!;
      if (place < last) break;
      if (pattern.directoryOnly && !isDirectory) continue;
      if (matches(pattern, compared, nameAt)) {
        last = place;
        break;
      }
    }
    return last === -1 ? undefined : !this.negated[last];
  }
}

function latest(literals: ReadonlyMap<string, number>, key: string, isDirectory: boolean): number {
  const place = literals.get(key) ?? -1;
  return isDirectory ? Math.max(place, literals.get(`/${key}`) ?? -1) : place;
}

/** Lines as git parts them: a carriage return before the line's end is not part of it, what follows a NUL neither. */
function linesOf(text: string): string[] {
  const lines = text.replace(/^\xEF\xBB\xBF/, "").split("\n");
  return lines.map((line) => {
    const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
    const end = whole.indexOf("\0");
    return end === -1 ? whole : whole.slice(0, end);
  });
}

/** All rules that apply in a directory: an ignore file and those it overrides. Immutable. */
export interface Rules {
  file: IgnoreFile;
  /** Length of the path of the file's directory with its slash: what to cut off the path of an entry. */
  cut: number;
  /** Those of the directories around, then those of the repository and the user. */
  outer: Rules | undefined;
}

/**
 * What the innermost rule that matches says.
 * @param path a binary string, from where `cut` counts
 */
export function verdictOf(rules: Rules | undefined, path: string, isDirectory: boolean): boolean | undefined {
  for (let at = rules; at; at = at.outer) {
    const verdict = at.file.verdict(at.cut === 0 ? path : path.slice(at.cut), isDirectory);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** Rules with those of one more file, which override them. */
export function within(outer: Rules | undefined, directory: string, file: IgnoreFile | undefined): Rules | undefined {
  if (!file || file.isEmpty) return outer;
  return { file, cut: directory === "" ? 0 : bytesOf(directory).length + 1, outer };
}
