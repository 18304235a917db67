/** What a run about texts prints beside its lines, and the file of its figures. */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import type { Line } from "../measure.ts";

/** Prints a table and notes to stderr, and writes the figures to `json` where one is named. */
export function publish(
  json: string | undefined,
  table: readonly string[],
  figures: object,
  { notes, lines }: { notes: readonly string[]; lines: readonly Line[] },
): void {
  console.error(`\n${table.join("\n")}\n`);
  for (const note of notes) console.error(note);
  if (!json) return;
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism(), bun: Bun.version };
  writeFileSync(json, `${JSON.stringify({ machine, notes, ...figures, lines }, null, 2)}\n`);
}
