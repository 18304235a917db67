/**
 * Which entries of a root belong to it: in a git repository those that git tracks and those that it does not ignore,
 * elsewhere those that no ignore file and none of the usual folders exclude. Made from files only: no process runs,
 * unless git's index cannot be read here. An entry is judged when the walk finds it, in any order.
 *
 * What is judged stays the same until {@link Membership.hasChanged} or {@link Membership.refresh} says otherwise.
 */
import { lstatSync } from "node:fs";
import { basename, join } from "node:path";
import { DirectoryRules, GIT_RULES, OWN_RULES, pathFrom, pathIn, type Tree, type Verdict } from "./directory-rules.ts";
import type { ConfigEnv } from "./git/config.ts";
import { layoutOf } from "./git/layout.ts";
import { Repository } from "./git/repository.ts";
import { isUnsettled, stampOf } from "./git/text.ts";
import { isInAny, parentOf } from "./relative.ts";
import { type RootTree, rootTree, treeOf } from "./root-tree.ts";
import { RuleFiles } from "./rule-files.ts";

export type { Verdict };

/** Names of files with rules. */
export const RULE_FILES = [GIT_RULES, OWN_RULES] as const;

export class Membership {
  private begun: RootTree;
  private readonly directories = new Map<string, DirectoryRules>();
  private last!: DirectoryRules;
  private files!: RuleFiles;
  /** All work trees entered so far, the root's own first. */
  private trees: Tree[] = [];
  /** Directories that have a `.git`, or that git tracks as submodules, and whether each is a work tree of git's. */
  private readonly checkouts = new Map<string, boolean>();

  private constructor(
    private readonly root: string,
    private readonly env: ConfigEnv,
  ) {
    this.begun = this.begin();
  }

  /**
   * Reads git's index and configuration. A repository that is damaged is not an error: {@link problem} says what is
   * missing.
   * @param root resolved: no links in it
   * @param env `HOME` and `XDG_CONFIG_HOME` say where the user's configuration of git is
   */
  static open(root: string, env: ConfigEnv = process.env): Membership {
    return new Membership(root, env);
  }

  /**
   * Where the tracked names come from: "index" is git's index file, "git" is `git ls-files`, because the index could
   * not be read. "folder": the root is in no repository, or neither could be read, and only rules decide.
   */
  get source(): "index" | "git" | "folder" {
    const source = this.begun.tree.repository?.names.source ?? "none";
    return source === "none" ? "folder" : source;
  }

  /** Why tracked names are missing or come from git, in the root or in a submodule entered so far. */
  get problem(): string | undefined {
    if (this.begun.problem) return this.begun.problem;
    for (const { repository, at } of this.trees) {
      const problem = repository?.names.problem;
      if (problem) return at === "" ? problem : `${problem} (of ${JSON.stringify(at)})`;
    }
    return undefined;
  }

  /** How many tracked names are not UTF-8, in the work trees entered so far. */
  get undecodable(): number {
    return this.trees.reduce((sum, { repository }) => sum + (repository?.names.tracked.undecodable ?? 0), 0);
  }

  /**
   * What an entry is. One in a directory that does not belong to the root has the directory's verdict.
   * @param path of an entry that exists, relative to the root and `/`-separated
   * @param isDirectory false for a link to one
   */
  judge(path: string, isDirectory: boolean): Verdict {
    return this.rulesAround(path).verdict(path, isDirectory, this.isCheckout);
  }

  /** Whether a change of a file may change what {@link judge} says of others: see {@link hasChanged}. */
  isRuleFile(path: string): boolean {
    const name = basename(path);
    return name === GIT_RULES || name === OWN_RULES || name === ".git";
  }

  /**
   * The walk saw that a rule file appeared, changed or vanished.
   * @returns the directory that has to be judged again, with all that lies below it; `""` for all. Undefined: nothing
   *   that was judged so far changes.
   */
  hasChanged(path: string): string | undefined {
    const directory = parentOf(path);
    const name = basename(path);
    if (name === ".git") {
      if (directory === "") this.begun = this.begin();
      else if ((this.checkouts.get(directory) ?? false) === this.looksLikeCheckout(directory)) return undefined;
      else this.forget(new Set([directory]));
      return directory;
    }
    if (!this.directories.get(directory)?.hasChanged(name)) return undefined;
    this.forget(new Set([directory]));
    return directory;
  }

