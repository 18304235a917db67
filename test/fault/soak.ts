/**
 * `npm run test:soak [-- --minutes N] [--seed S]`: the fault suite with every errno, 100,000 distinct states of power
 * cuts a round, every damage, lives, untrusted bytes and swaps of the runtime (parts.ts), and other seeds from round to
 * round, for so many minutes (60) or until something is wrong. A seed that found something is run again with `--seed`.
 */
import { parseArgs } from "node:util";
import { PARTS } from "./parts.ts";
import { buildFault, runFault } from "./program.ts";

const { values } = parseArgs({ options: { minutes: { type: "string" }, seed: { type: "string" } } });
const minutes = Number(values.minutes ?? 60);
const first = Number(values.seed ?? Date.now() % 1_000_000_000);
if (!(minutes > 0) || !Number.isSafeInteger(first) || first < 0) {
  console.error("test:soak takes --minutes, a number above 0, and --seed, a whole number");
  process.exit(2);
}

const RUNS = [
  ["power", "100000", "200"],
  ["fail", "200", "all"],
  ["kill", "200"],
  ["pair", "20"],
  ["beside"],
  ["flip", "100"],
  ["plants"],
];

const program = await buildFault();
const end = performance.now() + minutes * 60_000;
let failed = 0;
for (let seed = first; failed === 0 && (seed === first || performance.now() < end); seed++) {
  for (const words of RUNS) {
    if (seed > first && performance.now() > end) break;
    const { out, code } = await runFault(program, [String(seed), ...words]);
    console.log(`seed ${seed}, ${words.join(" ")}: ${out.trim().split("\n").slice(1).join("; ")}`);
    if (code !== 0) failed++;
  }
  for (const [name, part] of Object.entries(PARTS)) {
    if (seed > first && performance.now() > end) break;
    const { said, good } = await part(seed).catch((error) => ({ said: Bun.inspect(error), good: false }));
    console.log(`seed ${seed}, ${name}: ${said}`);
    if (!good) failed++;
  }
}
process.exit(failed > 0 ? 1 : 0);
