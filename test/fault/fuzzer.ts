/** The store fuzzer, test/native/store_fuzz.c. */
import type { Variant } from "../../src/build/compile.ts";
import { buildProgram } from "../../src/build/program.ts";
import { OPTIONS, VALIDATOR } from "../native/validator.ts";

/**
 * @param variant "counting" has a counter at each edge of the runtime, which costs another 40 s of CPU to compile;
 * without it inputs are changed blindly (test/native/store_guided.h)
 */
export function buildFuzzer(variant: Variant): Promise<string> {
  return buildProgram(OPTIONS, "test/native/store_fuzz.c", VALIDATOR, "test", variant);
}

/** What it printed and how it ended: a signal is a read or a write out of bounds, or an assert. */
export async function runFuzzer(program: string, seed: number, tries: number): Promise<{ out: string; code: number }> {
  const child = Bun.spawn([program, String(seed), String(tries), "guided"], { stdout: "pipe", stderr: "inherit" });
  const [out, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { out, code };
}
