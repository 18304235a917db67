/** Python's SDK, where `python3` finds it: npm cannot install it. */
import { join } from "node:path";
import { ended } from "../../ended.ts";
import { type Answer, type ClientRun, isFailure, isGood, LONG_CALL, type Server, type Steps, tried } from "./client.ts";

const SCRIPT = join(import.meta.dir, "python_client.py");
const VERSION = "import importlib.metadata, mcp; print(importlib.metadata.version('mcp'))";

/** The runs of Python's SDK, or why there are none. */
export async function pythonRuns(): Promise<{ runs: ClientRun[]; lack?: string }> {
  if (!Bun.which("python3")) return { runs: [], lack: "there is no python3" };
  const { code, out } = await ended(Bun.spawn(["python3", "-c", VERSION], { stdout: "pipe", stderr: "pipe" }));
  if (code !== 0) return { runs: [], lack: "python3 has no package mcp (pip install mcp)" };
  const version = out.trim();
  const run = (mode: string, revision: string): ClientRun => {
    return { name: "Python SDK", version, mode, revision, run: (server) => drive(mode, server) };
  };
  if (version.startsWith("1.")) return { runs: [run("initialize", "2025-11-25")] };
  return { runs: [run("legacy", "2025-11-25"), run("auto", "2026-07-28"), run("2026-07-28", "2026-07-28")] };
}

/** What `python_client.py` prints. */
interface Printed {
  tools: number;
  good: Answer;
  failed: Answer;
  long: Answer;
  progress: number[];
}

async function drive(mode: string, server: Server): Promise<Steps> {
  const words = ["python3", SCRIPT, mode, JSON.stringify(server), LONG_CALL.arguments.path];
  const { out, err, code } = await ended(Bun.spawn(words, { stdout: "pipe", stderr: "pipe" }));
  if (code !== 0) throw new Error(`exit code ${code}: ${err.trim().slice(-500)}`);
  const printed = JSON.parse(out) as Printed;
  return {
    tools: await tried(async () => printed.tools === 19),
    call: await tried(async () => isGood(printed.good)),
    "failed call": await tried(async () => isFailure(printed.failed)),
    progress: await tried(async () => printed.long.isError === false && printed.progress.length > 0),
  };
}
