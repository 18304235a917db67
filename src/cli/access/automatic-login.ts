/** Whether a process may sign in without a person (`svc mcp --login`), and why not. */
import { PermissionError, SvcError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { refuseRevoked } from "../../trust/account/license/revocation.ts";
import { isLoggedOut } from "../../trust/account/login/logged-out.ts";
import { loginOrigin } from "../../trust/account/login/login-origin.ts";
import { loginTarget } from "../../trust/account/login/login-target.ts";

/**
 * Refuses a login that no person asks for: after `svc logout`, and where an organisation's authority is pinned or
 * configured, or was the last one.
 * @throws PermissionError with what to do; as `loginTarget`
 */
export async function refuseAutomaticLogin(env: Env): Promise<void> {
  const home = svcHome(env);
  refuseRevoked(home);
  const target = await loginTarget({ home, env });
  const other = target === undefined ? loginOrigin(home) : new URL(target.endpoints.accounts).origin;
  if (other !== undefined)
    throw refused(
      `the authority of this machine is ${other}, where 'svc mcp --login' does not sign in: run 'svc login'`,
    );
  if (isLoggedOut(home))
    throw refused("'svc logout' was run, and 'svc mcp --login' does not sign in after it: run 'svc login'");
}

/** Why a process may not sign in, as a sentence; undefined where it may. */
export async function automaticLoginProblem(env: Env): Promise<string | undefined> {
  try {
    await refuseAutomaticLogin(env);
    return undefined;
  } catch (error) {
    if (error instanceof SvcError) return error.message;
    throw error;
  }
}

function refused(why: string): PermissionError {
  return new PermissionError(`not logged in: ${why}`, "not_logged_in");
}
