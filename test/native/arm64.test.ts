/**
 * NEON against the scalar path, under QEMU: the C tests of the kernel, with few rounds. `npm run test:native -- --arm64`
 * runs all C tests so.
 */
import { test } from "bun:test";
import { EMULATOR_NEEDS, emulator } from "../arm64.ts";
import { buildTest, runTest } from "./programs.ts";

/** Together they take half a minute. */
const PROGRAMS = [
  "kernel_test",
  "kernel_i4_test",
  "kernel_lines_test",
  "kernel_sparse_test 100 1 few",
  "kernel_terms_test",
  "kernel_words_test",
  "encode_test .build/meaning.bin few",
];

test.skipIf(!emulator).each(PROGRAMS)(
  `on arm64: %s (needs ${EMULATOR_NEEDS})`,
  async (words) => {
    const [name, ...args] = words.split(" ");
    await runTest([...emulator!, await buildTest(name!, "linux-arm64"), ...args]);
  },
  600_000,
);
