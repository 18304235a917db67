/** What is known of one directory of a root: the work tree it lies in, the rules for its entries. Read when needed. */
import type { Repository } from "./git/repository.ts";
import { bytesOf } from "./ignore/pattern.ts";
import { IgnoreFile, type Rules, verdictOf, within } from "./ignore/rules.ts";
import type { RuleFiles, RuleText } from "./rule-files.ts";

/**
 * "in": a file that belongs to the root, a directory to enter. The others do not belong to it and are not entered:
 * "ignored" by git's rules, outside of a repository by the usual folders too; "svcignored" by a `.svcignore`; "nested":
 * another project's checkout, or a submodule that is not checked out; "internal": git's database, our own state.
 */
export type Verdict = "in" | "ignored" | "svcignored" | "nested" | "internal";

/** Names of files with rules for the directory they lie in, and for what lies below it. */
export const GIT_RULES = ".gitignore";
export const OWN_RULES = ".svcignore";

/** Never entered, with any rules: git's own database, and our own state with its credentials. */
export const INTERNAL: ReadonlySet<string> = new Set([".git", ".svc"]);

const DOT = 0x2e;

/** A part of the root with rules of its own: a work tree of git, or all of a root that lies in none. */
export interface Tree {
  repository?: Repository;
  /** Its top level, relative to the root; `""` where that is the root or lies around it. */
  at: string;
  /** The root relative to a top level around it; else `""`. */
  prefix: string;
  /** What the rules of its outermost directory come after. */
  rules: Rules | undefined;
  /** Its outermost directory is ignored but has tracked files. */
  isIgnored: boolean;
}

/** Whether a directory is the top level of a work tree of git. */
export type CheckoutTest = (directory: string, isSubmodule: boolean) => boolean;

/** The rules for the entries of a directory, and what its own file had. */
interface Read {
  rules: Rules | undefined;
  file: RuleText;
}

export class DirectoryRules {
  private git: Read | undefined;
  private own: Read | undefined;
  private ignored: boolean | undefined;

  /**
   * @param directory relative to the root, `""` for the root
   * @param around the directory that it lies in; undefined for the root
   * @param out set where it is not entered: the verdict of all below it
   */
  constructor(
    private readonly files: RuleFiles,
    readonly directory: string,
    private readonly around: DirectoryRules | undefined,
    readonly tree: Tree,
    readonly out?: Verdict,
  ) {}

  /** The verdict of an entry. */
  verdict(path: string, isDirectory: boolean, isCheckout: CheckoutTest): Verdict {
    if (this.out) return this.out;
    const nameAt = path.lastIndexOf("/") + 1;
    if (path.charCodeAt(nameAt) === DOT && INTERNAL.has(path.slice(nameAt))) return "internal";
    const { repository } = this.tree;
    const own = this.ownVerdict(path, isDirectory);
    if (own === true) return "svcignored";
    const inTree = pathIn(this.tree, path);
    if (isDirectory) {
      if (repository?.isSubmodule(inTree)) return isCheckout(path, true) ? "in" : "nested";
      if (repository?.hasTracked(inTree)) return "in";
    } else if (repository?.isTracked(inTree)) return "in";
    if (own === undefined && this.ignores(path, isDirectory)) return "ignored";
    return isDirectory && repository && isCheckout(path, false) ? "nested" : "in";
  }

  /** Whether the file of rules of that name has another text than when it was read; false where it was not. */
  hasChanged(name: string): boolean {
    const read = name === GIT_RULES ? this.git : this.own;
    return read !== undefined && read.file.hash !== this.files.peek(this.directory, name).hash;
  }

  /** Its rules are no longer kept. */
  release(): void {
    this.files.release((this.git?.file.size ?? 0) + (this.own?.file.size ?? 0));
  }

  /** What `.svcignore` files say; a pattern with `!` takes back what git ignores. */
  private ownVerdict(path: string, isDirectory: boolean): boolean | undefined {
    const rules = this.ownRules();
    return rules && verdictOf(rules, bytesOf(path), isDirectory);
  }

  private ignores(path: string, isDirectory: boolean): boolean {
    return this.isIgnored() || verdictOf(this.gitRules(), bytesOf(pathIn(this.tree, path)), isDirectory) === true;
  }

  /** The directory is ignored, though it is entered for its tracked files: nothing else in it belongs to the root. */
  private isIgnored(): boolean {
    this.ignored ??= this.isOutermost
      ? this.tree.isIgnored
      : (this.around!.ownVerdict(this.directory, true) ?? this.around!.ignores(this.directory, true));
    return this.ignored;
  }

  private get isOutermost(): boolean {
    return this.around?.tree !== this.tree;
  }

  private gitRules(): Rules | undefined {
    if (!this.git) {
      const outer = this.isOutermost ? this.tree.rules : this.around!.gitRules();
      const file = this.files.read(this.directory, GIT_RULES);
      const ignoresCase = this.tree.repository?.ignoresCase ?? false;
      this.git = {
        rules: withText(outer, pathIn(this.tree, this.directory), file, ignoresCase),
        file: withoutText(file),
      };
    }
    return this.git.rules;
  }

  private ownRules(): Rules | undefined {
    if (!this.own) {
      const file = this.files.read(this.directory, OWN_RULES);
      this.own = { rules: withText(this.around?.ownRules(), this.directory, file, false), file: withoutText(file) };
    }
    return this.own.rules;
  }
}

/** Without the text, which is not needed again. */
function withoutText({ hash, size }: RuleText): RuleText {
  return { hash, size };
}

function withText(outer: Rules | undefined, directory: string, { text }: RuleText, ignoresCase: boolean) {
  return text === undefined ? outer : within(outer, directory, new IgnoreFile(text, ignoresCase));
}

/** A path of the root, relative to the top level of a tree; `""` for the top level. */
export function pathIn({ at, prefix }: Tree, path: string): string {
  if (prefix !== "") return path === "" ? prefix : `${prefix}/${path}`;
  return at === "" ? path : path.slice(at.length + 1);
}

/** A path of a tree, relative to the root; undefined outside of the root. */
export function pathFrom({ at, prefix }: Tree, path: string): string | undefined {
  if (prefix !== "") return path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1) : undefined;
  return at === "" ? path : `${at}/${path}`;
}
