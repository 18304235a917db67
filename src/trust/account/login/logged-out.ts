/**
 * `logged_out`: that a person ran `svc logout`. Until a person runs `svc login`, no process signs in by itself
 * (`svc mcp --login`). Only that the file is there counts; its text is for people.
 */
import { existsSync } from "node:fs";
import { removeDurable, writeDurable } from "../../../durable.ts";
import { accountPaths } from "../../../paths.ts";

const TEXT = "'svc logout' was run here: 'svc mcp --login' does not sign in until 'svc login' is run\n";

/** Records it. The caller holds the login's lock. @throws OSError */
export function recordLogout(home: string): void {
  if (!isLoggedOut(home)) writeDurable(accountPaths(home).loggedOut, TEXT);
}

/** Whether a person has logged out and not in again. */
export function isLoggedOut(home: string): boolean {
  return existsSync(accountPaths(home).loggedOut);
}

/** Ends it: a person logs in. The caller holds the login's lock. @throws OSError */
export function forgetLogout(home: string): void {
  removeDurable(accountPaths(home).loggedOut);
}
