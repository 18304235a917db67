/**
 * Who may change the files of a login: one process at a time, and never while a person is waited for.
 *
 * The temporary files of killed runs are removed by the next holder. Files of these names are written by holders only,
 * so that none of them is in use; but `clock`, which tool calls write without the lock: one that loses its temporary
 * file to a holder moves the mark at its next call. A pin that a killed login has staged is settled too.
 */
import { withLock } from "../../../durable.ts";
import { accountPaths, authorityPaths } from "../../../paths.ts";
import { ensurePrivateDirectory } from "../files.ts";
import { removeLeftovers } from "../leftovers.ts";
import { settlePin } from "../trusted/pin.ts";

/**
 * Runs `action` while holding the lock on the files of a login and of the local authority, without temporary files of
 * killed runs. Makes SVC_HOME where it is missing. Not reentrant: an action that takes the lock again waits for itself.
 *
 * @param action is called with the names of the temporary files that were removed
 * @throws PermissionError where others can write in SVC_HOME; TimeoutError where another process holds the lock for half
 *   a minute; OSError; and what `action` throws
 */
export async function withLoginLock<T>(home: string, action: (removed: string[]) => Promise<T> | T): Promise<T> {
  ensurePrivateDirectory(home, home);
  return lockLogin(home, action);
}

/** The same in a home that is there and that others may write in: where secrets are only removed. */
export async function lockLogin<T>(home: string, action: (removed: string[]) => Promise<T> | T): Promise<T> {
  const account = accountPaths(home);
  const { dir: _, ...authority } = authorityPaths(home);
  const written = [...Object.values(account), ...Object.values(authority)];
  return withLock(account.lock, () => {
    const removed = removeLeftovers(written);
    settlePin(home);
    return action(removed);
  });
}
