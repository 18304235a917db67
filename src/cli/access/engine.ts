/** The database that has the memory's log, for commands that open the memory: none unless a person names one. */
import { OSError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { type Args, string, UsageError } from "../terminal/command.ts";

/** Flag of the commands that open a memory. */
export const ENGINE = {
  "engine-file": string("FILE", "file with the address of the database that has the memory's log (SVC_ENGINE_URL)"),
} as const satisfies Args;

/**
 * The address that the file or `SVC_ENGINE_URL` has; undefined for a memory of this machine alone. It is in no flag,
 * because its password would be in the list of processes.
 * @throws UsageError for an address in place of the file's name; OSError for a file that is not there or empty;
 *   PermissionError for one that others can read
 */
export async function engineAddress(
  file: string | undefined,
  env: Env,
  flag = "engine-file",
): Promise<string | undefined> {
  if (file === undefined) return env.SVC_ENGINE_URL || undefined;
  if (file.includes("://")) {
    throw new UsageError(
      `--${flag} is the name of a file: in an argument, other users of this machine could read the password. Write the ` +
        "address into a file with mode 0600, and give its name",
    );
  }
  const { secretText } = await import("../../trust/account/files.ts");
  const address = secretText(svcHome(env), file);
  if (address) return address;
  throw new OSError(`there is no address in '${file}'${address === undefined ? ": there is no such file" : ""}`);
}
