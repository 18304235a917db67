/**
 * `bun test/repo/life/long.ts [--steps 1000] [--seeds 4 | --seed N] [--every 5] [--without-git]`: long lives. A
 * difference is printed with the shortest list of steps that was found to lead to it; the exit code is 1.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Difference, type LifeOptions, live } from "./life.ts";
import { shortened } from "./shorten.ts";

const words = process.argv.slice(2);
const figure = (name: string, fallback: number) => {
  const at = words.indexOf(name);
  return at < 0 ? fallback : Number(words[at + 1]);
};
const withoutGit = words.includes("--without-git");
const seed = figure("--seed", 0);
const seeds =
  seed > 0 ? [seed] : Array.from({ length: figure("--seeds", 4) }, () => 1 + Math.floor(Math.random() * 1e9));
const numbers = Array.from({ length: figure("--steps", 1000) }, (_, i) => i);
const every = figure("--every", 5);

let wrong = 0;
for (const seed of seeds) {
  console.log(`seed ${seed}: ${numbers.length} steps${withoutGit ? ", without git" : ""}`);
  const found = await lived({ seed, steps: numbers, every, withoutGit });
  if (!found) continue;
  wrong++;
  print(`seed ${seed}, after step ${found.step}`, found);
  const options = { seed, every, withoutGit };
  const shortest = await shortened(found, (steps) => lived({ ...options, steps, every: 1e9, last: true }));
  print(`the shortest list of steps (${shortest.taken.length})`, shortest);
}
console.log(wrong === 0 ? "no differences" : `${wrong} of ${seeds.length} seeds have a difference`);
process.exit(wrong === 0 ? 0 : 1);

async function lived(options: LifeOptions): Promise<Difference | undefined> {
  const dir = mkdtempSync(join(tmpdir(), "svc-life-"));
  try {
    return await live(options, dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function print(title: string, { lines, taken }: Difference): void {
  console.log(
    [`${title}:`, ...lines.map((line) => `  ${line}`), ...taken.slice(-40).map((step) => `    ${step}`)].join("\n"),
  );
}
