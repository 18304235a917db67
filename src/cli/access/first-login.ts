/**
 * `svc mcp --login`: where there is no login, the first tool call signs in with this machine's local authority, as
 * `svc login --yes` does, and installs the runtime. For clients whose users have no terminal. Loaded with that call.
 */
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { withLock } from "../../durable.ts";
import { OSError, PermissionError, RuntimeError } from "../../errors.ts";
import type { Verbs } from "../../memory/requests.ts";
import { type Env, firstLoginLockPath, svcHome } from "../../paths.ts";
import { ensurePrivateDirectory } from "../../trust/account/files.ts";
import { requireLogin } from "../../trust/account/license/credentials.ts";
import { storedLicense } from "../../trust/account/license/license-check.ts";
import { login } from "../../trust/account/login/login.ts";
import { fileInPlaceOfHome, nearestExisting, shownHome } from "../terminal/home.ts";
import { refuseAutomaticLogin } from "./automatic-login.ts";
import { withFirstNotice } from "./first-notice.ts";
import { installFirst, isRuntimeMissing } from "./first-runtime.ts";
import { withLocalAuthority } from "./local-authority.ts";

/** Whose login it is, and when it ends. */
export interface LoginContext {
  readonly env: Env;
  /** Ends a login under way. */
  readonly signal: AbortSignal;
}

/**
 * Opens a memory, and gets the login and the runtime where they are missing. It can be called again after a failure, and
 * tries again then.
 * @param open opens it; called again once what was missing is there
 * @returns a function that throws what `open` throws, PermissionError where nothing may sign in without a person, and
 *   OSError where SVC_HOME cannot be written. One answer of the verbs has a notice of what was done.
 */
export function openWithLogin(context: LoginContext, open: () => Promise<Verbs>): () => Promise<Verbs> {
  let notice: string | undefined;
  return async () => {
    const verbs = await open().catch(async (error) => {
      if (!isLoginOrRuntimeError(error)) throw error;
      notice = (await signInAndInstall(context)) ?? notice;
      return open();
    });
    return notice === undefined ? verbs : withFirstNotice(verbs, notice);
  };
}

/** Whether an error is about the login or the runtime, so that signing in or installing may help. */
function isLoginOrRuntimeError(error: unknown): boolean {
  if (error instanceof PermissionError) return error.reason === "not_logged_in";
  return error instanceof RuntimeError && /^runtime_/.test(error.reason ?? "");
}

/**
 * Under a lock, so that of several processes one does it and the others find it done.
 * @returns what this process did, for a notice; undefined where it did nothing
 */
async function signInAndInstall(context: LoginContext): Promise<string | undefined> {
  const { env } = context;
  const home = svcHome(env);
  const hasLogin = () => storedLicense(home) !== undefined;
  // Nothing is made, not even the lock, where it is refused or there is nothing to do.
  if (!hasLogin()) await refuseAutomaticLogin(env);
  else if (!(await isRuntimeMissing(env))) return undefined;
  requireWritable(home, env);
  ensurePrivateDirectory(home, home);
  return withLock(firstLoginLockPath(home), async () => {
    const done: string[] = [];
    if (!hasLogin() && (await signIn(context)))
      done.push("signed in with this machine's local authority, without network ('svc logout' takes that back)");
    if (await isRuntimeMissing(env)) {
      await installFirst(env, await requireLogin(home, env));
      done.push("installed its native runtime");
    }
    return done.length === 0 ? undefined : `svc ${done.join(" and ")}`;
  });
}

/** @returns whether this process did it; false where a person logged in meanwhile */
async function signIn({ env, signal }: LoginContext): Promise<boolean> {
  const home = svcHome(env);
  await refuseAutomaticLogin(env);
  const refuse = async () => {
    if (storedLicense(home) !== undefined) throw new PermissionError("another login has come first");
    await refuseAutomaticLogin(env);
  };
  const options = { home, env, signal, refuseAutomaticLogin: refuse, onCode() {} };
  try {
    await withLocalAuthority(home, "yes", (endpoints) => login({ ...options, endpoints }));
    return true;
  } catch (error) {
    if (storedLicense(home) === undefined) throw error;
    return false;
  }
}

/**
 * Refuses a folder that cannot be written, by its name: the reader of this error may have no terminal to look with.
 * @throws OSError with what to do
 */
function requireWritable(home: string, env: Env): void {
  const instead = "set SVC_HOME in the client's configuration to a folder that this user can write";
  const fault = fileInPlaceOfHome(env);
  if (fault !== undefined) throw new OSError(`${fault}: ${instead}`);
  const at = nearestExisting(home);
  try {
    accessSync(at, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OSError(
      `${shownHome(env)} cannot be ${at === resolve(home) ? "written" : "created"} (${code}): let this user write there, or ${instead}`,
    );
  }
}
