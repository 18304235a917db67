/** The names that git tracks in a work tree: from its index, read here, or from git where that cannot be done. */
import { join } from "node:path";
import { readCapped } from "../../../durable.ts";
import { runGit } from "./command.ts";
import { FOLDER, GITLINK, type IndexEntries, IndexError, parseIndex } from "./index-file.ts";
import type { GitLayout } from "./layout.ts";
import { isDirectory, isRegular } from "./text.ts";

/** Larger ones are not read: some five million files. */
const INDEX_BYTES_MAX = 512 * 1024 * 1024;

/** Names relative to the top level of the work tree. */
export class Tracked {
  /** Files, links and submodules. */
  readonly files = new Set<string>();
  /** Folders with a tracked file in them, at any depth. */
  readonly folders = new Set<string>();
  /** Submodules, whether they are checked out or not. */
  readonly submodules = new Set<string>();
  /** Folders of a sparse index: what is below them is not in it. */
  readonly sparse: string[] = [];
  private folderBefore = "";

  /** @param undecodable how many more names are not UTF-8 */
  constructor(public undecodable = 0) {}

  /** Adds a name of an index. In order, so that most lie in the folder of the one before. */
  add(name: string, kind: number): void {
    if (name === "") return;
    if (kind === FOLDER) {
      this.sparse.push(name);
      return;
    }
    this.files.add(name);
    if (kind === GITLINK) this.submodules.add(name);
    let slash = name.lastIndexOf("/");
    if (slash === -1 || (slash === this.folderBefore.length && name.startsWith(this.folderBefore))) return;
    this.folderBefore = name.slice(0, slash);
    for (let folder = this.folderBefore; !this.folders.has(folder); folder = folder.slice(0, slash)) {
      this.folders.add(folder);
      slash = folder.lastIndexOf("/");
      if (slash === -1) return;
    }
  }
}

/** What is tracked, which of the two said so, and why it was not the index. */
export interface TrackedNames {
  tracked: Tracked;
  /** "none": neither could say, so that `tracked` is empty. */
  source: "index" | "git" | "none";
  problem?: string;
}

/** The tracked names of a work tree. Never fails: what cannot be read is said. */
export function trackedIn(top: string, layout: GitLayout, hashBytes: 20 | 32): TrackedNames {
  let problem: string;
  try {
    const tracked = fromIndex(layout.gitDir, hashBytes);
    const hidden = tracked.sparse.find((folder) => isDirectory(join(top, folder)));
    if (hidden === undefined) return { tracked, source: "index" };
    const listed = listTracked(top);
    if (listed) return { tracked: listed, source: "git" };
    problem = `git's index is sparse and does not name the files in ${JSON.stringify(hidden)}`;
    return { tracked, source: "index", problem };
  } catch (error) {
    problem = `git's index ${error instanceof IndexError ? error.message : "could not be read"}`;
  }
  // Git would wait at a FIFO until it is stopped.
  const tracked = isRegular(join(layout.gitDir, "index")) ? listTracked(top) : undefined;
  return tracked ? { tracked, source: "git", problem } : { tracked: new Tracked(), source: "none", problem };
}

function fromIndex(gitDir: string, hashBytes: 20 | 32): Tracked {
  const read = (name: string) => readCapped(join(gitDir, name), INDEX_BYTES_MAX);
  const bytes = read("index");
  // A repository in which nothing was added yet.
  if (!bytes) return new Tracked();
  const entries = parseIndex(bytes, hashBytes);
  if (!entries.link) return trackedOf(entries.names, entries.kinds, entries.undecodable);
  const shared = read(`sharedindex.${entries.link.base}`);
  if (!shared) throw new IndexError("is split, and the shared index is missing");
  return merged(parseIndex(shared, hashBytes), entries);
}

function trackedOf(names: readonly string[], kinds: Uint8Array, undecodable: number): Tracked {
  const tracked = new Tracked(undecodable);
  for (let i = 0; i < names.length; i++) tracked.add(names[i]!, kinds[i]!);
  return tracked;
}

/** A shared index with the changes of the split one. */
function merged(base: IndexEntries, split: IndexEntries): Tracked {
  const { deleted, replaced } = split.link!;
  const count = base.names.length;
  if (base.link || replaced.length > split.names.length) throw new IndexError("is damaged");
  const names = [...base.names];
  const kinds = base.kinds.slice();
  for (const position of deleted) {
    if (position >= count) throw new IndexError("is damaged");
    names[position] = "";
  }
  for (const [i, position] of replaced.entries()) {
    if (position >= count) throw new IndexError("is damaged");
    kinds[position] = split.kinds[i]!;
  }
  const tracked = trackedOf(names, kinds, base.undecodable + split.undecodable);
  for (let i = replaced.length; i < split.names.length; i++) tracked.add(split.names[i]!, split.kinds[i]!);
  return tracked;
}

/** What git itself lists; undefined where it is not installed, refuses the repository or fails. */
function listTracked(top: string): Tracked | undefined {
  const listing = runGit(top, ["ls-files", "--stage", "-z"]);
  return listing && trackedOfListing(listing);
}

/** The tracked names of a listing of `git ls-files --stage -z`: mode, object, stage, a tab and the name. */
function trackedOfListing(listing: Uint8Array): Tracked {
  const tracked = new Tracked();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let start = 0;
  for (let end = listing.indexOf(0); end !== -1; end = listing.indexOf(0, start)) {
    const tab = listing.indexOf(0x09, start);
    try {
      const kind = Number.parseInt(String.fromCharCode(listing[start]!, listing[start + 1]!), 8);
      if (tab !== -1 && tab < end) tracked.add(decoder.decode(listing.subarray(tab + 1, end)), kind);
    } catch {
      tracked.undecodable++;
    }
    start = end + 1;
  }
  return tracked;
}
