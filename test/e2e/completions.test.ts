/** What Tab does in real shells, with the executable: candidates, and names that a shell would take apart or run. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SVC, svc } from "./home.ts";

/** Collections that a name is dangerous of, or hard to write. */
const NAMES = ["notes", "my notes", "it's", 'say "hi"', "$(touch ran)", "`touch ran`", "a:b", "back\\slash", "übung"];

let folder: string;
let env: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-completions-"));
  for (const name of NAMES) {
    mkdirSync(join(folder, "memory", name), { recursive: true });
    writeFileSync(join(folder, "memory", name, "collection.json"), "{}");
  }
  mkdirSync(join(folder, "work/inner folder"), { recursive: true });
  writeFileSync(join(folder, "work/a file.txt"), "");
  env = {
    ...{ PATH: `${dirname(SVC)}:${process.env.PATH}`, HOME: folder, SVC_MEMORY_PATH: join(folder, "memory") },
    ...{ TERM: "xterm", LC_ALL: "C.UTF-8", INPUTRC: "/dev/null", HISTFILE: "" },
  };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Whether nothing was made in the folder that the shells run in. */
function expectNothingRan(): void {
  expect(readdirSync(join(folder, "work")).sort()).toEqual(["a file.txt", "inner folder"]);
}

/** A shell on a pseudo-terminal, in which `svc` prints the words that it gets. */
class Typed implements Disposable {
  #text = "";
  #changed = Promise.withResolvers<void>();
  readonly #child: Bun.Subprocess;

  constructor(command: string[]) {
    this.#child = Bun.spawn(command, {
      env,
      cwd: join(folder, "work"),
      terminal: {
        ...{ cols: 200, rows: 50 },
        data: (_, bytes) => {
          this.#text += new TextDecoder().decode(bytes);
          this.#changed.resolve();
        },
      },
    });
    void this.#child.exited.then(() => this.#changed.resolve());
  }

  /** Types keys, and waits for what `end` shows. @returns what was shown since */
  async type(keys: string, end: RegExp): Promise<string> {
    this.#text = "";
    this.#child.terminal!.write(keys);
    while (!end.test(this.#text)) {
      if (this.#child.exitCode !== null) throw new Error(`the shell ended: ${this.#text}`);
      this.#changed = Promise.withResolvers();
      await this.#changed.promise;
    }
    return this.#text;
  }

  /** The words that `svc` gets of a line with Tabs in it. */
  async words(line: string): Promise<string[]> {
    const shown = await this.type(`${line}\r`, /<done>/);
    return [...shown.matchAll(/<([^\r\n]*?)>\r?\n/g)].map(([, word]) => word!).filter((word) => word !== "done");
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
    this.#child.terminal!.close();
  }
}

const PRINT_WORDS = `svc() { printf '<%s>\\n' "$@"; echo '<done'\\>; }; echo rea''dy\r`;

/** Lines with Tabs, and the words that the command gets. */
const LINES: [string, string[]][] = [
  ["svc me\tsear\tno\tq", ["mem", "search", "notes", "q"]],
  ["svc --json me\tcou\tno\t", ["--json", "mem", "count", "notes"]],
  ["svc help comp\t", ["help", "completions"]],
  ["svc mem count my\t", ["mem", "count", "my notes"]],
  ['svc mem count "my\t', ["mem", "count", "my notes"]],
  ["svc mem count 'my\t", ["mem", "count", "my notes"]],
  ["svc mem count my\\ n\t", ["mem", "count", "my notes"]],
  ["svc mem count it\t", ["mem", "count", "it's"]],
  ["svc mem count say\t", ["mem", "count", 'say "hi"']],
  ["svc mem count \\$\t", ["mem", "count", "$(touch ran)"]],
  ["svc mem count \\`\t", ["mem", "count", "`touch ran`"]],
  ["svc mem count a\\:\t", ["mem", "count", "a:b"]],
  ["svc mem count ba\t", ["mem", "count", "back\\slash"]],
  ["svc mem repo-search q --form=win\t", ["mem", "repo-search", "q", "--form=windows"]],
  ["svc mem repo-search q --for\tgr\t", ["mem", "repo-search", "q", "--form", "grep"]],
  ["svc mem add notes --file a\t", ["mem", "add", "notes", "--file", "a file.txt"]],
  ["svc completions fi\t", ["completions", "fish"]],
];

const bash = Bun.which("bash");
describe.skipIf(!bash)("bash (skipped where there is none)", () => {
  test("Tab completes the line", async () => {
    using shell = new Typed([bash!, "--norc", "--noprofile", "-i"]);
    await shell.type(`eval "$(svc completions bash)"; ${PRINT_WORDS}`, /[\r\n]ready/);
    for (const [line, words] of LINES) expect([line, await shell.words(line)]).toEqual([line, words]);
    expectNothingRan();
  });
});

const zsh = Bun.which("zsh");
describe.skipIf(!zsh)("zsh (skipped where there is none)", () => {
  test("Tab completes the line", async () => {
    using shell = new Typed([zsh!, "-f", "-i"]);
    const start = "autoload -U compinit; compinit -u -D; unsetopt beep; setopt no_list_ambiguous";
    await shell.type(`${start}; eval "$(command svc completions zsh)"; ${PRINT_WORDS}`, /[\r\n]ready/);
    for (const [line, words] of LINES) expect([line, await shell.words(line)]).toEqual([line, words]);
    expectNothingRan();
  });
});

const fish = Bun.which("fish");
describe.skipIf(!fish)("fish (skipped where there is none)", () => {
  test("lists the candidates, and writes them so that they stay one word", async () => {
    const { out } = await svc(env, ["completions", "fish"]);
    const script = join(folder, "svc.fish");
    writeFileSync(script, out);
    const lines = [
      ...["svc mem sea", "svc --json mem count ", "svc mem count my", "svc mem repo-search --form=win"],
      ...["svc mem add notes --file a", "svc mem list --path in"],
    ];
    const commands = lines.map((line) => `complete --escape -C '${line}'; echo ++`).join("; ");
    const child = Bun.spawnSync([fish!, "--no-config", "-c", `source ${script}; ${commands}`], {
      env,
      cwd: join(folder, "work"),
    });
    const found = child.stdout
      .toString()
      .split("++\n")
      .map((list) => list.trimEnd().split("\n"));
    const quoted = ["\\$\\(touch\\ ran\\)", "`touch\\ ran`", "a:b", "back\\\\slash", "it\\'s", "my\\ notes", "notes"];
    const names = [...quoted, 'say\\ \\"hi\\"', "übung"].map((name) => `${name}\tcollection`);
    expect(child.stderr.toString()).toBe("");
    expect(found.map((list) => list.sort())).toEqual([
      ["search\tsearch by words and meaning, or by words alone"],
      names.sort(),
      ["my\\ notes\tcollection"],
      ["--form=windows"],
      ["a\\ file.txt"],
      ["inner\\ folder/"],
      [""],
    ]);
    expectNothingRan();
  });
});
