/** Which clients a person agrees to have changed. */
import { shown } from "../../checks/kinds.ts";
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
  /** Whether nothing is to be done for a client. */
  readonly isThere?: (client: Client) => boolean;
  readonly env: Env;
  readonly signal: AbortSignal;
}

/** How often a person may mistype. */
const TRIES = 3;

/**
 * Asks which of these are meant, and says how to name them where none is. One client is a question with yes or no.
 * @returns those that are meant; undefined for none
 * @throws UsageError where there is no person to ask
 */
export async function chosenOf(clients: readonly Client[], consent: Consent): Promise<Client[] | undefined> {
  const { found, env, signal } = consent;
  const flags = clients.map(({ id }) => `--client ${id}`).join(" ");
  if (!hasPerson(env))
    throw new UsageError(`${found} ${listed(clients)}: name those that are meant (${flags}), or all with --all`);
  const chosen = clients.length === 1 ? await oneOf(clients, consent) : await someOf(clients, consent);
  if (chosen !== undefined && chosen.length > 0) return chosen;
  signal.throwIfAborted();
  note(`nothing was changed; to name those that are meant: ${flags}`);
  return undefined;
}

async function oneOf(clients: readonly Client[], { found, action, signal }: Consent): Promise<Client[] | undefined> {
  note(`${found} ${listed(clients)}`);
  return (await confirm(`${action} it?`, signal)) ? [...clients] : undefined;
}

async function someOf(clients: readonly Client[], consent: Consent): Promise<Client[] | undefined> {
  const { found, action, isThere, signal } = consent;
  const width = String(clients.length).length;
  note(`${found}:`);
  for (const [i, client] of clients.entries())
    note(`  ${String(i + 1).padStart(width)}  ${client.title}${isThere?.(client) ? " (has it)" : ""}`);
  for (let left = TRIES; left > 0; left--) {
    // Listening first: what is typed before that is dropped.
    const answer = nextLine(signal, ANSWER_MS_MAX);
    redraw(`${action} which? Numbers as in '1 3', Enter for all, n for none: `);
    const line = await answer;
    if (line === undefined) {
      note("");
      return undefined;
    }
    const chosen = numbered(clients, line);
    if (typeof chosen !== "string") return chosen;
    note(chosen);
  }
  return undefined;
}

/** The clients that an answer names, by their numbers or ids; a sentence for one that does not. */
export function numbered(clients: readonly Client[], line: string): Client[] | string {
  const words = line
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== "");
  if (words.length === 0 || (words.length === 1 && /^(a|all|y|yes)$/.test(words[0]!))) return [...clients];
  if (words.length === 1 && /^(n|no|none|q|quit)$/.test(words[0]!)) return [];
  const chosen = new Set<Client>();
  for (const word of words) {
    const client = /^\d+$/.test(word) ? clients[Number(word) - 1] : clients.find(({ id }) => id === word);
    if (client === undefined) return `${shown(word)} is not one of the numbers from 1 to ${clients.length}`;
    chosen.add(client);
  }
  return clients.filter((client) => chosen.has(client));
}
