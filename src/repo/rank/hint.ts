/** The files of a repository that a path, a folder or a glob means. */
import { shown } from "../../checks/kinds.ts";
import { bytewise } from "./order.ts";

/** Files that a question is restricted to. */
export interface Scope {
  /** A file or a folder that they all are or lie below; undefined: the root. */
  under: string | undefined;
  /** Whether a path of the repository is one of them. */
  allows(path: string): boolean;
  /** How many they are. */
  files: number;
}

/** Files or folders that are named to a caller whose hint matches nothing. */
const ALIKE_MAX = 3;
const GLOB = /[*?[{]/;

/**
 * The files of `paths` that a path means: one, those below a folder, or those that match a glob with the signs of
 * `Bun.Glob`; with `!` before it, those that do not. All paths are relative to the root.
 * @param isName a glob is for the base names of files at any depth
 */
export function scopeOf(path: string, paths: readonly string[], isName: boolean): Scope {
  const allow = (under: string | undefined, allows: (path: string) => boolean) => {
    return { under, allows, files: paths.filter(allows).length };
  };
  const literal = allow(path, (known) => known === path || known.startsWith(`${path}/`));
  // Signs of a glob are also in names: folders of some frameworks are called `[id]`.
  if (literal.files > 0 || !GLOB.test(path)) return literal;
  const isNot = path.startsWith("!");
  const folders = path.slice(isNot ? 1 : 0).split("/");
  const name = folders.pop()!;
  const glob = new Bun.Glob([...folders, ...(isName ? ["**"] : []), name].join("/"));
  const special = folders.findIndex((part) => GLOB.test(part));
  const under = isNot ? "" : folders.slice(0, special === -1 ? undefined : special).join("/");
  return allow(under === "" ? undefined : under, (known) => glob.match(known) !== isNot);
}

/**
 * A sentence for a caller whose hint means no file: what is alike is named. @param path the hint, relative to the root
 */
export function nothingAt(hint: string, path: string, paths: readonly string[]): string {
  const alike = alikeOf(path, paths);
  const sentence = `path_hint ${shown(hint)} matches no indexed file`;
  return alike.length > 0 ? `${sentence}; there are ${alike.map(shown).join(", ")}` : sentence;
}

/** Files and folders whose name is that of the hint or nearly so; those with more of its folders first. */
function alikeOf(path: string, paths: readonly string[]): string[] {
  const wanted = words(path.toLowerCase());
  const last = wanted.at(-1);
  if (last === undefined) return [];
  const most = last.length < 3 ? 0 : last.length < 8 ? 1 : 2;
  const found: { known: string; apart: number; shared: number }[] = [];
  for (const known of withFolders(paths)) {
    const parts = known.toLowerCase().split("/");
    const name = parts.pop()!;
    const apart = Math.min(edits(last, name, most), edits(last, name.replace(/(?<=.)\..*$/, ""), most));
    if (apart <= most) found.push({ known, apart, shared: parts.filter((part) => wanted.includes(part)).length });
  }
  const order = (a: (typeof found)[0], b: (typeof found)[0]) =>
    a.apart - b.apart || b.shared - a.shared || a.known.length - b.known.length || bytewise(a.known, b.known);
  return found
    .sort(order)
    .slice(0, ALIKE_MAX)
    .map(({ known }) => known);
}

/** The parts of a hint that are not patterns. */
function words(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && !GLOB.test(part));
}

/** Paths, and each of their folders. */
function withFolders(paths: readonly string[]): Set<string> {
  const all = new Set(paths);
  for (const path of paths) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end);
      if (all.has(folder)) break;
      all.add(folder);
    }
  }
  return all;
}

/** Letters to insert, delete or replace between two words; more than `most`: some number above it. */
function edits(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
