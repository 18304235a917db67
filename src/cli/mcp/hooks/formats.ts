/**
 * What a client gives to a hook and takes from it. Each was taken from the page of its own documentation that the
 * catalogue names; `test/cli/mcp/hooks/fixtures.ts` has the inputs and outputs of those pages.
 */
import { isObject } from "../../../checks/kinds.ts";
import type { Client, HookEvent } from "../../../clients/client.ts";

/** What svc reads of a hook's input. */
export interface HookInput {
  readonly session: string | undefined;
  readonly cwd: string | undefined;
  /** Why a session begins: `compact` after a compaction. */
  readonly source: string | undefined;
  readonly prompt: string | undefined;
  /** Whether the turn goes on because of such a hook already. */
  readonly isContinued: boolean;
}

/** @throws SyntaxError where it is not JSON; fields of another type are absent */
export function readHookInput(json: string): HookInput {
  const value: unknown = JSON.parse(json);
  const input = isObject(value) ? value : {};
  const text = (name: string) => (typeof input[name] === "string" && input[name] !== "" ? input[name] : undefined);
  return {
    session: text("session_id"),
    cwd: text("cwd"),
    source: text("source"),
    prompt: text("prompt"),
    isContinued: input.stop_hook_active === true,
  };
}

/** The client's JSON for a text that its model is to read. */
export function hookOutput({ id, hooks }: Client, event: HookEvent, text: string): object {
  // Codex and Gemini CLI have no context at the end of a turn. Both pass a reason to the model and let it go on.
  if (event === "stop" && id === "codex") return { decision: "block", reason: text };
  if (event === "stop" && id === "gemini-cli") return { decision: "deny", reason: text };
  return { hookSpecificOutput: { hookEventName: hooks!.events[event], additionalContext: text } };
}

/** How the names begin under which a client connects to MCP servers. */
export function serverClientOf({ id }: Client): string {
  return CLIENT_NAMES[id] ?? id;
}

/** Codex is `codex-mcp-client`, Claude Code `claude-code`, Gemini CLI `gemini-cli-mcp-client-SERVER`. */
const CLIENT_NAMES: Readonly<Record<string, string>> = { codex: "codex" };
