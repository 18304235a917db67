/**
 * `npm run test:clients`: clients of MCP that others made, and the official conformance suite, on the executable; then the
 * clients as a team with one memory (test/team). It installs them first. Prints what works, and ends with 1 where
 * something does not.
 */
import { join } from "node:path";
import { ROOT, SVC, signedIn } from "../../e2e/home.ts";
import { SCENARIOS } from "../conformance/scenarios.ts";
import { type ClientRun, revisionIn, STEPS } from "./client.ts";
import { commandRuns } from "./commands.ts";
import { clients } from "./installed.ts";
import { pythonRuns } from "./python.ts";
import { sdkRuns } from "./sdks.ts";

/** A row of the table, and what is wrong with it, a sentence each. */
interface Row {
  cells: string[];
  problems: string[];
}

async function rowOf(client: ClientRun): Promise<Row> {
  const env = await signedIn();
  const log = join(env.HOME!, "messages.jsonl");
  const cells = [client.name, client.version, client.mode];
  const place = cells.join(" ");
  try {
    const steps = await client.run({ command: SVC, args: ["mcp", "--monitor-log", log], env });
    const revision = revisionIn(log) ?? "none";
    const problems = Object.entries(steps).flatMap(([step, problem]) =>
      problem ? [`${place}: ${step}: ${problem}`] : [],
    );
    if (revision !== client.revision) problems.push(`${place}: it spoke ${revision}, not ${client.revision}`);
    const outcomes = STEPS.map((step) => (step in steps ? (steps[step] === undefined ? "yes" : "NO") : "-"));
    return { cells: [...cells, revision, ...outcomes], problems };
  } catch (error) {
    return { cells: [...cells, "none", ...STEPS.map(() => "NO")], problems: [`${place}: ${(error as Error).message}`] };
  }
}

function print(rows: string[][]): void {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  for (const row of rows)
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join("  ")
        .trimEnd(),
    );
}

await clients.install();
const python = await pythonRuns();
const rows: Row[] = [];
for (const client of [...sdkRuns(), ...python.runs, ...commandRuns()]) rows.push(await rowOf(client));
print([["client", "version", "mode", "revision", ...STEPS], ...rows.map(({ cells }) => cells)]);
if (python.lack) console.log(`\nPython's SDK was not tried: ${python.lack}`);
const problems = rows.flatMap((row) => row.problems);
if (problems.length > 0) console.log(`\n${problems.join("\n")}`);

console.log("\nThe conformance suite, as test/mcp/conformance/scenarios.ts expects it:");
for (const [revision, scenarios] of Object.entries(SCENARIOS)) {
  const all = Object.values(scenarios);
  const failing = all.filter(({ fails }) => fails).length;
  const vacuous = all.filter((one) => one.vacuous).length;
  const passing = all.length - failing - vacuous;
  console.log(`${revision}: ${passing} pass, ${failing} need what svc lacks, ${vacuous} pass but do not test svc`);
}
const tests = ["./test/mcp/conformance", "./test/team/clients.test.ts"];
const suite = Bun.spawn([process.execPath, "test", "--timeout=60000", ...tests], {
  cwd: ROOT,
  env: { ...process.env, SVC_TEST_CLIENTS: "1" },
  stdout: "inherit",
  stderr: "inherit",
});
process.exit((await suite.exited) === 0 && problems.length === 0 ? 0 : 1);
