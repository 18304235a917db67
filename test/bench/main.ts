/** `npm run bench [-- start memory quality] [--json]`: figures beside a peer's or the machine's limit, in one run. */
import { type Line, report } from "./measure.ts";

const suites: Record<string, () => Promise<Line[]>> = {
  start: async () => (await import("./start.ts")).benchStart(),
  memory: async () => (await import("./memory.ts")).benchMemory(),
  quality: async () => (await import("./quality.ts")).benchQuality(),
};

const words = process.argv.slice(2);
const asked = words.filter((word) => !word.startsWith("-"));
const unknown = asked.filter((name) => !(name in suites));
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(", ")}; there are ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}
const lines: Line[] = [];
for (const name of asked.length > 0 ? asked : Object.keys(suites)) lines.push(...(await suites[name]!()));
report(lines, words.includes("--json"));
