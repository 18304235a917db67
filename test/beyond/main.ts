/**
 * `npm run test:beyond`: the tests of this folder and of test/replication, which start PostgreSQL servers. It installs
 * PostgreSQL first. Arguments go to `bun test`: `npm run test:beyond -- -t standby`; paths of files replace the folders.
 */
import { join } from "node:path";
import { install } from "./installed.ts";

const words = process.argv.slice(2);
try {
  await install();
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
const folders = words.some((word) => word.includes("test/")) ? [] : ["./test/beyond/", "./test/replication/"];
const tests = Bun.spawn([process.execPath, join(import.meta.dir, "../run.ts"), ...folders, ...words], {
  stdout: "inherit",
  stderr: "inherit",
  env: { ...process.env, SVC_TEST_BEYOND: "1" },
});
process.exit(await tests.exited);
