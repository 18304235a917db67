/** Runs every test and ends with the line `N passed, N failed`. Arguments go to `bun test`: `npm test -- test/store`. */
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { buildValidator } from "./native/validator.ts";

const ROOT = join(import.meta.dir, "..");
/** Where Linux has files in memory, and how many bytes have to be free there: the tests leave some 4 GB there. */
const IN_MEMORY = "/dev/shm";
const ROOM = 6e9;

/**
 * Where temporary files go. ext4 looks through all inodes that were freed in the last seconds before it gives one away:
 * the tests, which create and remove a million files, spent a third of their time there. No test needs a disk: what a
 * power cut leaves is worked out from the calls (test/fault/power.h). TMPDIR chooses another place, and `npm run
 * test:soak` and `test:native` use the disk.
 */
function scratchParent(): string {
  if (process.env.TMPDIR) return process.env.TMPDIR;
  try {
    const { type, bavail, bsize } = statfsSync(IN_MEMORY);
    const TMPFS = 0x01021994;
    if (type === TMPFS && bavail * bsize >= ROOM) return IN_MEMORY;
  } catch {}
  return tmpdir();
}

// Temporary files of all tests lie in one folder, which is removed at the end, those of killed processes included.
const scratch = mkdtempSync(join(scratchParent(), "svc-tests-"));
// On a busy machine good tests take longer than the default of five seconds. A hanging test still fails.
const LIMIT = "--timeout=60000";
// One file more than there are cores, as many tests wait for other processes; more than four wait for the disk.
const WORKERS = `--parallel=${Math.min(availableParallelism() + 1, 4)}`;
/** Files that take longer than some 10 s, by seconds. They begin first: at the end they would run alone. */
const LONGEST: Record<string, number> = {
  "test/native/native.test.ts": 110,
  "test/fault/fault.test.ts": 42,
  "test/native/arm64.test.ts": 41,
  "test/e2e/serve.test.ts": 41,
  "test/docs/pages.test.ts": 31,
  "test/remote/server/limits.test.ts": 31,
  "test/remote/server/tls.test.ts": 29,
  "test/e2e/first-login.test.ts": 28,
  "test/remote/server/over-tls.test.ts": 25,
  "test/trust/authority/browser/admin-looks.test.ts": 20,
  "test/cli/mem/transfer.test.ts": 18,
  "test/memory/repo-ties.test.ts": 18,
  "test/e2e/upgrade.test.ts": 17,
  "test/ui/browser/every-page.test.ts": 17,
  "test/e2e/held-by-server.test.ts": 16,
  "test/replication/faults.test.ts": 16,
  "test/ui/browser/attack.test.ts": 16,
  "test/remote/python/client.test.ts": 15,
  "test/answers/pages.test.ts": 14,
  "test/e2e/action.test.ts": 14,
  "test/e2e/broken-repositories.test.ts": 14,
  "test/e2e/download.test.ts": 14,
  "test/ui/browser/whole.test.ts": 14,
  "test/e2e/renewal.test.ts": 13,
  "test/trust/account/kills.test.ts": 13,
  "test/trust/authority/browser/admin.test.ts": 12,
  "test/ui/browser/rows.test.ts": 12,
};

/** Of what a failed test printed, so many lines are printed again at the end, where the log of a CI still has them. */
const FAILURE_LINES_MAX = 60;

/** What has `bun test` begin with the longest files. It ignores the order of its arguments, and needs a time for each. */
function timings(): string {
  const all = [...new Bun.Glob("test/**/*.test.ts").scanSync(ROOT)];
  const files = Object.fromEntries(all.map((path) => [path, (LONGEST[path] ?? 1) * 1000]));
  const path = join(scratch, "timings.json");
  writeFileSync(path, JSON.stringify({ version: 1, files }));
  return `--timings=${path}`;
}

// Half a minute of compiling on a machine that is free: a test that waited for it might run out of its own time.
await buildValidator();
const child = Bun.spawn(
  [process.execPath, "test", LIMIT, WORKERS, "--no-isolate", timings(), ...process.argv.slice(2)],
  {
    cwd: ROOT,
    stdout: "inherit",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1", TMPDIR: scratch },
  },
);
let tail = "";
/** The lines since the last test that ended, and those before each failure: they are printed again at the end. */
let lines: string[] = [];
const failures: string[] = [];
const decoder = new TextDecoder();
for await (const bytes of child.stderr) {
  process.stderr.write(bytes);
  const text = decoder.decode(bytes, { stream: true });
  const whole = (tail.slice(tail.lastIndexOf("\n") + 1) + text).split("\n");
  tail = (tail + text).slice(-4000);
  for (const line of whole.slice(0, -1)) {
    lines.push(line);
    if (/^\(fail\) /.test(line)) failures.push(lines.slice(-FAILURE_LINES_MAX).join("\n"));
    if (/^\((?:pass|fail|skip|todo)\) /.test(line)) lines = [];
  }
}
const code = await child.exited;
try {
  rmSync(scratch, { recursive: true, force: true });
} catch (error) {
  // A test that failed may have left a folder that it had closed.
  console.error(`${scratch} could not be removed: ${(error as Error).message}`);
}
const count = (word: string) => Number(tail.match(new RegExp(`^ *(\\d+) ${word}$`, "m"))?.[1] ?? 0);
const passed = count("pass");
// The runner's count of failures leaves out files that do not load.
const failed = Math.max(count("fail"), code === 0 ? 0 : 1);
// The summary has each failure once more, with nothing before it.
for (const failure of failures.filter((text) => text.includes("\n"))) console.log(`\n${failure}`);
if (count("skip") > 0) console.log(`\n${count("skip")} skipped, named above with what they need`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
