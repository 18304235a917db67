/** The set `commits`: messages of a repository's commits as queries for the files that they touched. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Its name. */
export const COMMITS = "commits";
/** The tree is the one before so many commits. */
const AGE = 1000;

/**
 * Makes the set below `scratch` by the script beside the other sets; returns its folder.
 *
 * @throws Error with a sentence where it cannot be made here
 */
export function makeCommits(data: string, repository: string, scratch: string): string {
  const script = join(data, "commits.py");
  const python = Bun.which("python3");
  if (!python) throw new Error("python3, which makes it, is not on this machine");
  if (!existsSync(script)) throw new Error("commits.py, which makes it, is not beside this checkout");
  const dir = join(scratch, COMMITS);
  const run = Bun.spawnSync([python, script, repository, dir, "--commits", `${AGE}`], { stdin: "ignore" });
  if (!run.success)
    throw new Error(run.stderr.toString().trim().split("\n").at(-1) || "commits.py failed and printed nothing");
  return dir;
}
