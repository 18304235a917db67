/**
 * Two repositories of git, a linked work tree of the first, and what lies around them: a home with git's own settings,
 * repositories that become submodules, and a folder outside. Everything that a life of them changes goes through here.
 */
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { random } from "../../random.ts";

/** Names that files are made under: in folders that usual rules name, of secrets, and odd ones. */
// biome-ignore format: one line a kind
const NAMES = [
  "a.ts", "b.py", "c.md", "Makefile", "d.go", "e.rs", "notes.txt", "x.tmp", "y.log", "README",
  ".env", "server.pem", "id_rsa", ".hidden", ".gitkeep", ".gitattributes",
  "with blank.ts", "[brackets].ts", "star*.ts", "hash#.md", "!bang.md", "back\\slash.ts", "café.md", "日本.md", "quote\".ts",
];
const FOLDERS = [
  "",
  "src",
  "src/deep",
  "lib",
  "build",
  "dist",
  "vendor",
  "node_modules/m",
  "docs",
  "a.d",
  "a",
  "Out",
  ".dot",
];
const WORDS = "alpha beta gamma delta index tree walk commit branch window vector query parse error file line".split(
  " ",
);

export class World {
  readonly home: string;
  readonly outside: string;
  readonly library: string;
  readonly one: string;
  readonly two: string;
  readonly linked: string;
  private next: () => number;
  private count = 0;

  /** @param dir an empty folder @param env the environment of git */
  constructor(
    readonly dir: string,
    seed: number,
    private readonly gitPath = Bun.which("git")!,
  ) {
    this.next = random(seed);
    const real = realpathSync.native(dir);
    const make = (name: string) => {
      const path = join(real, name);
      mkdirSync(path);
      return path;
    };
    [this.home, this.outside, this.library] = [make("home"), make("outside"), make("library")];
    [this.one, this.two, this.linked] = [make("one"), make("two"), join(real, "linked")];
    writeFileSync(join(this.outside, "secret.txt"), "alpha outside\n");
    this.writeText(this.library, "lib.ts", 10);
    this.writeText(this.library, "build/tool.ts", 10);
    for (const root of [this.one, this.two]) {
      for (const path of ["README.md", "src/main.ts", "src/deep/part.py", "docs/guide.md", "build/kept.js"]) {
        this.writeText(root, path, 5 + this.pick(150));
      }
      writeFileSync(join(root, ".gitignore"), "*.log\n/dist/\n");
    }
    for (const root of [this.library, this.one, this.two]) {
      this.git(root, "init", "-q", "-b", "main");
      this.git(root, "add", "-Af");
      this.git(root, "commit", "-qm", "first");
    }
    this.git(this.one, "worktree", "add", "-q", "-b", "side", this.linked);
  }

  /** The random numbers of the next step do not depend on those before: a list of steps can be shortened. */
  reseed(seed: number): void {
    this.next = random(seed);
  }

  pick(n: number): number {
    return Math.floor(this.next() * n);
  }

  oneOf<T>(items: readonly T[]): T {
    return items[this.pick(items.length)]!;
  }

  /** The roots that are there. */
  roots(): string[] {
    return [this.one, this.two, this.linked].filter((root) => existsSync(join(root, ".git")));
  }

  root(): string {
    return this.oneOf(this.roots());
  }

  /** The environment of git and of the processes under test: this home, and nothing of the machine's own settings. */
  env(path = process.env.PATH ?? ""): Record<string, string> {
    return { PATH: path, HOME: this.home, GIT_CONFIG_NOSYSTEM: "1", TMPDIR: process.env.TMPDIR ?? "/tmp", LC_ALL: "C" };
  }

  /** Runs git; a life makes calls that git refuses, which is not a failure. */
  git(cwd: string, ...args: string[]): { ok: boolean; out: Buffer; err: string } {
    const settings = ["user.name=t", "user.email=t@example.invalid", "protocol.file.allow=always", "gc.auto=0"];
    const words = [...settings.flatMap((setting) => ["-c", setting]), ...args];
    const env = { ...this.env(), GIT_EDITOR: "true", GIT_TERMINAL_PROMPT: "0" };
    const child = spawnSync(this.gitPath, words, { cwd, env, maxBuffer: 1 << 26, timeout: 60_000 });
    return { ok: child.status === 0, out: child.stdout ?? Buffer.alloc(0), err: String(child.stderr ?? "") };
  }

  /** A path for a new file; what is on the way to it may be a file or a link. */
  newPath(): string {
    const folder = this.oneOf(FOLDERS);
    const name = this.oneOf(NAMES);
    return folder === "" ? name : `${folder}/${name}`;
  }

  /** Files below a root, and folders where asked for, without git's own; links are not followed. */
  paths(root: string, kind: "file" | "folder" | "any" = "file"): string[] {
    const found: string[] = [];
    const visit = (folder: string) => {
      for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (entry.name === ".git" || path.includes("\uFFFD")) continue;
        if (entry.isDirectory()) {
          if (kind !== "file") found.push(path);
          visit(path);
        } else if (kind === "any" || (kind === "file" && entry.isFile())) found.push(path);
      }
    };
    visit("");
    return found.sort();
  }

  /** One of the paths; undefined where there is none. */
  path(root: string, kind: "file" | "folder" | "any" = "file"): string | undefined {
    const paths = this.paths(root, kind);
    return paths.length === 0 ? undefined : this.oneOf(paths);
  }

  /** Lines that are unlike those before. */
  text(lines: number): string {
    const line = () => {
      const words = Array.from({ length: 1 + this.pick(8) }, () => this.oneOf(WORDS));
      return this.pick(4) === 0 ? `function ${words.join("_")}${this.count++}() {` : words.join(" ");
    };
    return `${Array.from({ length: lines }, line).join("\n")}\n`;
  }

  /** Writes a file where the way to it is free; false where it is not. */
  writeText(root: string, path: string, lines: number): boolean {
    return this.write(root, path, this.text(lines));
  }

  write(root: string, path: string, content: string | Uint8Array): boolean {
    try {
      // To open a FIFO would wait for ever.
      if (lstatSync(join(root, path), { throwIfNoEntry: false })?.isFIFO()) return false;
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
      return true;
    } catch {
      return false;
    }
  }
}

/** Whether something is there, links that lead nowhere included. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
