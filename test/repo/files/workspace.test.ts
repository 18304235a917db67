/** Which directory is the workspace of a call, and which ones are refused. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ValueError } from "../../../src/errors.ts";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { pseudoFileSystem } from "../../../src/repo/files/pseudo.ts";
import { workTreeOf } from "../../../src/repo/files/top-level.ts";
import { resolveWorkspace, workspaceHere } from "../../../src/repo/files/workspace.ts";
import { commitAll, git, gitRoot, rootWith, temporary } from "../helpers.ts";

const LINUX = process.platform === "linux";

/** Why a directory is refused. */
async function refusal(path: string, HOME?: string, ...neverIndexed: string[]): Promise<string | undefined> {
  try {
    await resolveWorkspace(path, { env: HOME === undefined ? {} : { HOME }, neverIndexed });
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ValueError);
    return (error as Error).message;
  }
}

describe("a named directory", () => {
  test("the root of the file system, by any name", async () => {
    const link = join(temporary(), "link");
    symlinkSync("/", link);
    for (const path of ["/", "//", "/tmp/..", link])
      expect(await refusal(path)).toStartWith(`workspace '${path}' is the root of the file system`);
  });

  test("the home directory, by any name, and not what lies in it", async () => {
    const home = rootWith({ "project/a.ts": "1" });
    const link = join(temporary(), "link");
    symlinkSync(home, link);
    const said = "is the home directory, which is not indexed as a whole";
    for (const [path, HOME] of [
      [home, home],
      [link, home],
      [home, link],
      [join(home, "project/.."), `${home}/`],
    ] as const)
      expect(await refusal(path, HOME)).toContain(`workspace '${path}' ${said}`);
    expect(await refusal(homedir())).toContain(said);
    expect(await refusal(join(home, "project"), home)).toBeUndefined();
  });

  test("a home that is a file, is missing or is not set refuses nothing", async () => {
    const root = rootWith({ "a.ts": "1", file: "no folder" });
    for (const HOME of [join(root, "file"), join(root, "missing"), ""])
      expect(await refusal(root, HOME)).toBeUndefined();
    expect(await refusal(join(root, "file"), join(root, "file"))).toContain("is not a directory");
  });

  test("a link to a folder stands for the folder", async () => {
    const root = rootWith({ "a.ts": "1" });
    const link = join(temporary(), "link");
    symlinkSync(root, link);
    expect(await resolveWorkspace(link, {})).toEqual({ root, repoId: repoIdOf(root) });
  });

  test.skipIf(!LINUX)("a file system of the kernel's own (Linux)", async () => {
    const link = join(temporary(), "link");
    symlinkSync("/proc/self/fd", link);
    expect(await refusal("/proc/self")).toContain("workspace '/proc/self' lies on a file system of the kernel (proc)");
    for (const [path, name] of [
      ["/proc", "proc"],
      [link, "proc"],
      ["/sys/kernel", "sysfs"],
      ["/dev", "devtmpfs"],
    ] as const)
      expect(await refusal(path)).toContain(`(${name})`);
    // What stands for an ordinary folder there is that folder.
    const root = temporary();
    expect((await resolveWorkspace(`/proc/self/root${root}`)).root).toBe(root);
  });
});

describe("what git keeps for itself", () => {
  test("a .git folder and what lies in it", async () => {
    const root = gitRoot({ "a.ts": "1" });
    const remedy = "which holds no source files: name the work tree of the repository";
    expect(await refusal(join(root, ".git"))).toBe(`workspace '${root}/.git' is a .git folder, ${remedy}`);
    const inside = join(root, ".git/refs/heads");
    expect(await refusal(inside)).toBe(`workspace '${inside}' lies in a .git folder, ${remedy}`);
    const link = join(temporary(), "link");
    symlinkSync(inside, link);
    expect(await refusal(link)).toContain("lies in a .git folder");
  });

  test("a bare repository, and one that a work tree keeps elsewhere", async () => {
    const [bare, apart, root] = [join(temporary(), "app"), join(temporary(), "apart"), rootWith({ "a.ts": "1" })];
    git(temporary(), "init", "-q", "--bare", bare);
    git(root, "init", "-q", "--separate-git-dir", apart);
    for (const folder of [bare, apart]) {
      expect(await refusal(folder)).toContain("is a bare repository, which holds no source files");
      expect(await refusal(join(folder, "objects"))).toContain("lies in a bare repository");
    }
    expect(await refusal(root)).toBeUndefined();
  });

  test("a work tree inside of a bare repository is one", async () => {
    const bare = join(temporary(), "app.git");
    const root = gitRoot({ "src/a.ts": "1" });
    commitAll(root);
    git(root, "clone", "-q", "--bare", root, bare);
    git(bare, "worktree", "add", "-q", "main-tree", "HEAD");
    const tree = join(bare, "main-tree");
    expect(await resolveWorkspace(tree)).toEqual({ root: tree, repoId: repoIdOf(tree) });
    expect(await resolveWorkspace(join(tree, "src"))).toEqual({ root: tree, repoId: repoIdOf(tree), below: "src" });
  });
});

