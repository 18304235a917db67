/** Who keeps a writer waiting: the sentence that says what to do about it. */
import { type Holder, HolderState } from "../../../ffi/ty_collection.ts";
import { TimeoutError } from "../../errors.ts";
import { LOCK_WAIT_SERVER_MS, LOCK_WAIT_STOPPED_MS } from "../../limits.ts";

/** The word of a server that keeps unsaved changes of clients which are gone. */
export const LEFT = "left";
/** The word of a process that compacts. */
const COMPACTING = "compacting";
/** The word of a process whose changes wait for a call that saves them. */
export const UNSAVED = "unsaved";

/**
 * How long to wait for a holder whose state does not change, in milliseconds: a short time if it is stopped, if no
 * client is left to save, or if only a client of the server can save.
 */
export function patienceMs(holder: Holder): number {
  const { state, what } = holder;
  if (state === HolderState.STOPPED || state === HolderState.TRACED) return LOCK_WAIT_STOPPED_MS;
  if (state !== HolderState.RUNS) return Number.POSITIVE_INFINITY;
  if (what === LEFT) return LOCK_WAIT_STOPPED_MS;
  return what === UNSAVED && isServer(holder) ? LOCK_WAIT_SERVER_MS : Number.POSITIVE_INFINITY;
}

function isServer({ label }: Holder): boolean {
  return label.startsWith("svc serve");
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
      if (what === COMPACTING) return `${collection} is being compacted by this very process: try again later`;
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
  if (!isServer(holder)) return `${unsaved}, and no other process can change it until that one saves them`;
  return (
    `${unsaved}${what === LEFT ? ", made by a client that has left" : ""}: ` +
    "call save from a client of that server, or start it with --save-interval 1"
  );
}

/** What a holder does to the collection, by its word. */
const DOING = new Map([
  [COMPACTING, "compacted"],
  ["indexing", "indexed"],
]);

function doing(collection: string, what: string): string {
  return `${collection} is being ${DOING.get(what) ?? "changed"} by`;
}
