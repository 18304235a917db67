/** A work tree of ordinary source files, made of a seed: so many files, of lengths and lines as projects have them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { random } from "../../random.ts";

/** What is made. */
export interface Generated {
  /** Files that are added to git. */
  files: number;
  /** Files below an ignored `node_modules` beside them. */
  ignored: number;
  /** Files that are neither added nor ignored. */
  untracked: number;
  seed: number;
}

const FILES_IN_FOLDER = 12;
/** The middle length of a file in lines; a tenth of them has more than three times as many. */
const LINES = 90;
const SPREAD = 0.9;
/** Names that all files share, few of them often: as words in source code are. */
const NAMES = 4000;
/** Names that a file has for itself. */
const OWN_NAMES = 12;

// biome-ignore format: one line
const SYLLABLES = "ac al an ar be ble ca ce co con da de der di en er ex fa fi for ge ha in ing is ject ke la le ler lo ma me men ment mo na nex no ob on or out par pe ple po pre pro que ra re ri ro sa se ser si so sta ta te ter ti tion to tra tu up us va ve ver wa".split(" ");
const WORDS =
  "the of a to is in that for when it as not with are be this by from on or an if value error list first next".split(
    " ",
  );

/** Writes it into an empty folder and adds its files to git. @throws Error where git fails */
export function generateTree(root: string, { files, ignored, untracked, seed }: Generated): void {
  const writer = new Writer(seed);
  const folders = Math.ceil(files / FILES_IN_FOLDER);
  for (let i = 0; i < files; i++) writer.source(join(root, folderOf(i % folders)), i);
  writeFileSync(join(root, ".gitignore"), "node_modules/\n*.log\n");
  git(root, "init", "-q");
  git(root, "add", "-A");
  for (let i = 0; i < untracked; i++) writer.source(join(root, "drafts", `d${i % 20}`), i);
  for (let i = 0; i < ignored; i++)
    writer.source(join(root, "node_modules", `package${i % 400}`, `lib${i % 3}`), i, 0.3);
}

/** Folders of folders, some ten in each. */
function folderOf(i: number): string {
  const parts = [...String(i)].map((digit, at) => `${["core", "net", "ui", "data", "tools"][at % 5]}${digit}`);
  return join(...parts);
}

class Writer {
  private readonly next: () => number;
  private readonly names: string[];

  constructor(seed: number) {
    this.next = random(seed);
    this.names = Array.from({ length: NAMES }, () => this.newName());
  }

  /** A file of one of four kinds. `scale`: of the usual length. */
  source(folder: string, i: number, scale = 1): void {
    mkdirSync(folder, { recursive: true });
    const own = Array.from({ length: OWN_NAMES }, () => this.newName());
    const [extension, line] = KINDS[i % KINDS.length]!;
    const lines = Math.ceil(LINES * scale * Math.exp(SPREAD * this.normal()));
    const name = () => (this.next() < 0.35 ? own[Math.floor(this.next() * OWN_NAMES)]! : this.shared());
    const words = (most: number) => Array.from({ length: 1 + this.pick(most) }, () => this.word()).join(" ");
    const text = Array.from({ length: lines }, (_, at) => line(this.pick(8), at, name, words)).join("\n");
    writeFileSync(join(folder, `${own[0]}_${i}.${extension}`), `${text}\n`);
  }

  private newName(): string {
    const syllables = Array.from({ length: 2 + this.pick(3) }, () => SYLLABLES[this.pick(SYLLABLES.length)]!);
    const second = syllables.slice(2).join("");
    return syllables.slice(0, 2).join("") + second.charAt(0).toUpperCase() + second.slice(1);
  }

  /** One of the shared names, the first ones more often. */
  private shared(): string {
    return this.names[Math.floor(NAMES * this.next() ** 3)]!;
  }

  private word(): string {
    return this.next() < 0.6 ? WORDS[this.pick(WORDS.length)]! : this.shared().toLowerCase();
  }

  private pick(n: number): number {
    return Math.floor(this.next() * n);
  }

  private normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}

type Line = (which: number, at: number, name: () => string, words: (most: number) => string) => string;

const script: Line = (which, at, name, words) => {
  if (at % 24 === 0) return `export function ${name()}(${name()}: string, ${name()}: number) {`;
  if (which === 0) return "";
  if (which === 1) return `  // ${words(12)}`;
  if (which === 2) return `  if (${name()}.${name()} === undefined) return ${name()};`;
  if (which < 6) return `  const ${name()} = ${name()}.${name()}(${name()}, ${at});`;
  return which === 6 ? `  throw new Error("${words(8)}");` : "}";
};
const indented: Line = (which, at, name, words) => {
  if (at % 20 === 0) return `def ${name()}(self, ${name()}, ${name()}=None):`;
  if (which === 0) return "";
  if (which === 1) return `    """${words(14)}."""`;
  if (which < 5) return `    ${name()} = self.${name()}(${name()})`;
  return which === 5 ? `    for ${name()} in ${name()}.${name()}:` : `        return ${name()}[${at}]`;
};
const braces: Line = (which, at, name, words) => {
  if (at % 22 === 0) return `func (s *${name()}) ${name()}(ctx ${name()}) error {`;
  if (which === 0) return "";
  if (which === 1) return `\t// ${words(12)}`;
  if (which < 5) return `\t${name()} := s.${name()}.${name()}(${name()})`;
  return which === 5 ? `\tif err != nil { return fmt.Errorf("${words(6)}: %w", err) }` : "}";
};
const prose: Line = (which, at, name, words) => {
  if (at % 15 === 0) return `## ${words(5)}`;
  return which === 0 ? "" : which === 1 ? `- \`${name()}\`: ${words(10)}` : `${words(14)} ${words(6)}.`;
};

const KINDS: readonly (readonly [string, Line])[] = [
  ["ts", script],
  ["py", indented],
  ["go", braces],
  ["ts", script],
  ["py", indented],
  ["md", prose],
];

function git(cwd: string, ...args: string[]): void {
  const run = Bun.spawnSync(["git", ...args], { cwd, stdin: "ignore" });
  if (!run.success) throw new Error(`git ${args[0]} failed in ${cwd}: ${run.stderr.toString().trim()}`);
}
