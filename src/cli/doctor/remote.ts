/** SVC_REMOTE: whether the server that it names answers. */
import type { Env } from "../../paths.ts";
import { tryConnection } from "../mcp/served.ts";
import { oneLine } from "../terminal/output.ts";
import { type Finding, Findings } from "./finding.ts";

/** Connects as `svc mem` and `svc mcp` do; without SVC_REMOTE there is nothing to try. */
export async function checkRemote(env: Env): Promise<Finding[]> {
  const found = new Findings("memory");
  const { SVC_REMOTE: address } = env;
  if (!address) return found.list;
  const problem = await tryConnection({}, env);
  if (problem === undefined)
    found.ok("remote", `SVC_REMOTE: ${oneLine(address)} answers, and is used in place of the memory here`);
  else found.problem("remote", `SVC_REMOTE: ${problem}`, "set SVC_REMOTE to a server that runs, or: unset SVC_REMOTE");
  return found.list;
}
