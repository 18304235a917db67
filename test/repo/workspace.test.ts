/** Which directory is the workspace of a call, and which ones are refused. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ValueError } from "../../src/errors.ts";
import { Entries } from "../../src/repo/entries.ts";
import { repoIdOf, resolveWorkspace } from "../../src/repo/indexer.ts";
import { pseudoFileSystem } from "../../src/repo/pseudo.ts";
import { workspaceHere, workTreeOf } from "../../src/repo/workspace.ts";
import { git, rootWith, temporary } from "./helpers.ts";

const LINUX = process.platform === "linux";

/** Why a directory is refused. */
function refusal(path: string, env: Record<string, string> = {}): string | undefined {
  try {
    resolveWorkspace(path, env);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ValueError);
    return (error as Error).message;
  }
}

describe("a named directory", () => {
  test("the root of the file system, by any name", () => {
    const link = join(temporary(), "link");
    symlinkSync("/", link);
    for (const path of ["/", "//", "/tmp/..", link])
      expect(refusal(path)).toStartWith(`workspace '${path}' is the root of the file system`);
  });

  test("the home directory, by any name, and not what lies in it", () => {
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
      expect(refusal(path, { HOME })).toContain(`workspace '${path}' ${said}`);
    expect(refusal(homedir())).toContain(said);
    expect(refusal(join(home, "project"), { HOME: home })).toBeUndefined();
  });

  test("a home that is a file, is missing or is not set refuses nothing", () => {
    const root = rootWith({ "a.ts": "1", file: "no folder" });
    for (const HOME of [join(root, "file"), join(root, "missing"), ""]) expect(refusal(root, { HOME })).toBeUndefined();
    expect(refusal(join(root, "file"), { HOME: join(root, "file") })).toContain("is not a directory");
  });

  test("a link to a folder stands for the folder", () => {
    const root = rootWith({ "a.ts": "1" });
    const link = join(temporary(), "link");
    symlinkSync(root, link);
    expect(resolveWorkspace(link, {})).toEqual({ root, repoId: repoIdOf(root) });
  });

  test.skipIf(!LINUX)("a file system of the kernel's own (Linux)", () => {
    const link = join(temporary(), "link");
    symlinkSync("/proc/self/fd", link);
    expect(refusal("/proc/self")).toContain("workspace '/proc/self' lies on a file system of the kernel's own (proc)");
    for (const [path, name] of [
      ["/proc", "proc"],
      [link, "proc"],
      ["/sys/kernel", "sysfs"],
      ["/dev", "devtmpfs"],
    ] as const)
      expect(refusal(path)).toContain(`(${name})`);
    // What stands for an ordinary folder there is that folder.
    const root = temporary();
    expect(resolveWorkspace(`/proc/self/root${root}`, {}).root).toBe(root);
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
    within(directory, () => workspaceHere("do something else", env));

  test("the work tree of the working directory, by its top level", () => {
    const root = rootWith({ "a/b/c.ts": "1" });
    git(root, "init", "-q");
    for (const directory of [root, join(root, "a/b"), join(root, ".git/refs")])
      expect(found(directory)).toEqual({ root, repoId: repoIdOf(root) });
  });

  test("linked work trees and submodules are their own", () => {
    const library = rootWith({ "lib/lib.c": "int x;" });
    git(library, "init", "-q");
    git(library, "add", ".");
    git(library, "commit", "-qm", "one");
    const root = rootWith({ "a.ts": "1" });
    git(root, "init", "-q");
    git(root, "submodule", "--quiet", "add", library, "third");
    git(root, "add", ".");
    git(root, "commit", "-qm", "one");
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
      new ValueError(`the working directory '${directory}' lies in no git work tree: do something else`),
    );
    expect(() => found("/")).toThrow("the working directory '/' lies in no git work tree: do something else");
  });

  test("the home directory is not taken either", () => {
    const home = rootWith({ "notes/a.md": "1" });
    git(home, "init", "-q");
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
      expect(() => workspaceHere("do something else")).toThrow("the working directory is gone: do something else");
    });
  });
});

describe.skipIf(!LINUX)("pseudo file systems (Linux)", () => {
  test("are recognised", () => {
    const found = ["/proc", "/proc/self", "/sys", "/dev", "/dev/pts"].map(pseudoFileSystem);
    expect(found).toEqual(["proc", "proc", "sysfs", "devtmpfs", "devpts"]);
    for (const path of ["/", "/usr", temporary(), "/nowhere"]) expect(pseudoFileSystem(path)).toBeUndefined();
  });

  test("one that is mounted below is not entered, another one is", () => {
    const entries = new Entries("/dev");
    expect(entries.isEnterable("pts")).toBe(false);
    expect(entries.isEnterable("pts/below")).toBe(false);
    if (existsSync("/dev/shm")) expect(entries.isEnterable("shm")).toBe(true);
  });

  /** Lists a root from a process with `/proc` mounted over its `mounted`; undefined where that is not allowed. */
  const listMounted = (root: string): string[] | undefined => {
    const inner = 'mount --rbind /proc "$1/mounted" && exec "$2" "$3" "$1"';
    const script = join(import.meta.dir, "list.ts");
    const words = ["unshare", "-rm", "sh", "-c", inner, "sh", root, process.execPath, script];
    if (!Bun.which("unshare")) return undefined;
    const { stdout, success } = Bun.spawnSync(words, { stderr: "ignore" });
    return success ? JSON.parse(stdout.toString()) : undefined;
  };
  const isAllowed = LINUX && listMounted(rootWith({ "mounted/a": "1" })) !== undefined;

  for (const kind of ["git", "walk"] as const) {
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
