/** Prints the files of the root in its argument, for a test that lists them in another mount namespace. */
import { Budget } from "../../src/repo/budget.ts";
import { Walk } from "../../src/repo/walk.ts";

const paths: string[] = [];
const walk = await Walk.begin(process.argv[2]!, { budget: new Budget() });
await walk.advance(
  (file) => paths.push(file.path) === 0,
  () => false,
);
process.stdout.write(JSON.stringify(paths));
