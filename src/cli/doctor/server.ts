/** Whether this executable serves: it is started as a client would start it, and asked for its tools. */
import { listTools } from "../../mcp/tools.ts";
import type { Env } from "../../paths.ts";
import { entryOf, homeFolder, ownExecutableOrNone } from "../mcp/entry.ts";
import { type HandshakeOptions, handshake } from "../mcp/handshake.ts";
import { type Finding, Findings } from "./finding.ts";

/** A client waits longer, and a person notices. */
const SLOW_MS = 2_000;

/** Starts `svc mcp` of this executable. */
export async function checkServer(env: Env, signal: AbortSignal): Promise<Finding[]> {
  const found = new Findings("server");
  const executable = ownExecutableOrNone();
  const options: HandshakeOptions = { env, cwd: homeFolder(env), signal };
  const fromSource = { command: process.execPath, args: [Bun.main, "mcp"] };
  const answer = await handshake(executable === undefined ? fromSource : entryOf({ executable, env }), options);
  const wanted = listTools().length;
  if (!answer.ok) {
    const last = answer.stderr.split("\n").at(-1) ?? "";
    found.problem("handshake", `svc mcp ${answer.problem}${last === "" ? "" : `: ${last}`}`, "svc mcp");
  } else if (answer.tools !== wanted) {
    found.problem("tools", `svc mcp answered with ${answer.tools} tools instead of ${wanted}`, "svc version");
  } else {
    const message = `svc mcp answered with ${answer.tools} tools in ${Math.round(answer.ms)} ms`;
    if (answer.ms > SLOW_MS) found.warning("slow", message, "close programs that keep this machine busy");
    else found.ok("handshake", message);
  }
  return found.list;
}
