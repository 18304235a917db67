/** Who confirms a login. Decided before an authority is started, a code is asked for, or a file is made. */
import { PermissionError } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { isTerminal } from "../terminal/output.ts";

export interface ApprovalOptions {
  readonly env: Env;
  /** Whether this machine's local authority is asked. */
  readonly isLocal: boolean;
  readonly yes: boolean;
  /** False for --no-browser. */
  readonly browser: boolean;
  /** Whether there is a token or an API key already. */
  readonly hasSecret: boolean;
}

/**
 * `none`: no code is shown. `shown`: a code is shown and waited for. `offered`: also, Enter opens the browser.
 */
export type Approval = "none" | "shown" | "offered";

/**
 * How the login is confirmed. With `--no-browser` a code is shown and waited for in every case: a log or a second
 * terminal may be read.
 * @throws PermissionError where no person could confirm it, with what to do instead
 */
export function approvalOf({ env, isLocal, yes, browser, hasSecret }: ApprovalOptions): Approval {
  if (hasSecret || (yes && isLocal)) return "none";
  if (!browser) return "shown";
  const why = noPerson(env);
  if (why !== undefined)
    throw new PermissionError(`${why}, so that no person can confirm the login: ${instead(isLocal)}`);
  if (!env.SSH_CONNECTION && !env.SSH_TTY) return "offered";
  if (!isLocal) return "shown";
  throw new PermissionError(
    "over SSH your browser cannot reach the page of this machine's local authority: 'svc login --yes' approves the " +
      "login without it, and 'svc login --no-browser' waits all the same",
  );
}

/** CI runners give their jobs a terminal at times, but never a person. */
function noPerson(env: Env): string | undefined {
  if (!isTerminal(0)) return "stdin is not a terminal";
  if (!isTerminal(2)) return "stderr is not a terminal";
  return env.CI ? "CI is set" : undefined;
}

function instead(isLocal: boolean): string {
  const token = "'svc login --token -' reads an access token from stdin, 'svc login --enroll-key -' an enrolment key";
  const wait = "'svc login --no-browser' prints the code and waits";
  if (!isLocal) return `${token}, and ${wait}`;
  return `'svc login --yes' approves it without asking, and ${wait}; for an organisation (--authority URL) ${token}`;
}
