/** Whether a person agrees that clients are changed. */
import type { Client } from "../../clients/client.ts";
import type { Env } from "../../paths.ts";
import { UsageError } from "../terminal/command.ts";
import { nextLine } from "../terminal/enter.ts";
import { isTerminal, note, redraw } from "../terminal/output.ts";
import { listed } from "./targets.ts";

/** The flags of a command that asks which clients are meant. */
export const CONSENT_FLAGS = {
  all: { type: "boolean", description: "all clients that are found, without asking" },
  yes: { type: "boolean", description: "do not ask" },
} as const;

/** How long a question waits for its answer; a script on a terminal must not wait for ever. */
const ANSWER_MS_MAX = 60_000;

/** Whether a person can be asked: CI runners give their jobs a terminal at times, but never a person. */
export function hasPerson(env: Env): boolean {
  return isTerminal(0) && isTerminal(2) && !env.CI;
}

/** Asks on the terminal. Only y or yes is yes; Enter, anything else, an interruption and no answer are no. */
export async function confirm(question: string, signal: AbortSignal, ms = ANSWER_MS_MAX): Promise<boolean> {
  // Listening first: what is typed before that is dropped.
  const answer = nextLine(signal, ms);
  redraw(`${question} [y/N] `);
  const line = await answer;
  if (line === undefined) note("");
  return /^\s*y(es)?\s*$/i.test(line ?? "");
}

/** What is asked about some clients. */
export interface Consent {
  /** What they were found to be, as in "found in". */
  readonly found: string;
  /** What is to be done with them, as in "remove svc from". */
  readonly action: string;
  readonly env: Env;
  readonly signal: AbortSignal;
}

/**
 * Asks whether all of these are meant, and says how to name some of them where not.
 * @throws UsageError where there is no person to ask
 */
export async function areMeant(clients: readonly Client[], { found, action, env, signal }: Consent): Promise<boolean> {
  const flags = clients.map(({ id }) => `--client ${id}`).join(" ");
  if (!hasPerson(env))
    throw new UsageError(`${found} ${listed(clients)}: name those that are meant (${flags}), or all with --all`);
  note(`${found} ${listed(clients)}`);
  if (await confirm(`${action} ${clients.length === 1 ? "it" : "all of them"}?`, signal)) return true;
  signal.throwIfAborted();
  note(`nothing was changed; to name those that are meant: ${flags}`);
  return false;
}
