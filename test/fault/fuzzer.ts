/** The store fuzzer with a counter at each edge of the runtime: see test/native/store_guided.h. */
import { buildProgram } from "../../src/build/compile.ts";
import { OPTIONS, VALIDATOR } from "../native/validator.ts";

/** Compiles the runtime once more, in some 20 s of CPU where nothing is cached. */
export function buildFuzzer(): Promise<string> {
  return buildProgram(OPTIONS, "test/native/store_fuzz.c", VALIDATOR, "program", "counting");
}

/** What it printed and how it ended: a signal is a read or a write out of bounds, or an assert. */
export async function runFuzzer(program: string, seed: number, tries: number): Promise<{ out: string; code: number }> {
  const child = Bun.spawn([program, String(seed), String(tries), "guided"], { stdout: "pipe", stderr: "inherit" });
  const [out, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { out, code };
}
