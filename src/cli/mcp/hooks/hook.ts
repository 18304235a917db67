/**
 * `svc mcp hook`: what a client's hooks run. It reads the client's JSON from stdin and prints the client's JSON, or
 * nothing. It never fails and never takes long: a client waits for it before each prompt.
 */
import { type Client, HOOK_EVENTS, type HookEvent } from "../../../clients/client.ts";
import { CLIENTS } from "../../../clients/clients.ts";
import type { Memory } from "../../../memory/memory.ts";
import { type Env, svcHome } from "../../../paths.ts";
import { command, EXIT, MEMORY_PATH, string } from "../../terminal/command.ts";
import { printJson } from "../../terminal/output.ts";
import { type HookInput, hookOutput, readHookInput, serverClientOf } from "./formats.ts";
import { HookSession } from "./sessions.ts";
import { noteLines, reminder } from "./texts.ts";

/** After so long a hook ends with nothing, whatever it is at. */
const LIMIT_MS = 2000;
/** After so long no further collection is opened. */
const SEARCH_MS = 1000;
/** A session is worth a reminder at the end of a turn from this age on. */
const SESSION_MS = 10 * 60_000;
/** Longer inputs are not read. */
const INPUT_BYTES_MAX = 4 * 1024 * 1024;
const NOTES = 2;
const HOOK_BRIEF_TOKENS = 1000;
const SAVED_ROWS = 8;

export default command({
  details:
    "'svc mcp install --hooks' adds it to clients, which run it. It reads the client's JSON from stdin and prints the\n" +
    "client's JSON, or nothing. It never fails, and ends within two seconds.\n\n" +
    "  session-start  the brief; once compacted, what was stored\n" +
    "  prompt         the notes that it is about, at most two\n" +
    "  stop           once, a reminder to store what lasts",
  examples: [`echo '{"prompt": "who is Marek"}' | svc mcp hook prompt --client claude-code`],
  args: {
    event: { type: "positional", required: false, description: HOOK_EVENTS.join(", ") },
    client: string("CLIENT", "whose hook it is"),
    home: string("DIR", "root of svc's state (SVC_HOME)"),
    path: MEMORY_PATH,
    project: string("NAME", "project of the session (that of the folder it works in)"),
  },
  worksWithoutHome: true,
  async run({ args, env }) {
    const start = performance.now() - process.uptime() * 1000;
    setTimeout(() => process.exit(EXIT.done), start + LIMIT_MS - performance.now());
    try {
      const client = CLIENTS.find(({ id, hooks }) => id === args.client && hooks !== undefined);
      const event = HOOK_EVENTS.find((one) => one === args.event);
      if (client === undefined || event === undefined) return;
      const home = args.home === undefined ? env : { ...env, SVC_HOME: args.home };
      const input = readHookInput(await stdin());
      const hook = { client, event, input, env: home, path: args.path, project: args.project ?? "auto", start };
      const text = await answerOf(hook);
      if (text !== undefined) printJson(hookOutput(client, event, text));
    } catch {
      // No login, no memory, no room: the session goes on without.
    }
  },
});

interface Hook {
  readonly client: Client;
  readonly event: HookEvent;
  readonly input: HookInput;
  readonly env: Env;
  readonly path: string | undefined;
  readonly project: string;
  /** When this process began, by `performance.now`. */
  readonly start: number;
}

async function answerOf(hook: Hook): Promise<string | undefined> {
  switch (hook.event) {
    case "session-start":
      return atStart(hook);
    case "prompt":
      return atPrompt(hook);
    case "stop":
      return atStop(hook);
  }
}

async function atStart(hook: Hook): Promise<string | undefined> {
  const { input, project: named } = hook;
  const memory = await opened(hook);
  const session = sessionOf(hook);
  session?.begin();
  const { projectOfWorkTree } = await import("../../../memory/project.ts");
  const project = named === "auto" ? projectOfWorkTree(input.cwd ?? process.cwd()) : named;
  const { text, rows } = await (await memory.terminal()).brief({ project, max_tokens: HOOK_BRIEF_TOKENS, mark: true });
  // Before a compaction no client takes a text for the model; the nearest is what begins after it.
  const after = input.source === "compact" ? await reminderOf(memory, hook, session?.begun) : undefined;
  const parts = [rows > 0 ? text : undefined, after].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

async function atPrompt(hook: Hook): Promise<string | undefined> {
  const { prompt } = hook.input;
  if (prompt === undefined) return undefined;
  const { tellingWords } = await import("../../../memory/recall.ts");
  if (tellingWords(prompt).length === 0) return undefined;
  const terminal = await (await opened(hook)).terminal();
  return noteLines(await terminal.recall({ prompt, limit: NOTES, until: hook.start + SEARCH_MS }));
}

async function atStop(hook: Hook): Promise<string | undefined> {
  const session = sessionOf(hook);
  const begun = session?.begun;
  if (hook.input.isContinued || begun === undefined || session!.isReminded) return undefined;
  if (Date.now() - begun < SESSION_MS) return undefined;
  const text = await reminderOf(await opened(hook), hook, begun);
  return session!.remind() ? text : undefined;
}

async function reminderOf(memory: Memory, { client, input }: Hook, since: number | undefined): Promise<string> {
  const isCompacted = input.source === "compact";
  if (since === undefined) return reminder(isCompacted, undefined);
  const wanted = { since, client: serverClientOf(client), limit: SAVED_ROWS };
  return reminder(isCompacted, await (await memory.terminal()).saved_since(wanted));
}

function sessionOf({ client, env, input: { session } }: Hook): HookSession | undefined {
  return session === undefined ? undefined : new HookSession(svcHome(env), client.id, session);
}

/** The memory; from here on the process ends in time whatever native code is at. */
async function opened({ env, path, start }: Hook): Promise<Memory> {
  const { openVerbs } = await import("../../access/gate.ts");
  // No query is encoded here, and the model of the encoder takes longer to load than a hook has.
  const open = { label: "svc mcp hook", feature: "mcp", readsOnly: true } as const;
  const left = Math.max(1, Math.round(start + LIMIT_MS - performance.now()));
  return openVerbs({ ...open, env: { ...env, SVC_MEANING: "off" }, path, limitMs: left });
}

async function stdin(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of Bun.stdin.stream()) {
    bytes += chunk.length;
    if (bytes > INPUT_BYTES_MAX) throw new RangeError("the input is too long");
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
