/** Clients that are commands: mcporter, the Inspector, and Python's SDK where it is installed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ended } from "../../ended.ts";
import {
  type Answer,
  type ClientRun,
  FAILING_CALL,
  GOOD_CALL,
  isFailure,
  isGood,
  type Server,
  type Steps,
  tried,
} from "./client.ts";
import { clients } from "./installed.ts";

/** What a command prints as JSON. Both print it for a call that fails, and exit with another code. */
async function json(words: string[], { env }: Server): Promise<unknown> {
  const child = Bun.spawn(words, { env, cwd: env.HOME, stdout: "pipe", stderr: "pipe" });
  const { out, err, code } = await ended(child);
  if (out.trim() === "") throw new Error(`exit code ${code}: ${err.trim()}`);
  return JSON.parse(out);
}

/** The file in which both find their servers. */
function configuration(server: Server): string {
  const path = join(server.env.HOME!, "clients.json");
  writeFileSync(path, JSON.stringify({ mcpServers: { svc: server } }));
  return path;
}

/** A call of a tool. */
interface Call {
  name: string;
  arguments: object;
}

function porterWords(server: Server): string[] {
  return [process.execPath, clients.path("mcporter/dist/cli.js"), "--config", configuration(server)];
}

/** Calls tools with mcporter, a process a call. */
export function mcporterCalls(server: Server): (call: Call) => Promise<unknown> {
  const words = porterWords(server);
  return ({ name, arguments: args }) =>
    json([...words, "call", `svc.${name}`, "--args", JSON.stringify(args), "--output", "json"], server);
}

async function mcporter(server: Server): Promise<Steps> {
  const call = mcporterCalls(server);
  return {
    tools: await tried(async () => {
      const words = [...porterWords(server), "list", "svc", "--json"];
      const { tools } = (await json(words, server)) as { tools: unknown[] };
      return tools.length === 19;
    }),
    // Of a call that succeeds, mcporter prints what the text says.
    call: await tried(async () => JSON.stringify(await call(GOOD_CALL)) === '{"collections":[]}'),
    "failed call": await tried(async () => isFailure((await call(FAILING_CALL)) as Answer)),
  };
}

async function inspector(era: string, server: Server): Promise<Steps> {
  const entry = clients.path("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const flags = ["--config", configuration(server), "--server", "svc", "--protocol-era", era, "--format", "json", "-q"];
  const ask = async <T>(...words: string[]) =>
    ((await json([process.execPath, entry, "--cli", ...flags, "--method", ...words], server)) as { result: T }).result;
  const call = ({ name, arguments: args }: Call) =>
    ask<Answer>("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  return {
    tools: await tried(async () => (await ask<{ tools: unknown[] }>("tools/list")).tools.length === 19),
    call: await tried(async () => isGood(await call(GOOD_CALL))),
    "failed call": await tried(async () => isFailure(await call(FAILING_CALL))),
  };
}

/** The runs of all commands. */
export function commandRuns(): ClientRun[] {
  const inspectors = ["legacy", "auto", "modern"].map((era) => ({
    name: "Inspector",
    version: clients.versionOf("@modelcontextprotocol/inspector"),
    mode: era,
    revision: era === "legacy" ? "2025-11-25" : "2026-07-28",
    run: (server: Server) => inspector(era, server),
  }));
  const porter = {
    name: "mcporter",
    version: clients.versionOf("mcporter"),
    mode: "initialize",
    revision: "2025-11-25",
  };
  return [{ ...porter, run: mcporter }, ...inspectors];
}
