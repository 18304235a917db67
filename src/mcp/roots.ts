/**
 * The client's roots: the folders it works in. They are asked for when a call first needs them, once, and again after
 * the client has said that they changed.
 */
import { isObject, shown } from "../checks/kinds.ts";
import type { ClientRoots } from "../memory/requests.ts";

/** How long calls wait for the answer. One that comes later counts for the calls after it. */
const ROOTS_MS_MAX = 2_000;

/** Roots that are looked at: each costs a look at the file system. */
const ROOTS_MAX = 64;

/** The roots of one client. */
export class Roots {
  /** Whether the client declared that it has roots. */
  isDeclared = false;

  private asked: { answer: Promise<ClientRoots>; late: Promise<ClientRoots> } | undefined;

  /** @param ask sends `roots/list` and resolves to its result */
  constructor(private readonly ask: () => Promise<unknown>) {}

  /** The client's roots are not those that it told: the next call asks again. */
  forget(): void {
    this.asked = undefined;
  }

  /** The roots, or why there are none. Never rejects. @param signal ends the wait */
  list(signal?: AbortSignal): Promise<ClientRoots> {
    if (!this.isDeclared) return Promise.resolve(none("the client has no roots"));
    this.asked ??= { answer: this.asking(), late: after(ROOTS_MS_MAX) };
    return Promise.race([this.asked.answer, this.asked.late, aborted(signal)]);
  }

  private async asking(): Promise<ClientRoots> {
    try {
      return rootsIn(await this.ask());
    } catch {
      return none("the client answered roots/list with an error");
    }
  }
}

function none(problem: string): ClientRoots {
  return { paths: [], problem };
}

function after(ms: number): Promise<ClientRoots> {
  const late = none(`the client did not answer roots/list within ${ms / 1000} seconds`);
  return new Promise((resolve) => setTimeout(resolve, ms, late).unref());
}

function aborted(signal: AbortSignal | undefined): Promise<ClientRoots> {
  return new Promise((resolve) => {
    const end = () => resolve(none("the call was cancelled"));
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** The paths in a client's answer, in its order. */
function rootsIn(result: unknown): ClientRoots {
  const roots = isObject(result) && Array.isArray(result.roots) ? (result.roots as unknown[]) : undefined;
  if (roots === undefined) return none("the client answered roots/list with no list");
  const problems: string[] = [];
  const paths: string[] = [];
  for (const root of roots.slice(0, ROOTS_MAX)) {
    const uri = isObject(root) && typeof root.uri === "string" ? root.uri : "";
    const path = pathOf(uri);
    if (path === undefined) problems.push(`the client's root ${shown(uri)} is not a file:// URI of this machine`);
    else if (!paths.includes(path)) paths.push(path);
  }
  if (roots.length > ROOTS_MAX) problems.push(`of the client's ${roots.length} roots ${ROOTS_MAX} were looked at`);
  if (roots.length === 0) problems.push("the client's list of roots is empty");
  return problems.length === 0 ? { paths } : { paths, problem: problems.slice(0, 3).join("; ") };
}

/** The path of a file URI, with its percent signs decoded; undefined for any other. */
function pathOf(uri: string): string | undefined {
  try {
    const path = /^file:\/\//i.test(uri) ? Bun.fileURLToPath(uri) : undefined;
    return path?.includes("\0") ? undefined : path;
  } catch {
    return undefined;
  }
}
