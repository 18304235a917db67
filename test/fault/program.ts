/** The fault suite's program, built from the shipped sources with asserts and planted faults. */
import { buildProgram } from "../../src/build/program.ts";
import { OPTIONS, VALIDATOR } from "../native/validator.ts";

/** `fault`; see the top of fault.c for its arguments. */
export function buildFault(): Promise<string> {
  return buildProgram(OPTIONS, "test/fault/fault.c", VALIDATOR, "test");
}

/** What a run of it printed, and how it ended; what went wrong is on stderr. */
export async function runFault(program: string, words: readonly string[]): Promise<{ out: string; code: number }> {
  const child = Bun.spawn([program, ...words], { stdout: "pipe", stderr: "inherit" });
  const [out, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { out, code };
}
