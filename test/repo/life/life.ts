/**
 * A life of repositories in one collection: steps by chance, and after some of them every repository's rows and answers
 * have to be those of a fresh index in an empty memory, its files those that git lists.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { CALL_STEPS } from "./call-steps.ts";
import { Caller } from "./caller.ts";
import { differences } from "./differences.ts";
import { expectedIn } from "./expected.ts";
import { FILE_STEPS } from "./file-steps.ts";
import { GIT_STEPS, RULE_STEPS } from "./git-steps.ts";
import { World } from "./world.ts";

export interface LifeOptions {
  seed: number;
  /** Numbers of the steps that are taken; each depends on its number and the seed only. */
  steps: readonly number[];
  /** Steps between two comparisons, of their numbers. */
  every: number;
  /** Compares after the last step, too. */
  last?: boolean;
  /** The processes under test find no git. */
  withoutGit?: boolean;
  /** Called with what each step is. */
  log?: (line: string) => void;
}

/** What was found first to be wrong. */
export interface Difference {
  /** The number of the step after which it was seen. */
  step: number;
  /** What was wrong, and the steps that were taken. */
  lines: string[];
  taken: string[];
}

const STEPS = Object.entries({ ...FILE_STEPS, ...GIT_STEPS, ...RULE_STEPS });
const CALLS = Object.entries(CALL_STEPS);

/** Of three steps one is a call. */
const CALLS_ONE_IN = 3;

/** Lives; returns the first difference, undefined where there was none. The memory is left in `dir`/memory. */
export async function live(
  options: LifeOptions,
  dir = mkdtempSync(join(tmpdir(), "svc-life-")),
): Promise<Difference | undefined> {
  const { seed, steps, every, withoutGit = false, last = false, log } = options;
  const world = new World(dir, seed);
  const empty = join(dir, "no-programs");
  mkdirSync(empty);
  const env = world.env(withoutGit ? empty : undefined);
  const memory = join(dir, "memory");
  const start = () => Caller.start(memory, env);
  const callers: [Caller, Caller] = [await start(), await start()];
  const taken: string[] = [];
  try {
    for (const step of steps) {
      world.reseed(seed * 1_000_003 + step);
      const isCall = world.pick(CALLS_ONE_IN) === 0;
      const name = isCall ? drawn(world, CALLS) : drawn(world, STEPS);
      taken.push(`${step}: ${name}`);
      log?.(taken.at(-1)!);
      try {
        if (isCall) await CALL_STEPS[name]![1]({ world, callers, start });
        else (FILE_STEPS[name] ?? GIT_STEPS[name] ?? RULE_STEPS[name])![1](world);
      } catch (error) {
        if (isCall) return { step, lines: [(error as Error).message], taken };
      }
      const isLast = last && step === steps.at(-1);
      if (step % every !== every - 1 && !isLast) continue;
      const lines = await compare(world, world.oneOf(callers), env);
      if (lines.length > 0) return { step, lines, taken };
    }
    return undefined;
  } finally {
    for (const caller of callers) await caller.close();
  }
}

/** A name, as often as its figure says. */
function drawn(world: World, steps: readonly (readonly [string, readonly [number, unknown]])[]): string {
  let at = world.pick(steps.reduce((sum, [, [weight]]) => sum + weight, 0));
  for (const [name, [weight]] of steps) {
    at -= weight;
    if (at < 0) return name;
  }
  throw new Error("weights are whole numbers");
}

/** Compares every root with a fresh index by another process. */
async function compare(world: World, lived: Caller, env: Record<string, string>): Promise<string[]> {
  const dir = mkdtempSync(join(world.dir, "fresh-"));
  const fresh = await Caller.start(dir, env);
  const lines: string[] = [];
  try {
    for (const [i, root] of world.roots().entries()) {
      const found = await differences({ lived, fresh, root, name: `fresh${i}`, expected: expectedIn(world, root) });
      lines.push(...found.map((line) => `${root}: ${line}`));
    }
    const known = new Set(await lived.call("repositories"));
    if (!existsSync(world.linked) && world.roots().includes(world.one) && known.has(repoIdOf(world.linked))) {
      lines.push("rows of the removed work tree are still there");
    }
    await lived.call("verify");
  } catch (error) {
    lines.push((error as Error).message);
  } finally {
    await fresh.close();
    rmSync(dir, { recursive: true, force: true });
  }
  return lines;
}
