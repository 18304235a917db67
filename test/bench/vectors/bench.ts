/** `npm run bench -- vectors`: search by vectors beside peers and the bare machine. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import type { Line } from "../measure.ts";
import type { SetFigures } from "./figures.ts";
import { goals } from "./goals.ts";
import { install } from "./install.ts";
import { Machine } from "./machine.ts";
import { measureSet } from "./measure-set.ts";
import type { VectorOptions } from "./options.ts";
import { PEERS } from "./peers/peers.ts";
import { plot } from "./plot.ts";
import { loadSet } from "./sets.ts";
import { table } from "./table.ts";

/**
 * Measures all sets. A peer or a set that is not available is noted in the output and skipped. A set that was named
 * and cannot be read, and one that cannot be measured, make the process exit with 1.
 */
export async function benchVectors(options: VectorOptions): Promise<Line[]> {
  const notes: string[] = [];
  const log = (line: string) => console.error(`  ${line}`);
  const note = (line: string) => {
    notes.push(line);
    log(line);
  };
  const peers = options.peers.filter((name) => {
    log(`installing ${PEERS[name]!.packages.join(" and ")}`);
    return attempt(
      () => install(name),
      (reason) => note(`${name} is left out: ${reason}`),
    );
  });
  const machine = await Machine.open();
  const sets: SetFigures[] = [];
  for (const name of options.data) {
    log(`reading or making ${name}`);
    const set = attempt(
      () => loadSet(name, options.rows),
      (reason) => {
        note(`skipped: ${reason}`);
        if (options.isNamed) process.exitCode = 1;
      },
    );
    if (!set) continue;
    const scratch = mkdtempSync(join(tmpdir(), "svc-bench-vectors-"));
    try {
      sets.push(await measureSet(set, peers, machine, scratch, log));
    } catch (error) {
      note(`${name} was not measured: ${(error as Error).message}`);
      process.exitCode = 1;
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  const lines = sets.flatMap(goals);
  for (const set of sets) console.error(`\n${table(set).join("\n")}`);
  console.error("");
  for (const line of notes) console.error(line);
  if (options.json) {
    const cores = availableParallelism();
    const machineFigures = { cpu: cpus()[0]?.model, cores, isa: machine.isa, bun: Bun.version };
    const versions = Object.fromEntries(peers.map((name) => [name, PEERS[name]!.packages]));
    const all = { machine: machineFigures, peers: versions, notes, sets, lines };
    writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`);
  }
  if (options.svg) writeFileSync(options.svg, plot(sets));
  return lines;
}

/** undefined where `work` fails, after `failed` was called with the reason. */
function attempt<T>(work: () => T, failed: (reason: string) => void): T | undefined {
  try {
    return work();
  } catch (error) {
    failed((error as Error).message);
    return undefined;
  }
}
