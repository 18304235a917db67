/** What a run would do, from what a look at the files found and what the last run knew of them. Nothing is read. */
import { languageOf } from "../chunks/language.ts";

/** What a look finds. Paths are relative to the root. */
export interface Look {
  /** Files that belong to the repository and may be indexed. */
  files: ReadonlyMap<string, { size: number }>;
  /** Others that are not, with the reason. */
  left: ReadonlyMap<string, string>;
  /** Files and folders (which end in a slash) that ignore rules leave out, as far as the look met them. */
  ignored: readonly string[];
}

/** What the last run knew. */
export interface Known {
  files: ReadonlyMap<string, { kind: "binary" | "text" | "secret" }>;
  /** Whether a file that was found is as it was then. */
  isSame(path: string): boolean;
  /** Whether a file that was not found is gone, and not merely out of reach. */
  isGone(path: string): boolean;
}

/** Some of many, with the first of their paths. */
export interface Examples {
  count: number;
  paths: string[];
}

/** What would be indexed, and what not and why; groups without any are left out. */
export interface Preview {
  /** Files that would be in the index, and their bytes. */
  files: number;
  bytes: number;
  /** The same by language, most files first. */
  languages: { language: string; files: number; bytes: number }[];
  /** What the run would have to do: files that are `new`, `changed` or `gone` against the index. */
  changes: Partial<Record<"new" | "changed" | "gone", Examples>>;
  /** Reasons: `binary` and `secret` as far as names and the last run tell, the others of `files_skipped`, `ignored`. */
  left_out: Partial<Record<string, Examples>>;
}

/** Paths of a group that are shown. */
const PATHS_SHOWN = 5;

export function previewOf(look: Look, known: Known): Preview {
  const languages = new Map<string, { language: string; files: number; bytes: number }>();
  const changes = new Groups();
  const left = new Groups();
  let [files, bytes] = [0, 0];
  for (const [path, { size }] of look.files) {
    const before = known.files.get(path);
    const isSame = before !== undefined && known.isSame(path);
    if (isSame && before.kind !== "text") {
      left.add(before.kind, path);
      continue;
    }
    if (!isSame) changes.add(before === undefined ? "new" : "changed", path);
    files++;
    bytes += size;
    const language = languageOf(path);
    const of = languages.get(language) ?? { language, files: 0, bytes: 0 };
    languages.set(language, of);
    of.files++;
    of.bytes += size;
  }
  for (const path of known.files.keys()) {
    if (!look.files.has(path) && known.isGone(path)) changes.add("gone", path);
  }
  for (const [path, reason] of look.left) left.add(reason, path);
  for (const path of look.ignored) left.add("ignored", path);
  return {
    files,
    bytes,
    languages: [...languages.values()].sort((a, b) => b.files - a.files || (a.language < b.language ? -1 : 1)),
    changes: changes.all,
    left_out: left.all,
  };
}

class Groups {
  readonly all: Partial<Record<string, Examples>> = {};

  add(group: string, path: string): void {
    this.all[group] ??= { count: 0, paths: [] };
    const examples = this.all[group];
    examples.count++;
    if (examples.paths.length < PATHS_SHOWN) examples.paths.push(path);
  }
}
