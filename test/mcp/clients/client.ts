/** What every client of MCP has to be able to do with svc. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../../e2e/home.ts";

/** How a client starts svc. */
export interface Server {
  command: string;
  args: string[];
  env: Home;
}

/** What is tried, in this order. */
export const STEPS = ["tools", "call", "failed call", "progress", "cancel"] as const;
type Step = (typeof STEPS)[number];

/** What each step came to: nothing where it went as it should, or what went wrong. A step that is absent was not tried. */
export type Steps = Partial<Record<Step, undefined | string>>;

export interface ClientRun {
  name: string;
  version: string;
  /** How the client chooses the era, in its own word. */
  mode: string;
  /** The revision that it has to end with. */
  revision: string;
  run(server: Server): Promise<Steps>;
}

/** Why a step that a client can take fails; `undefined` where it does not. */
export async function tried(step: () => Promise<boolean>): Promise<string | undefined> {
  try {
    return (await step()) ? undefined : "another answer";
  } catch (error) {
    return (error as Error).message.slice(0, 200);
  }
}

/** A call that succeeds, one that fails, and one that takes long enough to report progress and to be cancelled. */
export const GOOD_CALL = { name: "svc_list_collections", arguments: {} };
export const FAILING_CALL = { name: "svc_search", arguments: { collection: "missing", query: "x" } };
export const LONG_CALL = { name: "svc_index_repo", arguments: { path: join(import.meta.dir, "../../..") } };

/** Whether these are the answers to the calls above. */
export const isGood = (answer: Answer) => answer.isError === false && textOf(answer) === '{"collections":[]}';
export const isFailure = (answer: Answer) => answer.isError === true && /'missing' does not exist/.test(textOf(answer));

/** The result of a tool, as every client gives it. */
export interface Answer {
  content: { type: string; text?: string }[];
  isError?: boolean;
}

function textOf({ content }: Answer): string {
  return content.map(({ text }) => text).join("");
}

/** The revision that a client spoke, by the log of `svc mcp --monitor-log`: that of its last request or handshake. */
export function revisionIn(log: string): string | undefined {
  let revision: string | undefined;
  for (const line of readFileSync(log, "utf8").trim().split("\n")) {
    const { message } = JSON.parse(line);
    const meta = message?.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
    revision = meta ?? message?.result?.protocolVersion ?? revision;
  }
  return revision;
}
