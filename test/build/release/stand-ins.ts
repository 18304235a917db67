/** Stand-ins for the programs of others, and scripts that run with them. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../e2e/home.ts";
import { scratchDir } from "../../fixture.ts";

/** The scripts of the workflows. */
export const SCRIPTS = join(ROOT, ".github/scripts");

/** A folder of programs that note their words, and then run lines of bash. */
export class StandIns {
  readonly bin = scratchDir();
  private readonly log = join(scratchDir(), "log");

  constructor(programs: Record<string, string>) {
    writeFileSync(this.log, "");
    for (const [name, lines] of Object.entries(programs)) {
      const note = `printf '%s\\n' "${name} $*" >> '${this.log}'`;
      writeFileSync(join(this.bin, name), `#!/usr/bin/env bash\n${note}\n${lines}\n`, { mode: 0o755 });
    }
  }

  /** What was called, in order, without the paths of temporary files. */
  calls(): string[] {
    const text = readFileSync(this.log, "utf8").replace(/\/\S*\/(?=[\w.-]+)/g, "");
    return text.split("\n").filter((line) => line !== "");
  }
}

/** Runs a script with nothing of this process's environment, and with the folder for its temporary files empty. */
export function run(
  script: string,
  words: readonly string[],
  env: Record<string, string>,
  standIns?: StandIns,
  cwd?: string,
) {
  const temporary = scratchDir();
  const path = [standIns?.bin, process.env.PATH].filter(Boolean).join(":");
  const child = Bun.spawnSync(["bash", script, ...words], {
    env: { PATH: path, HOME: temporary, TMPDIR: temporary, ...env },
    stdin: "ignore",
    ...(cwd ? { cwd } : {}),
  });
  return {
    code: child.exitCode,
    out: child.stdout.toString(),
    said: child.stderr.toString(),
    left: readdirSync(temporary),
  };
}

/** A script in a folder that has only what is given beside it: it goes to its own repository's root. */
export function copied(name: string, beside: Record<string, string> = {}): string {
  const root = scratchDir();
  mkdirSync(join(root, ".github"));
  cpSync(SCRIPTS, join(root, ".github/scripts"), { recursive: true });
  for (const [file, text] of Object.entries(beside)) writeFileSync(join(root, file), text);
  return join(root, ".github/scripts", name);
}
