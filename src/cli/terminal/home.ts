/** SVC_HOME as a person may have set it by mistake: a file in the place of the folder. */
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { attempt, OSError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";

/** What SVC_HOME is called in a sentence. */
export function shownHome(env: Env): string {
  return env.SVC_HOME ? `SVC_HOME, '${env.SVC_HOME}',` : "the folder of svc, '~/.svc',";
}

/** The path itself where it is there, else the nearest folder or file above it that is. */
export function nearestExisting(path: string): string {
  let at = resolve(path);
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}

/** A sentence where a file stands in the place of SVC_HOME or of a folder above it; undefined where none does. */
export function fileInPlaceOfHome(env: Env): string | undefined {
  const home = svcHome(env);
  const at = nearestExisting(home);
  if (attempt(() => statSync(at).isDirectory()) !== false) return undefined;
  return `${shownHome(env)} ${at === resolve(home) ? "is" : "would be in"} a file and not a folder`;
}

/**
 * Refuses a file in the place of SVC_HOME before a command looks for anything in it: nothing that it looks for is there, so
 * that it would ask for a login.
 * @throws OSError with what to do
 */
export function requireHomeFolder(env: Env): void {
  // The command's own error says more about an SVC_HOME that is an address.
  const fault = attempt(() => fileInPlaceOfHome(env));
  if (fault === undefined) return;
  const remedy = env.SVC_HOME
    ? "set SVC_HOME to a folder of your own, or unset it to use ~/.svc"
    : "move that file away, or set SVC_HOME to a folder of your own";
  throw new OSError(`${fault}: ${remedy}`);
}
