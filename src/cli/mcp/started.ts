/** Whether entries of clients can be started: each distinct one once, as many clients have the same. */
import type { Block, ClientSite, Scope } from "../../clients/client.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { isPlainSsh, sshTarget, svcArgs } from "../../clients/ssh.ts";
import { listTools, TOOL_SETS } from "../../mcp/tools.ts";
import type { Env } from "../../paths.ts";
import { oneLine } from "../terminal/output.ts";
import { programOf } from "./entry.ts";
import { blockSentence } from "./entry-findings.ts";
import { flagValue } from "./entry-flags.ts";
import { type Handshake, handshake } from "./handshake.ts";
import { addressIn, tryServed } from "./served.ts";
import { tryOverSsh } from "./ssh.ts";

/** Why an entry is not started although it is there. */
export interface NotStarted {
  readonly ok: null;
  /** `command`: it would not be a server. */
  readonly why: "command" | "variables" | "project" | "disabled" | "blocked" | "ssh";
  readonly problem: string;
}

const notStarted = (why: NotStarted["why"], because: string): NotStarted => {
  return { ok: null, why, problem: `not started: ${because}` };
};

/** That an entry is not started because its client does not do so either. */
export function switchedOff(title: string): NotStarted {
  return notStarted("disabled", `it is switched off in ${title}`);
}

/** That an entry is not started because a list of its client says so. */
export function blockedStart(title: string, block: Block, site: ClientSite): NotStarted {
  return notStarted("blocked", `${title} ${blockSentence(block, site)}`);
}

/** What starting an entry came to. */
export type Started = Handshake | NotStarted;

/** Starts entries and remembers what they answered. */
export class Starter {
  private readonly started = new Map<string, Promise<Started>>();

  constructor(
    private readonly executable: string | undefined,
    private readonly env: Env,
    private readonly signal: AbortSignal,
    /** Whether entries that open a connection to another host are started. */
    private readonly isOnline = true,
  ) {}

  /**
   * What an entry answers. One of a project's file may have come with the project: only what does nothing of the
   * project's choice is started.
   * @param isOwn whether this command named the host or the address of the entry
   */
  start(server: ServerEntry, scope: Scope, site: ClientSite, isOwn = false): Promise<Started> {
    const target = sshTarget(server);
    if (namesCommand(svcArgs(server)))
      return Promise.resolve(notStarted("command", "its arguments are those of another command"));
    if (hasVariables(server))
      return Promise.resolve(notStarted("variables", "it has variables that only the client fills in"));
    if (scope === "project" && !this.isHarmless(server, isOwn))
      return Promise.resolve(notStarted("project", "this file may have come with the project"));
    if (target !== undefined && !this.isOnline)
      return Promise.resolve(
        notStarted("ssh", `it would connect to ${oneLine(target.host)}; 'svc mcp status' starts it`),
      );
    const folder = scope === "project" && site.project !== undefined ? site.project : site.home;
    // The project's path may lead to another program by now, or from another folder.
    const command = scope === "project" && target === undefined ? this.executable! : server.command;
    const key = JSON.stringify([command, server.args, server.env, folder]);
    let result = this.started.get(key);
    if (result === undefined) {
      result = this.check({ ...server, command }, folder);
      this.started.set(key, result);
    }
    return result;
  }

  private async check(server: ServerEntry, cwd: string): Promise<Started> {
    const options = { env: this.env, cwd, signal: this.signal };
    const target = sshTarget(server);
    // The host's svc may have other tools.
    if (target !== undefined) return tryOverSsh(server, target, options);
    const answer = await handshake(server, options);
    const wanted = toolsWanted(server.args);
    if (!answer.ok) return answer;
    const problem =
      this.isOnline && addressIn(server.args) !== undefined ? await tryServed(server, this.env) : undefined;
    if (problem !== undefined) return { ok: false, problem, stderr: "" };
    if (wanted === undefined || answer.tools === wanted) return answer;
    return { ok: false, problem: `answered with ${answer.tools} tools, and this svc has ${wanted}`, stderr: "" };
  }

  /**
   * Whether an entry runs no program and opens no connection of its author's choice: it starts this executable, with flags
   * that write nothing, or svc on a host that this command named, without options of ssh. A variable such as `LD_PRELOAD`
   * or `PATH` runs another program.
   */
  private isHarmless(server: ServerEntry, isOwn: boolean): boolean {
    const { command, args, env } = server;
    if (!Object.keys(env ?? {}).every((name) => name === "SVC_HOME" || name === "SVC_MEMORY_PATH")) return false;
    const target = sshTarget(server);
    if (target !== undefined) return isOwn && isPlainSsh(server, target);
    const flags = args.slice(1).filter((arg) => arg.startsWith("-"));
    return (
      this.executable !== undefined &&
      programOf(command, this.env) === this.executable &&
      flags.every(
        (flag) => HARMLESS.test(flag) || (isOwn && /^--(remote|token-file|tls-(ca|cert|key))(=|$)/.test(flag)),
      )
    );
  }
}

/** Flags with which a server writes nothing and connects to nothing before its first call. */
const HARMLESS = /^--(path|workspace|tools|project|secrets|with-text|login|no-persistent-index)(=|$)/;

/** Whether a word after `mcp` is not a flag's value, as in `svc mcp status`: then it is a command, and no server. */
function namesCommand([, ...words]: readonly string[]): boolean {
  return words.some((word, i) => !word.startsWith("-") && !takesValue(words[i - 1] ?? ""));
}

/** Whether the word after a flag is its value. */
function takesValue(word: string): boolean {
  return /^--?[^=]*$/.test(word) && !/^--(with-text|login|monitor|(no-)?persistent-index)$/.test(word);
}

/** Whether an entry has `${…}`, or `{env:…}` and `{file:…}` of OpenCode. */
function hasVariables({ command, args, env = {} }: ServerEntry): boolean {
  return [command, ...args, ...Object.values(env)].some((text) => /\$\{[^}]+\}|\{(env|file):[^}]+\}/.test(text));
}

/** How many tools a server with these flags has; undefined for a set that this svc does not know. */
function toolsWanted(args: readonly string[]): number | undefined {
  const named = flagValue(args, "--tools") ?? "all";
  const set = TOOL_SETS.find((one) => one === named);
  return set && listTools(set).length;
}
