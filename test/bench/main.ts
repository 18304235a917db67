/**
 * `npm run bench [-- start memory quality serve soak vectors calibration] [--json]`: figures beside a peer's or the machine's limit, in one
 * run. Those that take minutes, from `soak` on, run only where they are named. `vectors` takes options of its own: vectors/options.ts.
 */
import { type Line, report } from "./measure.ts";
import { TAKING, takeOptions, type VectorOptions } from "./vectors/options.ts";

const words = process.argv.slice(2);
const vectors = optionsOrExit();

const suites: Record<string, () => Promise<Line[]>> = {
  start: async () => (await import("./start.ts")).benchStart(),
  memory: async () => (await import("./memory.ts")).benchMemory(),
  quality: async () => (await import("./quality.ts")).benchQuality(),
  serve: async () => (await import("./serve.ts")).benchServe(),
};
/** Only where they are named. */
const long: typeof suites = {
  soak: async () => (await import("./soak.ts")).benchSoak(),
  vectors: async () => (await import("./vectors/bench.ts")).benchVectors(vectors),
  calibration: async () => (await import("./vectors/calibration.ts")).benchCalibration(),
};

const all = { ...suites, ...long };
const asked = words.filter((word) => word !== "--json");
const flags = asked.filter((word) => word.startsWith("-"));
if (flags.length > 0) {
  console.error(`there is no option ${flags.join(", ")}; there are ${TAKING.join(", ")}`);
  process.exit(2);
}
const unknown = asked.filter((name) => !Object.hasOwn(all, name));
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(", ")}; there are ${Object.keys(all).join(", ")}`);
  process.exit(2);
}
const lines: Line[] = [];
for (const name of asked.length > 0 ? asked : Object.keys(suites)) lines.push(...(await all[name]!()));
report(lines, words.includes("--json"));

function optionsOrExit(): VectorOptions {
  try {
    return takeOptions(words);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