describe("this program's own state", () => {
  const said = "lies in the folder of svc's own state, which is not indexed: name the folder of one project";

  test("by any name", async () => {
    const state = rootWith({ "memory/notes/a": "1", "project/a.ts": "1" });
    const links = temporary();
    symlinkSync(state, join(links, "state"));
    symlinkSync(join(state, "project"), join(links, "project"));
    for (const path of [state, join(state, "memory"), join(links, "state/memory/notes"), join(links, "project")]) {
      expect(await refusal(path, "", state)).toBe(`workspace '${path}' ${said}`);
      expect(await refusal(path, "", join(links, "state"))).toBe(`workspace '${path}' ${said}`);
    }
    // What lies elsewhere and is only linked there is named by a path in it all the same.
    const project = rootWith({ "a.ts": "1" });
    symlinkSync(project, join(state, "linked"));
    expect(await refusal(join(state, "linked"), "", state)).toContain(said);
    for (const path of [project, join(state, ".."), links]) expect(await refusal(path, "", state)).toBeUndefined();
    expect(await refusal(`${state}-2`, "", state)).toContain("does not exist");
  });

  test("a state that is not there yet", async () => {
    const home = rootWith({ "a.ts": "1" });
    expect(await refusal(home, "", join(home, "none/state"))).toBeUndefined();
    const link = join(temporary(), "link");
    symlinkSync(home, link);
    mkdirSync(join(home, "made"));
    expect(await refusal(join(home, "made"), "", join(link, "made"))).toContain(said);
  });
});

describe("a folder of a work tree", () => {
  /** A work tree whose `.gitignore` closes some folders. */
  const tree = () => {
    const root = gitRoot({
      "src/net/a.ts": "1",
      "app/[id]/a.ts": "1",
      "app/i/a.ts": "1",
      ":shut/a.ts": "1",
      "closed/deep/a.ts": "1",
      "kept/a.ts": "1",
      "kept/b.ts": "1",
      ".gitignore": "closed/\nkept/\n:shut/\napp/*\n",
    });
    git(root, "add", "-f", "kept/a.ts", "app/i/a.ts");
    mkdirSync(join(root, "empty"));
    return root;
  };
  const belongs = (root: string, below: string) => ({ root, repoId: repoIdOf(root), below });
  const own = (root: string) => ({ root, repoId: repoIdOf(root) });

  for (const [how, PATH] of [
    ["with git", undefined],
    ["without git", "/nowhere"],
  ] as const) {
    test(`is a part of that repository; one that is ignored is its own (${how})`, async () => {
      const before = process.env.PATH;
      const root = tree();
      if (PATH) process.env.PATH = PATH;
      try {
        for (const below of ["src", "src/net", "empty"])
          expect(await resolveWorkspace(join(root, below))).toEqual(belongs(root, below));
        for (const below of ["closed", "closed/deep", "app/[id]", ":shut"])
          expect(await resolveWorkspace(join(root, below))).toEqual(own(join(root, below)));
        // A file of theirs is tracked.
        for (const below of ["kept", "app/i"])
          expect(await resolveWorkspace(join(root, below))).toEqual(belongs(root, below));
      } finally {
        process.env.PATH = before;
      }
    });
  }

  test("with a repository of its own is that one", async () => {
    const root = tree();
    git(join(root, "src/net"), "init", "-q");
    expect(await resolveWorkspace(join(root, "src/net"))).toEqual(own(join(root, "src/net")));
    expect(await resolveWorkspace(join(root, "src"))).toEqual(belongs(root, "src"));
  });

  test("is its own where the work tree is the home directory", async () => {
    const home = tree();
    expect(await resolveWorkspace(join(home, "src"), { env: { HOME: home } })).toEqual(own(join(home, "src")));
    expect(await resolveWorkspace(join(home, "src"), { env: {} })).toEqual(belongs(home, "src"));
  });
});

