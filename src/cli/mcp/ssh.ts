/** `svc mcp install --ssh HOST`: which hosts are taken, and what is wrong where an entry does not answer. */

import { shown } from "../../checks/kinds.ts";
import type { SshTarget } from "../../clients/ssh.ts";
import type { Env } from "../../paths.ts";
import { shellWord } from "../../shell-word.ts";
import { string, UsageError } from "../terminal/command.ts";
import { oneLine } from "../terminal/output.ts";
import { type Handshake, type HandshakeOptions, handshake, type ServerCommand, type Unanswered } from "./handshake.ts";

/** The flag. */
export const SSH_FLAG = string("HOST", "start svc on this host, over ssh: several people use one memory");

/** A connection, the start of svc there, and its answers. */
const TIMEOUT_MS = 20_000;
/** ssh asks nothing: no password, no passphrase, no host key. */
const BATCH_OPTIONS = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];
/** The exit code of ssh for its own failures, and that of a shell for a program that is not there. */
const [FAILED, NOT_FOUND] = [255, 127];

/** @throws UsageError for what ssh would take for an option, or a shell for several words */
export function checkHost(host: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (host === "" || host.startsWith("-") || /[\s\u0000-\u001f\u007f]/.test(host))
    throw new UsageError(
      `--ssh: ${shown(host)} cannot be a host: no '-' at its beginning and no white space, as in 'team.example.org' or 'me@team'`,
    );
}

/** What is to be known of a memory on another host. */
export function hostNote(host: string): string {
  const name = oneLine(host);
  return (
    `svc runs on ${name}: the memory and the login are those of ${name}, and svc_repo_search reads the files of ${name}, not ` +
    `of this machine. Log in there once with 'ssh ${shellWord(name)} svc login --yes'`
  );
}

/** Starts such an entry once, without a question. */
export async function tryOverSsh(
  server: ServerCommand,
  target: SshTarget,
  options: HandshakeOptions,
): Promise<Handshake> {
  const asked = { ...server, args: [...BATCH_OPTIONS, ...server.args] };
  const answer = await handshake(asked, { ...options, timeoutMs: TIMEOUT_MS });
  if (answer.ok) return answer;
  const agent = options.env.SSH_AUTH_SOCK;
  const isRefused = answer.code === FAILED && /permission denied/i.test(answer.stderr);
  if (!isRefused || !agent) return explained(answer, target, options.env);
  const again = await handshake({ ...asked, env: { SSH_AUTH_SOCK: agent } }, { ...options, timeoutMs: TIMEOUT_MS });
  return again.ok ? { ...again, note: agentNote(target) } : explained(again, target, options.env);
}

function agentNote({ host }: SshTarget): string {
  return (
    `ssh reached ${oneLine(host)} with the agent of this shell, which not every client passes on: name the key in ~/.ssh/config, ` +
    "with IdentityFile, or the agent with IdentityAgent"
  );
}

/** What to do about it. */
function explained(answer: Unanswered, { host }: SshTarget, env: Env): Unanswered {
  const name = oneLine(host);
  const ssh = `'ssh ${shellWord(name)}'`;
  if (answer.code === FAILED) {
    const isKey = /host key verification failed/i.test(answer.stderr);
    const remedy = isKey
      ? `run ${ssh} once in a terminal, to accept the key of the host`
      : `${ssh} has to connect without a question: use a key that needs no passphrase${env.SSH_AUTH_SOCK ? "" : " or an agent"}, and check the name of the host`;
    return { ...answer, problem: `could not connect to ${name}: ${remedy}` };
  }
  if (answer.code === NOT_FOUND)
    return {
      ...answer,
      problem: `found no svc on ${name}: put it there into a folder on the PATH of commands that ssh runs, such as /usr/local/bin`,
    };
  if (/not a message of MCP/.test(answer.problem))
    return { ...answer, problem: `${answer.problem}: a start-up file of the shell on ${name} may print something` };
  return answer;
}
