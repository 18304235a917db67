/**
 * `npm run test:native`: the C tests and the fuzz drivers under AddressSanitizer with UndefinedBehaviorSanitizer, and
 * the tests under ThreadSanitizer, with the system's compiler (the one from npm has no sanitizer libraries).
 * `npm run test:native -- types_test store_fuzz` runs only those of these names. With `--arm64` before the names, the C
 * tests of `npm test` run instead, as Linux on arm64 runs them: under QEMU, compiled by the compiler from npm.
 */
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { includesOf, LIBRARIES, nativeSources } from "../../src/build/compile.ts";
import { EMULATOR_NEEDS, emulator } from "../arm64.ts";
import { buildTest, PROGRAMS } from "./programs.ts";
import { OPTIONS, VALIDATOR } from "./validator.ts";

const ROOT = OPTIONS.root;
/** The programs and what each is run with; the fuzz drivers take a seed and a number of rounds and print the seed. */
const TESTS = [
  ["ask_many_test"],
  ["beside_test", "-", "-", "few"],
  ["damage_test"],
  ["filter_test"],
  ["full_test"],
  ["history_test"],
  ["kernel_test"],
  ["kernel_i4_test"],
  ["kernel_lines_test"],
  ["kernel_sparse_test", "500"],
  ["kernel_terms_test"],
  ["kernel_words_test"],
  ["labels_test"],
  ["lines_test"],
  ["manifest_test"],
  ["meaning_test", "1"],
  ["numbers_test"],
  ["packed_test"],
  ["partners_test"],
  ["passages_test"],
  ["scan_test", "few"],
  ["search_test"],
  ["sparse_test"],
  ["store_test"],
  ["store_test", "-", "spill"],
  ["symbols_test"],
  ["tree_test"],
  ["turns_test"],
  ["types_test"],
  ["unknown_test"],
  ["validate_test"],
  ["weights_test"],
  ["weights_partition_test"],
] as const;
/** Not under ThreadSanitizer. */
const FUZZERS = [
  // It has no threads.
  ["encode_test", ".build/meaning.bin"],
  ["kernel_fuzz", "2000", "1", ".build/meaning.bin"],
  ["kernel_sparse_test", "20000", "2"],
  ["passages_test", "1", "3000"],
  ["store_fuzz", "1", "1500"],
  ["store_fuzz", "2", "1500", "guided"],
  // It replaces a mapping while others read it, as a truncated file needs, and ThreadSanitizer takes that for a race.
  ["truncate_test", "-", "few"],
  // ThreadSanitizer keeps signals back while a thread makes no call.
  ["stop_test"],
  // Files are truncated while they are read.
  ["salvage_test"],
  // Of the fault suite, which ends processes of its own and so is not for ThreadSanitizer.
  ["../fault/fault", "5", "fail", "40"],
  ["../fault/fault", "5", "kill", "40"],
  ["../fault/fault", "5", "power", "200"],
] as const;

const compiler = ["clang", "gcc", "cc"].find((name) => Bun.which(name));
/** For the guided fuzzer; others have no use for them. gcc has none: its inputs are changed blindly. */
const counters = compiler === "clang" ? ["-fsanitize-coverage=inline-8bit-counters"] : [];
const RUNS = [
  {
    name: "address",
    flags: ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", ...counters],
    fuzz: true,
  },
  { name: "thread", flags: ["-fsanitize=thread"], fuzz: false },
];

/** One without the products of four bytes at a time runs the kernel's tests once more: only it ends what needs them. */
const ARM64_CPUS = ["max", "cortex-a53"];

/** Runs a command with its output shown; false where it failed. */
async function run(command: string[]): Promise<boolean> {
  const child = Bun.spawn(command, { cwd: ROOT, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  return (await child.exited) === 0;
}

/** Compiles both libraries under a sanitizer, two files at a time. */
async function objects(sanitizer: (typeof RUNS)[number], common: string[], out: string): Promise<string[] | undefined> {
  const validator = VALIDATOR.map((source) => ({ source, flags: [] }));
  const queue = [...validator, ...nativeSources(OPTIONS)];
  const paths: string[] = [];
  let ok = true;
  const worker = async () => {
    for (let next = queue.pop(); next && ok; next = queue.pop()) {
      const path = join(out, `${next.source.replaceAll("/", "-")}.o`); // two files may share a name
      paths.push(path);
      ok = (await run([compiler!, ...next.flags, ...common, ...sanitizer.flags, "-c", next.source, "-o", path])) && ok;
    }
  };
  await Promise.all([worker(), worker()]);
  return ok ? paths : undefined;
}

let failed = 0;

/** Prints how a program ended, and counts those that failed. */
function report(run: string, words: readonly string[], passed: boolean, since: number): void {
  const seconds = Math.round((Date.now() - since) / 1000);
  console.log(`${run}: ${words.join(" ")} ${passed ? "ok" : "FAILED"}, ${seconds} s`);
  if (!passed) failed++;
}

const isArm64 = process.argv[2] === "--arm64";
const names = process.argv.slice(isArm64 ? 3 : 2);
const tests = PROGRAMS.map((words) => words.split(" "));
const all = (isArm64 ? tests : [...TESTS, ...FUZZERS]).map(([name]) => basename(name!));
const isChosen = ([name]: readonly string[]) => names.length === 0 || names.includes(basename(name!));
const unknown = names.find((name) => !all.includes(name));
if (unknown !== undefined) {
  console.error(`test:native: there is no '${unknown}': it runs ${[...new Set(all)].join(", ")}`);
  process.exit(2);
}

/** Ends the program where a machine lacks what it needs. */
function refuse(need: string): never {
  console.error(`test:native needs ${need}: install that with your system's packages`);
  process.exit(1);
}

async function runUnderQemu(): Promise<void> {
  if (!emulator) refuse(EMULATOR_NEEDS);
  for (const cpu of ARM64_CPUS) {
    for (const [name, ...args] of tests.filter(isChosen)) {
      if (cpu !== "max" && !name!.startsWith("kernel_")) continue;
      const program = await buildTest(name!, "linux-arm64");
      const since = Date.now();
      const passed = await run([...emulator, "-cpu", cpu, program, ...args]);
      report(`arm64 ${cpu}`, [name!, ...args], passed, since);
    }
  }
}

async function runUnderSanitizers(): Promise<void> {
  if (!compiler) refuse("clang or gcc with its sanitizer libraries");
  for (const sanitizer of RUNS) {
    const out = join(ROOT, ".build/sanitize", sanitizer.name);
    mkdirSync(out, { recursive: true });
    const includes = [...includesOf(LIBRARIES, OPTIONS), "-Itest/native"];
    const common = [
      "-std=c11",
      "-D_GNU_SOURCE",
      "-DSTANDALONE",
      "-DTY_ASSERTS",
      "-O1",
      "-g",
      "-ffp-contract=off",
      ...includes,
    ];
    const linked = await objects(sanitizer, common, out);
    const programs = [...TESTS, ...(sanitizer.fuzz ? FUZZERS : [])];
    for (const [name, ...args] of programs.filter(isChosen)) {
      const program = join(out, basename(name));
      const source = `test/native/${name}.c`;
      const built =
        linked &&
        (await run([compiler, ...common, ...sanitizer.flags, source, ...linked, "-lm", "-lpthread", "-o", program]));
      const since = Date.now();
      const passed = built === true && (await run([program, ...args]));
      report(sanitizer.name, [name, ...args], passed, since);
    }
  }
}

await (isArm64 ? runUnderQemu() : runUnderSanitizers());
process.exit(failed > 0 ? 1 : 0);
