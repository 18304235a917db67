/** The memory opened as a program does it, for verbs about collections as a whole and about their files. */
import type { LocalStore } from "../../api/local-store.ts";
import { CancelledError } from "../../errors.ts";
import type { Invocation } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";
import { type Progress, startProgress } from "../terminal/progress.ts";
import { asTerminal } from "./origin.ts";
import { refuseRemote } from "./remote.ts";

/** Where a verb works, and its way to be stopped: an invocation. */
type StoreSite = Omit<Invocation, "args"> & {
  readonly args: { readonly path?: string; readonly "engine-file"?: string };
};

/**
 * Opens the memory for as long as `work` takes. Progress is over before anything is printed of the result.
 * @throws what opening and `work` throw; CancelledError for an interruption before
 */
export async function withStore<T>(
  { args, env, signal, name }: StoreSite,
  work: (store: LocalStore, progress: Progress) => Promise<T>,
): Promise<T> {
  refuseRemote(args, name, env);
  const { openStore } = await import("./gate.ts");
  const { path, "engine-file": engineFile } = args;
  const store = await openStore({ env, path, engineFile, warn: note, label: name });
  const progress = startProgress(name.replace(/^svc mem /, ""));
  try {
    if (signal.aborted) throw new CancelledError("interrupted");
    return await asTerminal(name, () => work(store, progress));
  } finally {
    progress.end();
    await store.close();
  }
}
