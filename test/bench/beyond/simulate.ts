/** `npm run bench -- simulate`: how far nodes of one database go, from figures of `npm run bench -- beyond`. */
import { existsSync, readFileSync } from "node:fs";
import type { Line } from "../measure.ts";
import type { ParsedArguments } from "../options.ts";
import type { Figures } from "./figures.ts";
import { ASSUMED, idleUse, type Measured, measuredOf, NODES, paperTable, pointOf, ROWS } from "./paper.ts";
import { PUBLISHED } from "./published.ts";

/** Its options. */
export const SIMULATE_OPTIONS = ["--figures"] as const;

/** The figures of the file that `--figures` names, or those of published.ts. @throws Error with a sentence for the user */
export function simulateOptions({ given }: Pick<ParsedArguments, "given">): Measured {
  const file = given.get("--figures");
  if (file === undefined) return PUBLISHED;
  if (!existsSync(file))
    throw new Error(`${file} is not there: --figures names a file of npm run bench -- beyond --json`);
  return measuredOf(JSON.parse(readFileSync(file, "utf8")) as Partial<Figures>);
}

/** Prints the table; a model has no goals. */
export function simulate(measured: Measured): Line[] {
  const points = NODES.flatMap((nodes) => ROWS.map((rows) => pointOf(measured, nodes, rows)));
  console.log(paperTable(points).join("\n"));
  for (const nodes of NODES) {
    const percent = (idleUse(measured, nodes) * 100).toPrecision(2);
    console.log(`${nodes} nodes that wait use ${percent} % of the database's ${ASSUMED.cores} cores`);
  }
  return [];
}
