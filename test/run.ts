/** Runs every test and ends with the line `N passed, N failed`. Arguments go to `bun test`: `npm test -- store`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildValidator } from "./native/validator.ts";

const ROOT = join(import.meta.dir, "..");
// Temporary files of all tests lie in one folder, which is removed at the end, those of killed processes included.
const scratch = mkdtempSync(join(tmpdir(), "svc-tests-"));
// On a busy machine good tests take longer than the default of five seconds. A hanging test still fails.
const LIMIT = "--timeout=60000";
// Folders whose tests start native programs and wait for them: one program at a time keeps a core busy for nearly as
// long as all other tests take, which rarely use a second one.
const NATIVE = /^test\/(fault|native)\//;

interface Run {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: number;
}

/** One `bun test`; its output is shown as it comes, from the moment `shown` resolves. */
async function run(args: readonly string[], shown: Promise<unknown>): Promise<Run> {
  const child = Bun.spawn([process.execPath, "test", LIMIT, ...args], {
    cwd: ROOT,
    stdout: "inherit",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1", TMPDIR: scratch },
  });
  let tail = "";
  let held: Uint8Array[] | undefined = [];
  const show = shown.then(() => {
    for (const bytes of held ?? []) process.stderr.write(bytes);
    held = undefined;
  });
  const decoder = new TextDecoder();
  for await (const bytes of child.stderr) {
    if (held === undefined) process.stderr.write(bytes);
    else held.push(bytes);
    tail = (tail + decoder.decode(bytes, { stream: true })).slice(-4000);
  }
  const code = await child.exited;
  await show;
  const count = (word: string) => Number(tail.match(new RegExp(`^ *(\\d+) ${word}$`, "m"))?.[1] ?? 0);
  // The runner's count of failures leaves out files that do not load.
  return { passed: count("pass"), skipped: count("skip"), failed: Math.max(count("fail"), code === 0 ? 0 : 1) };
}

/** All files at once: native programs on one core beside everything else, and their output after that. */
async function runAll(): Promise<Run[]> {
  const all = [...new Bun.Glob("test/**/*.test.ts").scanSync(ROOT)].sort();
  const filesOf = (isNative: boolean) =>
    all.filter((path) => NATIVE.test(path) === isNative).map((path) => `./${path}`);
  const others = run(filesOf(false), Promise.resolve());
  const programs = run(["--max-concurrency=1", ...filesOf(true)], others);
  return Promise.all([others, programs]);
}

// Half a minute of compiling on a machine that is free: a test that waited for it might run out of its own time.
await buildValidator();
const words = process.argv.slice(2);
const runs = words.length === 0 ? await runAll() : [await run(["--max-concurrency=2", ...words], Promise.resolve())];
try {
  rmSync(scratch, { recursive: true, force: true });
} catch (error) {
  // A test that failed may have left a folder that it had closed.
  console.error(`${scratch} could not be removed: ${(error as Error).message}`);
}
const sum = (of: (run: Run) => number) => runs.reduce((total, each) => total + of(each), 0);
const [passed, skipped, failed] = [sum((each) => each.passed), sum((each) => each.skipped), sum((each) => each.failed)];
if (skipped > 0) console.log(`\n${skipped} skipped, named above with what they need`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || runs.some((each) => each.passed === 0) ? 1 : 0);
