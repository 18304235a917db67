/** Changes of clients' files: made again where another process was faster, and what is said of them. */
import { applyChange } from "../../clients/apply.ts";
import type { Change, Client } from "../../clients/client.ts";
import { type ErrorFacts, errorFacts } from "../../errors.ts";
import { printedFile, requireScope, type Target } from "./targets.ts";

/**
 * How often a change is planned again where another process has changed the file meanwhile, as an install beside this
 * one.
 */
const TRIES = 10;

/**
 * Plans a change and makes it; again where the file changed in between.
 * @param isDry the change is planned only
 * @throws what planning and applying throw
 */
async function planAndApply(plan: () => Change, isDry = false): Promise<{ change: Change; backup?: string }> {
  let change = plan();
  for (let left = TRIES; ; left--) {
    if (isDry) return { change };
    try {
      const { backup } = await applyChange(change);
      return backup === undefined ? { change } : { change, backup };
    } catch (error) {
      const next = plan();
      if (left === 0 || isSame(next.before, change.before)) throw error;
      change = next;
    }
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}

/** What became of one client. */
export interface Changed {
  readonly client: Client;
  change?: Change;
  backup?: string | undefined;
  failure?: ErrorFacts;
}

/** Plans and makes a change of one client. @throws never: what failed is part of the result */
export async function changed(client: Client, target: Target, plan: () => Change, isDry = false): Promise<Changed> {
  const result: Changed = { client };
  try {
    requireScope(client, target.scope);
    Object.assign(result, await planAndApply(plan, isDry));
  } catch (error) {
    result.failure = errorFacts(error);
  }
  return result;
}

/** Changes for programs, in the order of `results`. @param isDry each with its difference */
export async function changesJson(results: readonly Changed[], { site }: Target, isDry: boolean) {
  const { differenceOf } = isDry ? await import("./difference.ts") : {};
  return results.map(({ client, change, backup, failure }) => ({
    client: client.id,
    title: client.title,
    file: change?.file ?? null,
    action: failure ? null : (change?.action ?? null),
    backup: backup ?? null,
    difference:
      change === undefined || change.action === "none" || differenceOf === undefined
        ? null
        : differenceOf(printedFile(change.file, site), change.before, change.after),
    error: failure ?? null,
  }));
}
