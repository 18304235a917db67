/** The files of a root, as a tree finds them. */
import { insideOf } from "../../../src/repo/files/outside.ts";
import { isInAny } from "../../../src/repo/files/relative.ts";
import { type LookOptions, RepoTree } from "../../../src/repo/files/tree.ts";
import { native } from "../../fixture.ts";

/** A tree that no other look has used. The caller closes it. */
export async function treeOf(root: string, exclude: readonly string[] = []): Promise<RepoTree> {
  const { env } = await native();
  const excluded = insideOf(root, exclude);
  return new RepoTree(env, root, (path) => isInAny(excluded, path));
}

/** What one look at a root finds. */
export async function lookAt(
  root: string,
  { exclude, ...options }: Partial<LookOptions> & { exclude?: string[] } = {},
) {
  const tree = await treeOf(root, exclude);
  try {
    const isComplete = await tree.look({ msMax: Number.POSITIVE_INFINITY, ...options });
    const paths = [...tree.files.keys()].sort();
    return { paths, isComplete, left: tree.leftIn(options.below ?? ""), source: tree.source };
  } finally {
    tree.close();
  }
}