describe("without a named directory", () => {
  const within = <T>(directory: string, work: () => T): T => {
    const before = process.cwd();
    process.chdir(directory);
    try {
      return work();
    } finally {
      process.chdir(before);
    }
  };
  const found = (directory: string, env: Record<string, string> = {}) =>
    within(directory, () => workspaceHere({ env }));

  test("the work tree of the working directory, by its top level", () => {
    const root = gitRoot({ "a/b/c.ts": "1" });
    for (const directory of [root, join(root, "a/b"), join(root, ".git/refs")])
      expect(found(directory)).toEqual({ root, repoId: repoIdOf(root) });
  });

  test("linked work trees and submodules are their own", () => {
    const library = gitRoot({ "lib/lib.c": "int x;" });
    commitAll(library);
    const root = gitRoot({ "a.ts": "1" });
    git(root, "submodule", "--quiet", "add", library, "third");
    commitAll(root);
    git(root, "worktree", "add", "-q", "trees/other");
    expect(workTreeOf(join(root, "third/lib"))).toBe(join(root, "third"));
    expect(workTreeOf(join(root, "trees/other"))).toBe(join(root, "trees/other"));
    expect(workTreeOf(join(root, "trees"))).toBe(root);
  });

  test("none: the error names the directory and says what to do", () => {
    const directory = temporary();
    // Git passes over such a folder, too.
    mkdirSync(join(directory, ".git"));
    expect(workTreeOf(directory)).toBeUndefined();
    expect(() => found(directory)).toThrow(
      new ValueError(`the working directory '${directory}' lies in no git work tree`),
    );
    expect(() => found("/")).toThrow("the working directory '/' lies in no git work tree");
  });

  test("the home directory is not taken either", () => {
    const home = gitRoot({ "notes/a.md": "1" });
    expect(() => found(join(home, "notes"), { HOME: home })).toThrow(
      `the git work tree '${home}' of the working directory is the home directory`,
    );
    expect(found(join(home, "notes")).root).toBe(home);
  });

  test("a working directory that is gone", () => {
    const directory = join(temporary(), "gone");
    mkdirSync(directory);
    within(directory, () => {
      rmSync(directory, { recursive: true });
      expect(() => workspaceHere()).toThrow("the working directory is gone");
    });
  });
});

describe.skipIf(!LINUX)("pseudo file systems (Linux)", () => {
  test("are recognised", () => {
    const found = ["/proc", "/proc/self", "/sys", "/dev", "/dev/pts"].map(pseudoFileSystem);
    expect(found).toEqual(["proc", "proc", "sysfs", "devtmpfs", "devpts"]);
    for (const path of ["/", "/usr", temporary(), "/nowhere"]) expect(pseudoFileSystem(path)).toBeUndefined();
  });

  /** Lists a root from a process with `/proc` mounted over its `mounted`; undefined where that is not allowed. */
  const listMounted = (root: string): string[] | undefined => {
    const inner = 'mount --rbind /proc "$1/mounted" && exec "$2" "$3" "$1"';
    const script = join(import.meta.dir, "look-mounted.ts");
    const words = ["unshare", "-rm", "sh", "-c", inner, "sh", root, process.execPath, script];
    if (!Bun.which("unshare")) return undefined;
    const { stdout, success } = Bun.spawnSync(words, { stderr: "ignore" });
    return success ? JSON.parse(stdout.toString()) : undefined;
  };
  const isAllowed = LINUX && listMounted(rootWith({ "mounted/a": "1" })) !== undefined;

  for (const kind of ["git", "folder"] as const) {
    test.skipIf(!isAllowed)(`a mount of /proc is passed over (${kind}; needs unshare and mount)`, () => {
      const root = rootWith({ "a.ts": "1", "mounted/hidden.ts": "2", "z.ts": "3" });
      if (kind === "git") {
        git(root, "init", "-q");
        git(root, "add", ".");
      }
      expect(listMounted(root)).toEqual(["a.ts", "z.ts"]);
    });
  }
});
