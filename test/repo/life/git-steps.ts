/** Steps of a life: what git does, and what tells it which files to ignore. */
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "./file-steps.ts";
import type { World } from "./world.ts";

// biome-ignore format: one line a kind
const RULES = [
  "*.ts", "*.tmp", "!*.tmp", "build/", "!build/", "/dist", "!/dist/", "vendor/**", "src/*", "!src/deep/", "docs/**/x*", "**/deep",
  "node_modules/", "!node_modules/", "a", "a/", "[a-c].*", "\\!bang.md", "hash\\#.md", "with\\ blank.ts", "with blank.ts ",
  "*", "!*/", "!*.md", "# a comment", "", "*.py\\", "[", "**", "/", "!", "moved?", "README*", "*~", "café.md", "Out", "OUT",
];

const rules = (world: World, from = RULES) => {
  const lines = Array.from({ length: 1 + world.pick(4) }, () => world.oneOf(from));
  return `${world.pick(6) === 0 ? "\uFEFF" : ""}${lines.join(world.pick(6) === 0 ? "\r\n" : "\n")}${world.pick(3) === 0 ? "" : "\n"}`;
};

/** Git's words in one of the roots. */
const git = (words: (world: World, root: string) => string[]): Step => {
  return (world) => {
    const root = world.root();
    world.git(root, ...words(world, root));
  };
};

const inFolder = (name: string, from = RULES): Step => {
  return (world) => {
    const root = world.root();
    const folder = world.pick(2) === 0 ? "" : `${world.path(root, "folder") ?? "src"}/`;
    if (world.pick(5) === 0) rmSync(join(root, folder, name), { recursive: true, force: true });
    else world.write(root, `${folder}${name}`, rules(world, from));
  };
};

const someFile = (world: World, root: string) => world.path(root) ?? "README.md";
const branch = (world: World) => `b${world.pick(3)}`;
const gitFolder = (world: World, root: string) =>
  world.git(root, "rev-parse", "--absolute-git-dir").out.toString().trim();

