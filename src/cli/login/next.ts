/** What a login ends with: the clients of this machine are offered svc, and the next commands are shown. */
import { attempt } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { shellWord } from "../../shell-word.ts";
import { entryOf, ownExecutableOrNone, resolved } from "../mcp/entry.ts";
import { note, noteWhole } from "../terminal/output.ts";

export interface NextOptions {
  readonly env: Env;
  readonly signal: AbortSignal;
  /** Whether the runtime is installed: without it no tool answers, and nothing is offered. */
  readonly isUsable: boolean;
}

/** A script that logs in on a terminal must not wait for ever, and the login is done. */
const ANSWER_MS_MAX = 30_000;

/** Offers and says what comes next. The login is done: nothing here makes it fail. */
export async function sayNext({ env, signal, isUsable }: NextOptions): Promise<void> {
  const executable = ownExecutableOrNone();
  const isConnected = executable !== undefined && ((isUsable && (await offer(env, signal))) || (await hasClient(env)));
  const svc = commandOf(executable, env);
  note(`next: ${svc} mem add notes "a first note", then ${svc} mem search notes "first"`);
  if (isConnected) return;
  note(`      and ${svc} mcp install adds svc to MCP clients; for others it is the server`);
  noteWhole(`      ${JSON.stringify(entryOf({ executable: executable ?? "svc", env }))}`);
}

/** How this executable is called in the user's shell: by its path, where PATH leads to another one or to none. */
function commandOf(executable: string | undefined, env: Env): string {
  const found = Bun.which("svc", { PATH: env.PATH ?? "" });
  if (executable === undefined || (found !== null && resolved(found) === executable)) return "svc";
  return shellWord(executable);
}

/** Whether a client starts svc already. */
async function hasClient(env: Env): Promise<boolean> {
  const { siteOf } = await import("../mcp/targets.ts");
  const { CLIENTS } = await import("../../clients/clients.ts");
  const { ownNames } = await import("../../clients/plan.ts");
  // A login does not fail for a client's file.
  return attempt(() => CLIENTS.some((client) => ownNames(client, "user", siteOf(env)).length > 0)) ?? false;
}

/** Asks a person whether svc is to be added to the clients that are here and do not have it. @returns whether it was */
async function offer(env: Env, signal: AbortSignal): Promise<boolean> {
  const { confirm, hasPerson } = await import("../mcp/consent.ts");
  const { ENTRY_NAME, listed, presentClients, siteOf } = await import("../mcp/targets.ts");
  if (!hasPerson(env)) return false;
  const { ownNames, readEntry } = await import("../../clients/plan.ts");
  const site = siteOf(env);
  const without = presentClients(site, "user").filter(
    (client) =>
      readEntry(client, "user", ENTRY_NAME, site).state === "absent" && ownNames(client, "user", site).length === 0,
  );
  if (without.length === 0) return false;
  note(`found ${listed(without)} on this machine`);
  const question = `add svc to ${without.length === 1 ? "it" : "them"} now?`;
  if (!(await confirm(question, signal, ANSWER_MS_MAX))) return false;
  const { installInto } = await import("../mcp/install-clients.ts");
  await installInto(without, { scope: "user", name: ENTRY_NAME, site, env, signal });
  return true;
}