  /**
   * Looks whether anything changed that the walk does not see and that changes what {@link judge} says: git's index,
   * configuration and excludes, also those of submodules; a directory that became a checkout or ceased to be one.
   * @returns undefined: nothing. "all": everything has to be judged again. Else the paths that have to be; a directory
   *   among them with all that lies below it. They need not exist.
   */
  refresh(): undefined | "all" | string[] {
    if (this.begun.stamps.some(([path, stamp]) => isUnsettled(stamp) || stampOf(path) !== stamp))
      return this.beginAgain();
    const changed = new Set<string>();
    for (const tree of this.trees) {
      const names = tree.repository?.refresh();
      if (names === "all") return this.beginAgain();
      for (const name of names ?? []) {
        const path = pathFrom(tree, name);
        if (path !== undefined) changed.add(path);
      }
    }
    for (const [directory, was] of this.checkouts)
      if (this.looksLikeCheckout(directory) !== was) changed.add(directory);
    if (changed.size === 0) return undefined;
    this.forget(changed);
    return [...changed];
  }

  private beginAgain(): "all" {
    this.begun = this.begin();
    return "all";
  }

  private begin(): RootTree {
    const begun = rootTree(this.root, this.env);
    // Read now: what the tracked names come from is known from the start.
    void begun.tree.repository?.names;
    this.forgetAll(begun.tree);
    return begun;
  }

  private forgetAll(tree: Tree): void {
    this.directories.clear();
    this.checkouts.clear();
    this.trees = [tree];
    this.files = new RuleFiles(this.root);
    this.last = new DirectoryRules(this.files, "", undefined, tree);
    this.directories.set("", this.last);
  }

  /** Drops what is known of directories and of what lies below them. */
  private forget(directories: ReadonlySet<string>): void {
    if (directories.has("")) {
      this.forgetAll(this.begun.tree);
      return;
    }
    const isBelow = (path: string) => isInAny(directories, path);
    for (const [path, rules] of this.directories) {
      if (!isBelow(path)) continue;
      rules.release();
      this.directories.delete(path);
    }
    for (const path of this.checkouts.keys()) if (isBelow(path)) this.checkouts.delete(path);
    this.trees = this.trees.filter(({ at }) => !isBelow(at));
    this.last = this.directories.get("")!;
  }

  /** The directory of an entry, mostly that of the entry before. */
  private rulesAround(path: string): DirectoryRules {
    const { directory } = this.last;
    const slash = Math.max(0, path.lastIndexOf("/"));
    if (slash !== directory.length || !path.startsWith(directory)) this.last = this.rulesOf(path.slice(0, slash));
    return this.last;
  }

  private rulesOf(directory: string): DirectoryRules {
    let rules = this.directories.get(directory);
    if (!rules) {
      const around = this.rulesOf(parentOf(directory));
      const verdict = around.verdict(directory, true, this.isCheckout);
      const isEntered = verdict === "in";
      rules = new DirectoryRules(
        this.files,
        directory,
        around,
        isEntered ? this.treeIn(directory, around.tree) : around.tree,
        isEntered ? undefined : verdict,
      );
      this.directories.set(directory, rules);
    }
    return rules;
  }

  /** The tree of a directory that is entered: a checkout of its own, or that of the directory around. */
  private treeIn(directory: string, around: Tree): Tree {
    // Git enters other checkouts only where it tracks them as submodules; without git each is a project of its own.
    const isSubmodule = around.repository?.isSubmodule(pathIn(around, directory));
    if (isSubmodule === false || !this.isCheckout(directory, isSubmodule === true)) return around;
    const repository = Repository.at(join(this.root, directory), this.env);
    if (!repository) return around;
    const tree = treeOf(repository, directory);
    this.trees.push(tree);
    return tree;
  }

  /**
   * Whether a directory is the top level of a work tree. `refresh` looks again at those that may become one unseen: the
   * walk does not enter a submodule that is not checked out, nor a `.git`.
   */
  private readonly isCheckout = (directory: string, isSubmodule: boolean): boolean => {
    const known = this.checkouts.get(directory);
    if (known !== undefined) return known;
    if (!isSubmodule && !this.hasMarker(directory)) return false;
    const found = this.looksLikeCheckout(directory);
    this.checkouts.set(directory, found);
    return found;
  };

  private looksLikeCheckout(directory: string): boolean {
    return this.hasMarker(directory) && layoutOf(join(this.root, directory)) !== undefined;
  }

  /** Not `path.join`, which costs as much as the call itself: any directory that is not tracked is asked about. */
  private hasMarker(directory: string): boolean {
    try {
      return lstatSync(`${this.root}/${directory}/.git`, { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false;
    }
  }
}
