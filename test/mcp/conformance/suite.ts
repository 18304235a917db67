/** Runs the official conformance suite, as npm has it, against a server at an address. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ended } from "../../ended.ts";
import { clients } from "../clients/installed.ts";
import type { Revision } from "./official.ts";

/** What one check of a scenario found. */
export interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/** The names of all scenarios for servers, each with what it is for: revisions, or `extension`. */
export async function listScenarios(): Promise<Map<string, string[]>> {
  const out = await run(["list", "--server"]);
  const lines = [...out.matchAll(/^ +- (\S+) \[(.*)\]$/gm)];
  return new Map(lines.map(([, name, of]) => [name!, of!.split(",")]));
}

/** Runs every scenario that applies to a revision; gives the checks of each. */
export async function runScenarios(url: string, revision: Revision): Promise<Map<string, Check[]>> {
  const output = mkdtempSync(join(tmpdir(), "svc-conformance-"));
  await run(["server", "--url", url, "--suite", "all", "--spec-version", revision, "--output-dir", output]);
  // A folder is named after its scenario and the time.
  const nameOf = (folder: string) => /^server-(.*?)-\d{4}-\d\d-\d\dT/.exec(folder)![1]!;
  const checksOf = (folder: string) => JSON.parse(readFileSync(join(output, folder, "checks.json"), "utf8")) as Check[];
  const results = new Map(readdirSync(output).map((folder) => [nameOf(folder), checksOf(folder)]));
  rmSync(output, { recursive: true });
  return results;
}

/** Its exit code says whether every scenario passed, which is not expected. */
async function run(words: string[]): Promise<string> {
  const command = [process.execPath, clients.path("@modelcontextprotocol/conformance/dist/index.js"), ...words];
  const { out, err } = await ended(Bun.spawn(command, { stdout: "pipe", stderr: "pipe" }));
  if (out === "") throw new Error(`the conformance suite printed nothing: ${err.slice(0, 2000)}`);
  return out;
}
