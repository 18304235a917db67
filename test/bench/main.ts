/**
 * `npm run bench [-- start memory durable quality serve soak writers hooks first-memory authority vectors text words import growth repo day history calibration kernel beyond simulate] [--json]`: figures
 * beside a peer's or the machine's limit, in one run. Suites from `soak` on take minutes and run only where named.
 * Options: options.ts.
 */
import { AUTHORITY_OPTIONS, authorityOptions } from "./authority/options.ts";
import { BEYOND_OPTIONS, beyondOptions } from "./beyond/options.ts";
import { SIMULATE_OPTIONS, simulate, simulateOptions } from "./beyond/simulate.ts";
import { DAY_OPTIONS, dayOptions } from "./day/options.ts";
import { GROWTH_OPTIONS, growthOptions } from "./growth/options.ts";
import { IMPORT_OPTIONS, importOptions } from "./import/options.ts";
import { KERNEL_OPTIONS, kernelOptions } from "./kernel/bench.ts";
import { type Line, report } from "./measure.ts";
import { type Known, type ParsedArguments, readWords } from "./options.ts";
import { QUALITY_OPTIONS, qualityOptions } from "./quality/options.ts";
import { REPO_OPTIONS, repoOptions } from "./repo/options.ts";
import { TEXT_OPTIONS, textOptions } from "./text/options.ts";
import { VECTOR_OPTIONS, vectorOptions } from "./vectors/options.ts";
import { WORDS_OPTIONS, wordsOptions } from "./words/options.ts";

/** A suite, in two steps: its options are checked before anything runs. */
interface Suite extends Known {
  prepare(asked: ParsedArguments): () => Promise<Line[]>;
}

const SUITES: Readonly<Record<string, Suite>> = {
  start: {
    prepare: () => async () => {
      const { benchStart } = await import("./start.ts");
      const { benchCommands } = await import("./commands.ts");
      return [...(await benchStart()), ...(await benchCommands())];
    },
  },
  memory: { prepare: () => async () => (await import("./memory.ts")).benchMemory() },
  durable: { prepare: () => async () => (await import("./durable.ts")).benchDurable() },
  quality: {
    options: QUALITY_OPTIONS,
    prepare(asked) {
      const options = qualityOptions(asked);
      return async () => (await import("./quality/bench.ts")).benchQuality(options);
    },
  },
  serve: { prepare: () => async () => (await import("./serve.ts")).benchServe() },
  "first-memory": { isLong: true, prepare: () => async () => (await import("./first-memory.ts")).benchFirstMemory() },
  hooks: { isLong: true, prepare: () => async () => (await import("./hooks.ts")).benchHooks() },
  authority: {
    isLong: true,
    options: AUTHORITY_OPTIONS,
    prepare(asked) {
      const options = authorityOptions(asked);
      return async () => (await import("./authority/bench.ts")).benchAuthority(options);
    },
  },
  soak: { isLong: true, prepare: () => async () => (await import("./soak.ts")).benchSoak() },
  writers: { isLong: true, prepare: () => async () => (await import("./writers.ts")).benchWriters() },
  vectors: {
    isLong: true,
    options: VECTOR_OPTIONS,
    prepare({ given }) {
      const options = vectorOptions(given);
      return async () => (await import("./vectors/bench.ts")).benchVectors(options);
    },
  },
  text: {
    isLong: true,
    options: TEXT_OPTIONS,
    prepare(asked) {
      const options = textOptions(asked);
      return async () => (await import("./text/bench.ts")).benchText(options);
    },
  },
  words: {
    isLong: true,
    options: WORDS_OPTIONS,
    prepare(asked) {
      const options = wordsOptions(asked);
      return async () => (await import("./words/bench.ts")).benchWords(options);
    },
  },
  import: {
    isLong: true,
    options: IMPORT_OPTIONS,
    prepare(asked) {
      const options = importOptions(asked);
      return async () => (await import("./import/bench.ts")).benchImport(options);
    },
  },
  growth: {
    isLong: true,
    options: GROWTH_OPTIONS,
    prepare(asked) {
      const options = growthOptions(asked);
      return async () => (await import("./growth/bench.ts")).benchGrowth(options);
    },
  },
  repo: {
    isLong: true,
    options: REPO_OPTIONS,
    prepare(asked) {
      const options = repoOptions(asked);
      return async () => (await import("./repo/bench.ts")).benchRepo(options);
    },
  },
  day: {
    isLong: true,
    options: DAY_OPTIONS,
    prepare(asked) {
      const options = dayOptions(asked);
      return async () => (await import("./day/bench.ts")).benchDay(options);
    },
  },
  beyond: {
    isLong: true,
    options: BEYOND_OPTIONS,
    prepare(asked) {
      const options = beyondOptions(asked);
      return async () => (await import("./beyond/bench.ts")).benchBeyond(options);
    },
  },
  simulate: {
    isLong: true,
    options: SIMULATE_OPTIONS,
    prepare(asked) {
      const measured = simulateOptions(asked);
      return async () => simulate(measured);
    },
  },
  history: { isLong: true, prepare: () => async () => (await import("./history.ts")).benchHistory() },
  kernel: {
    isLong: true,
    options: KERNEL_OPTIONS,
    prepare({ given }) {
      const thousand = kernelOptions(given);
      return async () => (await import("./kernel/bench.ts")).benchKernel(thousand);
    },
  },
  calibration: {
    isLong: true,
    prepare: () => async () => (await import("./vectors/calibration.ts")).benchCalibration(),
  },
};

const { asked, runs } = preparedOrExit();
const lines: Line[] = [];
for (const run of runs) lines.push(...(await run()));
report(lines, asked.isJson);

function preparedOrExit() {
  try {
    const asked = readWords(process.argv.slice(2), SUITES);
    return { asked, runs: asked.suites.map((name) => SUITES[name]!.prepare(asked)) };
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
