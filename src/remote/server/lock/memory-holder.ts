/** Which server has a memory directory: the sentence that names it and says what to do. */
import { type Holder, HolderState } from "../../../../ffi/ty_collection.ts";
import { OSError } from "../../../errors.ts";

/** What a server does with the lock, as the last word of its line in the lock file. */
export const SERVER = { starting: "starting", serving: "serving", ending: "ending" } as const;

/**
 * The error of a server that is started on the memory directory of another one.
 * @param address where that one listens, as the lock file has it
 */
export function servedError(holder: Holder, address: string | undefined): OSError {
  return new OSError(sentence(holder, address));
}

const ONE = "this memory directory is served already, by";

function sentence(holder: Holder, address: string | undefined): string {
  const { pid, state, isForeign, what } = holder;
  const listens = what === SERVER.serving && address !== undefined;
  const doing = listens ? `listens on ${address}` : what === SERVER.serving || what === "" ? "" : `is ${what}`;
  const who = `process ${pid}${holder.label === "" ? "" : ` (${holder.label})`}`;
  const connect = listens ? "connect to it, or " : "";
  const as = isForeign ? ", as its user" : "";
  switch (state) {
    case HolderState.SELF:
      return `${ONE} ${which("this very process", doing)}: ${connect}stop that server first`;
    case HolderState.UNSEEN:
      if (pid === 0)
        return `${ONE} a process that cannot be seen from here: stop it there, or give --path another directory`;
      // A pid of another container or machine may be that of any process here: no command is named.
      return (
        `${ONE} a process that cannot be seen from here; the last to write its lock file was ${which(who, doing)}, ` +
        `perhaps in another container or on another machine: ${connect}stop it there`
      );
    case HolderState.STOPPED:
      return (
        `${ONE} ${which(who, doing, "is stopped")}: ` +
        `continue it with 'kill -CONT ${pid}' or end it with 'kill -KILL ${pid}'${as}`
      );
    case HolderState.TRACED:
      return `${ONE} ${which(who, doing, "is stopped by a debugger")}: continue it there`;
  }
  return `${ONE} ${which(who, doing)}: ${connect}stop it with 'kill ${pid}'${as}`;
}

/** A subject, and a clause about what it does. */
function which(who: string, ...does: string[]): string {
  const clause = does.filter((each) => each !== "").join(" and ");
  return clause === "" ? who : `${who}, which ${clause}`;
}
