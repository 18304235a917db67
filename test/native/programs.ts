/** The C tests: what each is run with, and how it is built and run. */
import { buildProgram } from "../../src/build/program.ts";
import { OPTIONS, VALIDATOR } from "./validator.ts";

/** Names with arguments, as they run on this machine. */
export const PROGRAMS = [
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

/**
 * Builds one, asserts on, for this machine or another platform. What QEMU will run is optimised, and that of the kernel
 * has no runtime, which would take longer to compile than the tests take.
 * @returns its path
 */
export function buildTest(name: string, tag = OPTIONS.tag): Promise<string> {
  const kernelOnly = /^(kernel|encode)_/.test(name);
  const kind = tag === OPTIONS.tag ? "test" : "program";
  return buildProgram({ ...OPTIONS, tag, kernelOnly }, `test/native/${name}.c`, kernelOnly ? [] : VALIDATOR, kind);
}

/** Runs a program that was built, which has to pass. @throws Error with what it printed */
export async function runTest(command: readonly string[]): Promise<void> {
  // stderr says what failed and where, and which CPU paths this machine lacks.
  const child = Bun.spawn([...command], { stdout: "pipe", stderr: "pipe" });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const [code, signal] = [await child.exited, child.signalCode];
  if (code !== 0) throw new Error(`it ended with ${signal ?? code}, after it had said:\n${out}${said.slice(-4000)}`);
  if (!/^[1-9]\d* passed, 0 failed$/m.test(out)) throw new Error(`it tested nothing: ${out}`);
}
