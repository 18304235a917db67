/**
 * What clients give to hooks and take from them, as their documentation has it.
 *
 * - Claude Code, "Hooks reference": SessionStart, UserPromptSubmit, Stop.
 * - Codex, "Hooks", and the schemas `session-start`, `user-prompt-submit` and `stop.command.output` of its repository,
 *   which allow no other fields.
 * - Gemini CLI, "Hooks reference": SessionStart, BeforeAgent, AfterAgent.
 */
import type { HookEvent } from "../../../../src/clients/client.ts";

/** The clients' names of the events. */
const NAMES: Record<string, Record<HookEvent, string>> = {
  "claude-code": { "session-start": "SessionStart", prompt: "UserPromptSubmit", stop: "Stop" },
  codex: { "session-start": "SessionStart", prompt: "UserPromptSubmit", stop: "Stop" },
  "gemini-cli": { "session-start": "SessionStart", prompt: "BeforeAgent", stop: "AfterAgent" },
};

/** Fields of every input of a client. */
const COMMON: Record<string, object> = {
  "claude-code": {
    session_id: "abc123",
    transcript_path: "/t.jsonl",
    permission_mode: "default",
  },
  codex: { session_id: "thr_123", transcript_path: null, model: "gpt-5", permission_mode: "default" },
  "gemini-cli": { session_id: "abc123", transcript_path: "/t.json", timestamp: "2025-12-01T10:30:00Z" },
};
/** Fields of the inputs of an event. */
const FIELDS: Record<HookEvent, object> = {
  "session-start": { source: "startup" },
  prompt: { turn_id: "turn_1", prompt: "Write a function to calculate the factorial of a number" },
  stop: { turn_id: "turn_1", stop_hook_active: false, last_assistant_message: "Done.", prompt_response: "Done." },
};

/** A client's input of an event, with fields of the test's own. */
export function inputOf(client: string, event: HookEvent, cwd: string, fields: object = {}): string {
  const name = { cwd, hook_event_name: NAMES[client]![event] };
  return JSON.stringify({ ...COMMON[client], ...name, ...FIELDS[event], ...fields });
}

/**
 * The text that the client gives to its model; undefined for an empty output.
 * @throws for an output that the documentation does not allow, or that has no text for the model
 */
export function contextOf(client: string, event: HookEvent, output: string): string | undefined {
  if (output === "") return undefined;
  const value = JSON.parse(output) as Record<string, unknown>;
  const isDecision = event === "stop" && client !== "claude-code";
  const only = (object: object, ...keys: string[]) => {
    const other = Object.keys(object).filter((key) => !keys.includes(key));
    if (other.length > 0) throw new Error(`${client} does not know ${other.join(", ")}`);
  };
  let text: unknown;
  if (isDecision) {
    only(value, "decision", "reason");
    if (value.decision !== (client === "codex" ? "block" : "deny")) throw new Error(`a decision ${value.decision}`);
    text = value.reason;
  } else {
    only(value, "hookSpecificOutput");
    const specific = value.hookSpecificOutput as Record<string, unknown>;
    only(specific, "hookEventName", "additionalContext");
    if (specific.hookEventName !== NAMES[client]![event]) throw new Error(`an event ${specific.hookEventName}`);
    text = specific.additionalContext;
  }
  if (typeof text !== "string" || text.trim() === "") throw new Error("there is no text");
  return text;
}
