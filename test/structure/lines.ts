/**
 * Counts lines of code without blanks, comments, tables and generated files, per room, beside an earlier commit:
 *
 *   bun test/structure/lines.ts [COMMIT]
 */
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
/** Data in the form of source: generated tables and lists of characters. */
const TABLES = /_table\.h$|_forms\.h$|\.gen\.|\/golden\//;
const SOURCE = /^(?:src|ffi|test)\/.*\.(?:ts|c|h|py)$|^build\.ts$/;

const git = (...words: string[]) => {
  const { success, stdout, stderr } = Bun.spawnSync(["git", ...words], { cwd: ROOT });
  if (!success) throw new Error(`git ${words.join(" ")}: ${stderr}`);
  return stdout;
};

/** Lines with code on them. Strings are matched first, because they may hold the signs that begin a comment. */
export function codeLines(name: string, source: string): number {
  const code = name.endsWith(".py")
    ? source.replace(/^\s*(?:"""[\s\S]*?"""|#.*)$/gm, "")
    : source.replace(
        /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/.*/g,
        (_, text?: string) => text ?? "",
      );
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

/** The sources of a commit by their path; of the working tree where no commit is named. */
async function sources(commit?: string): Promise<Map<string, string>> {
  const list = commit
    ? git("ls-tree", "-rz", "--name-only", commit)
    : git("ls-files", "-z", "-co", "--exclude-standard");
  const names = list
    .toString()
    .split("\0")
    .filter((name) => SOURCE.test(name) && !TABLES.test(name));
  if (!commit) {
    const files = names.map((name) => [name, Bun.file(join(ROOT, name))] as const);
    const texts = await Promise.all(
      files.map(async ([name, file]) => [name, await file.text().catch(() => "")] as const),
    );
    return new Map(texts);
  }
  // One process for all files: `git show` for each of 1,500 takes a minute.
  const input = names.map((name) => `${commit}:${name}\n`).join("");
  const { stdout } = Bun.spawnSync(["git", "cat-file", "--batch"], { cwd: ROOT, stdin: Buffer.from(input) });
  const found = new Map<string, string>();
  let at = 0;
  for (const name of names) {
    const end = stdout.indexOf(10, at);
    const size = Number(stdout.subarray(at, end).toString().split(" ")[2]);
    found.set(name, stdout.subarray(end + 1, end + 1 + size).toString());
    at = end + size + 2;
  }
  return found;
}

const isTest = (name: string) => name.startsWith("test/");

async function count(commit?: string): Promise<{ product: number; tests: number; rooms: Map<string, number> }> {
  const rooms = new Map<string, number>();
  let [product, tests] = [0, 0];
  for (const [name, source] of await sources(commit)) {
    const lines = codeLines(name, source);
    if (isTest(name)) tests += lines;
    else product += lines;
    const room = name.split("/").slice(0, 2).join("/");
    rooms.set(room, (rooms.get(room) ?? 0) + lines);
  }
  return { product, tests, rooms };
}

if (import.meta.main) {
  const commit = process.argv[2];
  const now = await count();
  const before = commit === undefined ? undefined : await count(commit);
  const line = (name: string, lines: number, old?: number) =>
    console.log(name.padEnd(24), String(lines).padStart(7), old === undefined ? "" : `${old} before, ${lines - old}`);
  for (const [room, lines] of [...now.rooms].sort()) line(room, lines, before && (before.rooms.get(room) ?? 0));
  line("product", now.product, before?.product);
  line("tests", now.tests, before?.tests);
}
