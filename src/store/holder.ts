/** Who keeps a writer waiting: the sentence that says what to do about it. */
import { type Holder, HolderState } from "../../ffi/ty_collection.ts";
import { TimeoutError } from "../errors.ts";

/** The word of a server that keeps unsaved changes of clients which are gone. */
export const LEFT = "left";
/** The word of a process whose changes wait for a call that saves them. */
export const UNSAVED = "unsaved";

/** Whether waiting longer is of little use: the process does not run, or nothing is left that would save. */
export function isStuck({ state, what }: Holder): boolean {
  return state === HolderState.STOPPED || state === HolderState.TRACED || (state === HolderState.RUNS && what === LEFT);
}

/** The error of a writer that waited in vain for the lock of collection `name`. */
export function heldError(name: string, holder: Holder): TimeoutError {
  return new TimeoutError(sentence(`collection '${name}'`, holder), "locked");
}

function sentence(collection: string, holder: Holder): string {
  const { pid, state, isForeign, label, what } = holder;
  const who = `process ${pid}${label === "" ? "" : ` (${label})`}`;
  switch (state) {
    case HolderState.SELF:
      return `${collection} is being changed by this very process, process ${pid}, through another object: save there first`;
    case HolderState.UNSEEN:
      if (pid === 0) return `${collection} is being changed by another process: try again later`;
      // A pid of another container or machine may be that of any process here: no command is named.
      return (
        `${collection} is being changed by a process that cannot be seen from here; ` +
        `the last to write its lock file was ${who}, perhaps in another container or on another machine: try again later`
      );
    case HolderState.STOPPED: {
      const as = isForeign ? ", as its user" : "";
      return (
        `${doing(collection, what)} ${who}, which is stopped: ` +
        `continue it with 'kill -CONT ${pid}' or end it with 'kill -KILL ${pid}'${as}`
      );
    }
    case HolderState.TRACED:
      return `${doing(collection, what)} ${who}, which a debugger has stopped: continue it there`;
  }
  if (what !== UNSAVED && what !== LEFT) return `${doing(collection, what)} ${who}: try again later`;
  const unsaved = `${collection} has unsaved changes in ${who}`;
  if (!label.startsWith("svc serve")) return `${unsaved}, and no other process can change it until that one saves them`;
  return (
    `${unsaved}${what === LEFT ? ", made by a client that has left" : ""}: ` +
    "call save from a client of that server, or start it with --save-interval"
  );
}

function doing(collection: string, what: string): string {
  switch (what) {
    case "compacting":
      return `${collection} is being compacted by`;
    case "indexing":
      return `${collection} is being indexed by`;
    default:
      return `${collection} is being changed by`;
  }
}
