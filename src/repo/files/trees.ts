/** The trees of a process: each root's is kept from one call to the next. */
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { Deadline } from "./deadline.ts";
import { insideOf } from "./outside.ts";
import { isInAny } from "./relative.ts";
import { RepoTree } from "./tree.ts";

/** Trees that stay open; one of 50,000 files takes some 20 MB. */
const TREES_MAX = 4;

interface SharedTree {
  tree: RepoTree;
  /** Resolved when the last call that was given the tree has ended. */
  turn: Promise<unknown>;
  waiting: number;
}

/** Gives calls the tree of a root, one at a time. */
export class Trees {
  private readonly trees = new Map<string, SharedTree>();

  constructor(readonly env: Environment) {}

  /**
   * Calls `work` with the tree of a resolved root, when calls before have ended.
   * @param exclude absolute folders that are not looked at
   * @returns undefined where the deadline passed before
   */
  async use<T>(
    root: string,
    exclude: readonly string[],
    work: (tree: RepoTree) => Promise<T>,
    deadline = new Deadline(),
  ): Promise<T | undefined> {
    const excluded = insideOf(root, exclude);
    const key = [root, ...excluded].join("\0");
    const shared = this.trees.get(key) ?? this.begin(root, excluded);
    // The last used last.
    this.trees.delete(key);
    this.trees.set(key, shared);
    shared.waiting++;
    let isLate = false;
    const before = shared.turn;
    const mine = before.then(() => (isLate ? undefined : work(shared.tree)));
    shared.turn = mine.catch(() => {});
    try {
      isLate = (await deadline.within(before.then(() => true))) === undefined;
      return isLate ? undefined : await mine;
    } finally {
      shared.waiting--;
      this.evict();
    }
  }

  /** Calls `work` with a tree of its own, which knows exactly what is ignored now. */
  async useFresh<T>(root: string, exclude: readonly string[], work: (tree: RepoTree) => Promise<T>): Promise<T> {
    const { tree } = this.begin(root, insideOf(root, exclude));
    try {
      return await work(tree);
    } finally {
      tree.close();
    }
  }

  /** Closes the trees, once the calls that use them have ended. */
  async close(): Promise<void> {
    const shared = [...this.trees.values()];
    this.trees.clear();
    for (const { tree, turn } of shared) {
      await turn;
      tree.close();
    }
  }

  private begin(root: string, excluded: ReadonlySet<string>): SharedTree {
    const tree = new RepoTree(this.env, root, (path) => isInAny(excluded, path));
    return { tree, turn: Promise.resolve(), waiting: 0 };
  }

  private evict(): void {
    for (const [key, { tree, waiting }] of this.trees) {
      if (this.trees.size <= TREES_MAX) return;
      if (waiting > 0) continue;
      tree.close();
      this.trees.delete(key);
    }
  }
}
