/**
 * `npm run bench [-- start memory quality serve soak] [--json]`: figures beside a peer's or the machine's limit, in one run. `soak` takes five
 * minutes and runs only where it is named.
 */
import { type Line, report } from "./measure.ts";

const suites: Record<string, () => Promise<Line[]>> = {
  start: async () => (await import("./start.ts")).benchStart(),
  memory: async () => (await import("./memory.ts")).benchMemory(),
  quality: async () => (await import("./quality.ts")).benchQuality(),
  serve: async () => (await import("./serve.ts")).benchServe(),
};
/** Only where they are named. */
const long: typeof suites = {
  soak: async () => (await import("./soak.ts")).benchSoak(),
};

const words = process.argv.slice(2);
const all = { ...suites, ...long };
const asked = words.filter((word) => !word.startsWith("-"));
const unknown = asked.filter((name) => !Object.hasOwn(all, name));
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(", ")}; there are ${Object.keys(all).join(", ")}`);
  process.exit(2);
}
const lines: Line[] = [];
for (const name of asked.length > 0 ? asked : Object.keys(suites)) lines.push(...(await all[name]!()));
report(lines, words.includes("--json"));
