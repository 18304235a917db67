/** Runs every test and ends with the line `N passed, N failed`. Arguments go to `bun test`: `npm test -- store`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Temporary files of all tests lie in one folder, which is removed at the end, those of killed processes included.
const scratch = mkdtempSync(join(tmpdir(), "svc-tests-"));
// On a busy machine good tests take longer than the default of five seconds. A hanging test still fails.
const limit = "--timeout=60000";
// Of tests that only start programs and wait for them: as many at once as the smallest machines have cores.
const together = "--max-concurrency=2";
const child = Bun.spawn([process.execPath, "test", limit, together, ...process.argv.slice(2)], {
  cwd: join(import.meta.dir, ".."),
  stdout: "inherit",
  stderr: "pipe",
  env: { ...process.env, NO_COLOR: "1", TMPDIR: scratch },
});
let tail = "";
const decoder = new TextDecoder();
for await (const bytes of child.stderr) {
  process.stderr.write(bytes);
  tail = (tail + decoder.decode(bytes, { stream: true })).slice(-4000);
}
const code = await child.exited;
try {
  rmSync(scratch, { recursive: true, force: true });
} catch (error) {
  // A test that failed may have left a folder that it had closed.
  console.error(`${scratch} could not be removed: ${(error as Error).message}`);
}
const count = (word: string) => Number(tail.match(new RegExp(`^ *(\\d+) ${word}$`, "m"))?.[1] ?? 0);
const [passed, skipped] = [count("pass"), count("skip")];
// The runner's count of failures leaves out files that do not load.
const failed = Math.max(count("fail"), code === 0 ? 0 : 1);
if (skipped > 0) console.log(`\n${skipped} skipped, named above with what they need`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
