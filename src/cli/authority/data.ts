/** What the commands for an organisation's authority share: its data folder, its ledger, and in whose name they act. */
import { userInfo } from "node:os";
import { basename, resolve } from "node:path";
import { type Env, organisationPath, svcHome } from "../../paths.ts";
import { statementError } from "../../trust/authority/ledger/errors.ts";
import type { Ledger } from "../../trust/authority/ledger/ledger.ts";
import { openData } from "../../trust/authority/organisation/data.ts";
import { string } from "../terminal/command.ts";

/** Where the authority keeps its data: the flag of every command that opens it. */
export const DATA = string("DIR", "data folder of the authority (organisation in SVC_HOME)");

/** The data folder that a command line names. */
export function dataFolder(flag: string | undefined, env: Env): string {
  return resolve(flag || organisationPath(svcHome(env)));
}

/**
 * Runs `action` with the ledger of the authority that a command line names, beside a server that runs or without one.
 * @throws ValueError where there is no authority in that folder: none is made; and what `action` throws
 */
export async function withLedger<T>(
  flag: string | undefined,
  env: Env,
  action: (ledger: Ledger, data: string) => T | Promise<T>,
): Promise<T> {
  const data = dataFolder(flag, env);
  const ledger = openData(data, svcHome(env));
  try {
    return await action(ledger, data);
  } catch (error) {
    throw statementError(error, basename(ledger.path));
  } finally {
    ledger.close();
  }
}

/** Who acts, in the audit log: the system's user, who can read and write the ledger anyway. */
export function terminalActor(): string {
  return `terminal (${userName()})`;
}

function userName(): string {
  try {
    // Bun takes the name from USER, and says "unknown" without it.
    const { username, uid } = userInfo();
    return username === "unknown" ? `user ${uid}` : username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}
