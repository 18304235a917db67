/** Damages copies of stores in processes of their own and counts what became of them. */
import { join } from "node:path";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { scratchDir } from "../fixture.ts";
import { random } from "../random.ts";
import { type Case, casesOf, isDerived } from "./cases.ts";
import type { Task } from "./damage-worker.ts";
import { type Finding, isBad, VERDICTS } from "./judge.ts";
import { type Made, makeStore, RECIPES, type Recipe } from "./stores.ts";

const WORKER = join(import.meta.dir, "damage-worker.ts");

/** A case and what became of it. */
export interface Judged extends Finding {
  damaged: Case;
}

/** A process that does one task after the other and is started again where one kills it. */
class Worker {
  private child: Bun.Subprocess<"pipe", "pipe", "pipe"> | undefined;
  private lines: AsyncIterator<string> | undefined;

  async run(task: Task): Promise<Finding> {
    this.child ??= Bun.spawn([process.execPath, WORKER], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    this.lines ??= linesOf(this.child.stdout);
    this.child.stdin.write(`${JSON.stringify(task)}\n`);
    this.child.stdin.flush();
    const { value, done } = await this.lines.next();
    if (!done) return JSON.parse(value);
    const said = `${this.child.signalCode ?? (await this.child.exited)} ${await new Response(this.child.stderr).text()}`;
    this.child = this.lines = undefined;
    return { verdict: "dead", call: "", said: said.slice(0, 2000) };
  }

  async end(): Promise<void> {
    this.child?.stdin.end();
    await this.child?.exited;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let left = "";
  for await (const bytes of stream) {
    const lines = (left + decoder.decode(bytes, { stream: true })).split("\n");
    left = lines.pop()!;
    yield* lines;
  }
}

/** Which cases to try. */
export interface Plan {
  recipes?: readonly Recipe[];
  /** Of each store that many cases, chosen by the seed; all without. */
  most?: number;
  seed: number;
  processes: number;
  only?: (c: Case) => boolean;
  onJudged?: (judged: Judged) => void;
}

/** Makes the stores, damages them, and says what became of each case. */
export async function tryDamage(native: Native, plan: Plan): Promise<Judged[]> {
  const { recipes = RECIPES, most = Number.POSITIVE_INFINITY, seed, only = () => true } = plan;
  const next = random(seed);
  const workers = Array.from({ length: plan.processes }, () => new Worker());
  const judged: Judged[] = [];
  try {
    for (const recipe of recipes) {
      const made = await makeStore(scratchDir(), recipe, native, seed);
      const other = await makeStore(scratchDir(), recipe, native, seed + 1);
      const task = { dir: made.states.at(-1)!, rows: rowsOf(recipe), truth: join(scratchDir(), "truth.json") };
      const undamaged = await workers[0]!.run(task);
      if (undamaged.verdict !== "equal") throw new Error(`the undamaged store: ${undamaged.said}`);
      const cases = chosen(casesOf(made, other).filter(only), most, next);
      await Promise.all(
        workers.map(async (worker) => {
          for (let damaged = cases.pop(); damaged; damaged = cases.pop()) {
            const finding = await worker.run({ ...task, damaged, derived: derived(damaged, made) });
            judged.push({ damaged, ...finding });
            plan.onJudged?.(judged.at(-1)!);
          }
        }),
      );
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
  }
  return judged;
}

function rowsOf({ rows }: Recipe): string[] {
  return Array.from({ length: rows + 5 }, (_, i) => `row-${i}`);
}

function derived(damaged: Case, { recipe }: Made): boolean {
  return isDerived(damaged, recipe.dtype, recipe.model === undefined && !recipe.asCodes);
}

/** Some of each structure before a second one of any: cases in an order by how often their structure came before. */
function chosen(cases: Case[], most: number, next: () => number): Case[] {
  const shuffled = cases.map((c) => ({ c, at: next() })).sort((a, b) => a.at - b.at);
  const times = new Map<string, number>();
  const ranked = shuffled.map(({ c, at }) => {
    const kind = `${c.file.replace(/\d{16}|[0-9a-f]{16}/, "")} ${c.what.replace(/\d+/g, "")}`;
    const n = times.get(kind) ?? 0;
    times.set(kind, n + 1);
    return { c, order: n + at };
  });
  return ranked
    .sort((a, b) => a.order - b.order)
    .slice(0, most)
    .map(({ c }) => c);
}

/** The file's role. */
export const roleOf = ({ file }: Case) => /^\.?[a-z_]+/.exec(file)?.[0] ?? file;

/** Counts by kind of damage, file and verdict, as lines of a table. */
export function countsOf(judged: readonly Judged[]): string {
  const counts = new Map<string, number[]>();
  for (const { damaged, verdict } of judged) {
    const key = `${roleOf(damaged).padEnd(12)} ${damaged.how}${damaged.live ? ", open" : ""}`;
    const row = counts.get(key) ?? VERDICTS.map(() => 0);
    row[VERDICTS.indexOf(verdict)]!++;
    counts.set(key, row);
  }
  const head = `${"".padEnd(28)}${VERDICTS.map((v) => v.padStart(9)).join("")}`;
  const rows = [...counts].sort().map(([key, row]) => key.padEnd(28) + row.map((n) => String(n).padStart(9)).join(""));
  const sums = VERDICTS.map((_, i) => [...counts.values()].reduce((sum, row) => sum + row[i]!, 0));
  return [head, ...rows, `${"all".padEnd(28)}${sums.map((n) => String(n).padStart(9)).join("")}`].join("\n");
}

/** One line about a case, enough to run it again. */
export function lineOf({ damaged: c, verdict, call, said }: Judged): string {
  const by = c.by ? ` by ${c.by.split("/").slice(-3).join("/")}` : "";
  return `${verdict}: ${c.store} ${c.file} (${c.what}) ${c.how}${c.live ? " while open" : ""} at ${c.at}${by}; ${call}: ${said}`;
}

/** The cases that must not be. */
export const badOf = (judged: readonly Judged[]) => judged.filter(({ verdict }) => isBad(verdict));

// `bun test/fault/damage.ts [store|all] [most] [seed]`: the counts, then each bad case.
if (import.meta.main) {
  const { openBuiltNative } = await import("../native.ts");
  const [store = "all", most, seed = "1"] = process.argv.slice(2);
  const judged = await tryDamage(await openBuiltNative(), {
    recipes: RECIPES.filter(({ name }) => store === "all" || store === name),
    most: most === undefined ? undefined : Number(most),
    seed: Number(seed),
    processes: 2,
  });
  for (const bad of badOf(judged)) console.log(lineOf(bad));
  console.log(countsOf(judged));
}
