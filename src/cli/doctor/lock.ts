/**
 * Who holds the writer's lock of a collection, seen without opening it: two lines of `.lock` say the process and what
 * it does, and only `flock` says whether that is still so (FORMAT.md). It is asked for a moment; a writer that comes
 * in that moment tries again a millisecond later.
 */

import { closeSync, constants, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { tryLock, unlock } from "../../../ffi/system/calls.ts";
import { type Holder, HolderState } from "../../../ffi/ty_collection.ts";
import { attempt } from "../../errors.ts";
import { type OpenFile, openRegular } from "../../regular-file.ts";

/** A lock that is held. */
export interface HeldLock {
  readonly holder: Holder;
  /** For how long it has been doing what it does, in milliseconds. */
  readonly heldMs: number;
}

/** Both lines of a lock file. */
const LINES_BYTES = 96;

/** The holder of the lock of the collection in `folder`; undefined where none holds it, or it cannot be read. */
export function heldLock(folder: string): HeldLock | undefined {
  let opened: OpenFile;
  try {
    opened = openRegular(join(folder, ".lock"), constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  const { fd, stat } = opened;
  try {
    if (tryLock(fd)) {
      unlock(fd);
      return undefined;
    }
    const bytes = new Uint8Array(LINES_BYTES);
    const lines = new TextDecoder().decode(bytes.subarray(0, readSync(fd, bytes))).split("\n");
    const pid = Number(/^writer (\d+)/.exec(lines[0] ?? "")?.[1] ?? 0);
    const words = (lines[1] ?? "").trim();
    const end = words.lastIndexOf(" ");
    const holder = { pid, ...stateOf(pid), label: words.slice(0, Math.max(end, 0)), what: words.slice(end + 1) };
    return { holder, heldMs: Math.max(0, Date.now() - stat.mtimeMs) };
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Whether a process runs, as far as the system shows it. */
function stateOf(pid: number): Pick<Holder, "state" | "isForeign"> {
  if (pid <= 0) return { state: HolderState.UNSEEN, isForeign: false };
  let isForeign = false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return { state: HolderState.UNSEEN, isForeign };
    isForeign = true;
  }
  const letter = stateLetter(pid);
  const state = letter === "T" ? HolderState.STOPPED : letter === "t" ? HolderState.TRACED : HolderState.RUNS;
  return { state, isForeign };
}

/** The state of a process as Linux shows it; undefined elsewhere. */
function stateLetter(pid: number): string | undefined {
  const line = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return line?.slice(line.lastIndexOf(")") + 2, line.lastIndexOf(")") + 3);
}
