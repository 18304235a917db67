/** The C tests, linked with the shipped code, asserts on. Under sanitizers they run with `npm run test:native`. */
import { expect, test } from "bun:test";
import { buildProgram } from "../../src/build/program.ts";
import { OPTIONS, VALIDATOR } from "./validator.ts";

const PROGRAMS = [
  "ask_many_test",
  "beside_test - - few",
  "damage_test",
  "encode_test .build/meaning.bin",
  "filter_test",
  "full_test",
  "history_test - spill few",
  "kernel_test",
  "kernel_i4_test",
  "kernel_lines_test",
  "kernel_sparse_test",
  "kernel_terms_test",
  "kernel_words_test",
  "labels_test",
  "lines_test - few",
  "manifest_test",
  "meaning_test 1",
  "numbers_test",
  "packed_test",
  "partners_test",
  "passages_test",
  "salvage_test",
  "scan_test",
  "search_test - few",
  "sparse_test",
  "stop_test",
  "symbols_test",
  "store_test",
  "store_test - spill few",
  "tree_test",
  "truncate_test - few",
  "turns_test",
  "types_test",
  "unknown_test",
  "validate_test",
  "weights_test",
  "weights_partition_test",
];

test.each(PROGRAMS)(
  "%s",
  async (words) => {
    const [name, ...args] = words.split(" ");
    const program = await buildProgram(OPTIONS, `test/native/${name}.c`, VALIDATOR, "test");
    // stderr says what failed and where, and which CPU paths this machine lacks.
    const child = Bun.spawn([program, ...args], { stdout: "pipe", stderr: "pipe" });
    const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const [code, signal] = [await child.exited, child.signalCode];
    if (code !== 0) throw new Error(`it ended with ${signal ?? code}, after it had said:\n${out}${said.slice(-4000)}`);
    expect(out).toMatch(/^[1-9]\d* passed, 0 failed$/m);
  },
  600_000,
);