export const GIT_STEPS: Readonly<Record<string, [number, Step]>> = {
  ".gitignore": [6, inFolder(".gitignore")],
  ".gitignore is a link": [
    1,
    (world) => {
      const root = world.root();
      const path = join(root, ".gitignore");
      rmSync(path, { recursive: true, force: true });
      world.write(root, "rules.txt", rules(world));
      symlinkSync("rules.txt", path);
    },
  ],
  "info/exclude": [
    2,
    (world) => {
      const common = world.git(world.root(), "rev-parse", "--path-format=absolute", "--git-common-dir").out.toString();
      if (common.trim() !== "") world.write(common.trim(), "info/exclude", rules(world));
    },
  ],
  "global excludes": [
    2,
    (world) => {
      const own = join(world.home, "own-ignore");
      const usual = ".config/git/ignore";
      const what = world.pick(4);
      if (what === 0) rmSync(join(world.home, usual), { force: true });
      else if (what === 1) world.write(world.home, usual, rules(world));
      else if (what === 2) world.git(world.home, "config", "--global", "--unset-all", "core.excludesFile");
      else {
        writeFileSync(own, rules(world));
        world.git(world.home, "config", "--global", "core.excludesFile", world.pick(2) === 0 ? own : "~/own-ignore");
      }
    },
  ],
  "add all": [4, git(() => ["add", "-A"])],
  "add by force": [3, git((world, root) => ["add", "-f", "--", `:(literal)${someFile(world, root)}`])],
  "add with intent": [1, git((world, root) => ["add", "-Nf", "--", `:(literal)${someFile(world, root)}`])],
  "remove from the index": [
    3,
    git((world, root) => ["rm", "-rqf", "--cached", "--", `:(literal)${someFile(world, root)}`]),
  ],
  commit: [4, git(() => ["commit", "-qam", "more"])],
  "new branch": [2, git((world) => ["checkout", "-qB", `${branch(world)}${world.pick(2)}`])],
  "check out": [3, git((world) => ["checkout", "-qf", `${branch(world)}${world.pick(2)}`])],
  "check out an earlier commit": [1, git(() => ["checkout", "-qf", "--detach", "HEAD~1"])],
  stash: [2, git((world) => (world.pick(2) === 0 ? ["stash", "-q", "-u"] : ["stash", "pop", "-q"]))],
  merge: [2, git((world) => ["merge", "-q", "--no-edit", `${branch(world)}${world.pick(2)}`])],
  "merge with a conflict": [
    2,
    (world) => {
      const root = world.root();
      const file = someFile(world, root);
      world.git(root, "add", "-f", "--", `:(literal)${file}`);
      world.git(root, "commit", "-qam", "base");
      world.git(root, "checkout", "-qB", "theirs");
      world.writeText(root, file, 5);
      world.git(root, "commit", "-qam", "theirs");
      world.git(root, "checkout", "-qfB", "ours", "HEAD~1");
      world.writeText(root, file, 6);
      world.git(root, "commit", "-qam", "ours");
      world.git(root, "merge", "-q", "theirs");
    },
  ],
  "end a merge": [2, git((world) => (world.pick(2) === 0 ? ["merge", "--abort"] : ["reset", "-q", "--hard"]))],
  reset: [
    2,
    git((world) => ["reset", "-q", world.oneOf(["--hard", "--mixed", "--soft"]), world.oneOf(["HEAD", "HEAD~1"])]),
  ],
  clean: [1, git(() => ["clean", "-qfd"])],
  collect: [1, git(() => ["gc", "-q", "--prune=now"])],
  "index version": [2, git((world) => ["update-index", "--index-version", world.oneOf(["2", "3", "4"])])],
  "split index": [
    2,
    git((world) => ["update-index", world.oneOf(["--split-index", "--split-index", "--no-split-index"])]),
  ],
  "untracked cache": [1, git((world) => ["update-index", world.oneOf(["--untracked-cache", "--no-untracked-cache"])])],
  "skip work tree": [1, git((world, root) => ["update-index", "--skip-worktree", "--", someFile(world, root)])],
  "assume unchanged": [1, git((world, root) => ["update-index", "--assume-unchanged", "--", someFile(world, root)])],
  "sparse checkout": [
    2,
    git((world) => {
      const kind = world.oneOf([["--cone"], ["--cone", "--sparse-index"], ["--no-cone"]]);
      return ["sparse-checkout", "set", ...kind, world.oneOf(["src", "docs", "src/deep"])];
    }),
  ],
  "whole checkout": [1, git(() => ["sparse-checkout", "disable"])],
  "the index is removed": [1, (world) => rmSync(join(gitFolder(world, world.root()), "index"), { force: true })],
  "add a submodule": [
    2,
    git((world) => ["submodule", "--quiet", "add", "-f", world.library, world.oneOf(["sub", "lib/sub", "build/sub"])]),
  ],
  "submodules are cleared": [1, git(() => ["submodule", "--quiet", "deinit", "-f", "--all"])],
  "submodules are checked out": [2, git(() => ["submodule", "--quiet", "update", "--init"])],
  "remove a submodule": [1, git((world) => ["rm", "-qrf", world.oneOf(["sub", "lib/sub", "build/sub"])])],
  "a file in a submodule": [
    1,
    (world) => {
      const root = world.root();
      const sub = ["sub", "lib/sub", "build/sub"].find((path) => existsSync(join(root, path, ".git")));
      if (sub === undefined) return;
      world.writeText(root, `${sub}/${world.newPath()}`, 8);
      if (world.pick(2) === 0) world.git(join(root, sub), "add", "-Af");
    },
  ],
  "a clone inside": [2, git((world) => ["clone", "-q", world.library, `clone${world.pick(2)}`])],
  "a clone inside vanishes": [
    2,
    (world) => rmSync(join(world.root(), `clone${world.pick(2)}`), { recursive: true, force: true }),
  ],
  "a clone inside loses its .git": [
    1,
    (world) => rmSync(join(world.root(), `clone${world.pick(2)}/.git`), { recursive: true, force: true }),
  ],
  "an empty repository inside": [
    1,
    (world) => {
      const inside = join(world.root(), "fresh");
      mkdirSync(inside, { recursive: true });
      world.git(inside, "init", "-q");
      world.writeText(inside, "f.ts", 4);
    },
  ],
  "the work tree is removed": [1, (world) => void world.git(world.one, "worktree", "remove", "--force", world.linked)],
  "the work tree is added": [
    2,
    (world) => void world.git(world.one, "worktree", "add", "-q", "-f", "--detach", world.linked),
  ],
};

/** Of svc's own file: those that only hide, as `!` there takes back what git ignores, which git cannot be asked about. */
const HIDING = RULES.filter((rule) => !rule.startsWith("!"));

/** Rules of svc's own. */
export const RULE_STEPS: Readonly<Record<string, [number, Step]>> = {
  ".svcignore": [3, inFolder(".svcignore", HIDING)],
};
