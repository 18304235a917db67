/**
 * The golden stores have the same answers on arm64, to the bit of each score: golden.test.ts reads them under QEMU, with
 * the Bun that `bun build.ts --all` has fetched to make the executable for arm64.
 */
import { test } from "bun:test";
import { existsSync } from "node:fs";
import { buildNative } from "../../src/build/compile.ts";
import { foreignBunPath } from "../../src/build/executable.ts";
import { EMULATOR_NEEDS, emulator } from "../arm64.ts";
import { ended } from "../ended.ts";
import { buildValidator, OPTIONS } from "../native/validator.ts";
import { goldenStores } from "./golden.ts";

const bun = foreignBunPath(OPTIONS.cache, "linux-arm64");
const canRun = emulator !== undefined && existsSync(bun);

test.skipIf(!canRun)(
  `on arm64 the golden stores are read as they were written (needs bun build.ts --all, and ${EMULATOR_NEEDS})`,
  async () => {
    // The compiler is not for arm64: what it would be started for has to be there.
    await buildNative({ ...OPTIONS, tag: "linux-arm64" });
    await buildValidator("linux-arm64");
    const words = ["test", "--timeout=60000", "-t", "is read as it was written", "./test/format/golden.test.ts"];
    const child = Bun.spawn([...emulator!, bun, ...words], { cwd: OPTIONS.root, stdout: "pipe", stderr: "pipe" });
    const { code, err } = await ended(child);
    const count = Number(/^ (\d+) pass$/m.exec(err)?.[1]);
    if (code !== 0 || !(count >= goldenStores().length)) throw new Error(`it ended with ${code}: ${err}`);
  },
  300_000,
);
