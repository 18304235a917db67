/** An upgrade to the newest release or the way back, of the executable that the first argument names. */
import { install, rollBack } from "../../../src/cli/upgrade/install.ts";

const [executable = "", way] = process.argv.slice(2);
const options = { executable, env: process.env, signal: new AbortController().signal };
await (way === "back" ? rollBack(options) : install(options));
