/**
 * Inner products of vertical codes, dense and sparse, on every CPU path of this machine: sparse.c has what is
 * measured.
 */
import { buildProgram } from "../../../src/build/program.ts";
import { OPTIONS } from "../../native/validator.ts";
import type { Line } from "../measure.ts";
import { wholeNumber } from "../options.ts";

export const KERNEL_OPTIONS = ["--thousand"];
const THOUSAND = 100;

/** Thousands of rows, 2 MB of memory each for the dense ones. @throws Error with a sentence for the user */
export const kernelOptions = (given: ReadonlyMap<string, string>) => wholeNumber(given, "--thousand", 1) ?? THOUSAND;

/** Builds and runs the C program. @throws Error if it fails */
export async function benchKernel(thousand: number): Promise<Line[]> {
  const program = await buildProgram(OPTIONS, "test/bench/kernel/sparse.c");
  const child = Bun.spawn([program, String(thousand)], { stdout: "pipe", stderr: "inherit" });
  const [out, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  const lines = out.trimEnd().split("\n");
  const figures = lines.map((line) => {
    const [what, value, unit] = line.split("\t");
    return { what: what!, value: Number(value), unit: unit! };
  });
  const dense = new Map(figures.map(({ what, value }) => [what, value]));
  return figures.map((figure) => {
    const baseline = dense.get(figure.what.replace(/: sparse,/, ": dense,"));
    if (!/: sparse, \d+ dim/.test(figure.what) || baseline === undefined) return figure;
    return { ...figure, against: "dense lines", ratio: figure.value / baseline };
  });
}
