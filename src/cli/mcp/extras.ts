/** What an install adds to a client beside its entry, where a person wants it: hooks, and a block of instructions. */
import type { Client } from "../../clients/client.ts";
import { hookCommand } from "../../clients/hook-command.ts";
import { planHooks, planNoHooks, readHooks } from "../../clients/hooks.ts";
import { planInstructions, planNoInstructions, readInstructions } from "../../clients/instructions.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { oneLine } from "../terminal/output.ts";
import { type Changed, changed, changesJson } from "./change.ts";
import { hookArgs, lastingPath, ownExecutable } from "./entry.ts";
import { otherMachine } from "./served.ts";
import { entryCommand, type Target } from "./targets.ts";

/** The flags of these; true adds them, false removes them, undefined updates existing ones. */
export interface ExtraFlags {
  readonly hooks?: boolean | undefined;
  readonly instructions?: boolean | undefined;
}

export const EXTRA_FLAGS = {
  hooks: {
    type: "boolean",
    description: "add hooks, which put stored notes into each session's context",
    negativeDescription: "remove svc's hooks",
  },
  instructions: {
    type: "boolean",
    description: "add a block to the client's instructions file that says when to search and when to store",
    negativeDescription: "remove that block",
  },
} as const;

/** One of them, as it is called. */
export type Extra = "hooks" | "instructions";

/** What became of them; absent where there is nothing of it in the client, and nothing was to be added. */
export interface Extras {
  hooks?: Changed;
  instructions?: Changed;
  /** Sentences about hooks that are not as a person may expect. */
  hookNotes?: readonly string[];
}

/**
 * Adds, removes or updates them in one client, as flags say.
 * @param entry what the client is to start: hooks get its memory and its project
 */
export async function changeExtras(
  client: Client,
  target: Target,
  entry: ServerEntry,
  flags: ExtraFlags,
  isDry = false,
): Promise<Extras> {
  const { scope, site } = target;
  const hooks = () => {
    if (flags.hooks === false) return planNoHooks(client, scope, site);
    const program = lastingPath(ownExecutable());
    return planHooks(client, scope, (event) => hookCommand(program, hookArgs(event, client, entry)), site);
  };
  const instructions = () =>
    (flags.instructions === false ? planNoInstructions : planInstructions)(client, scope, site);
  const extras: Extras = {};
  const states = statesOfExtras(client, target);
  const plans = [
    ["hooks", hooks],
    ["instructions", instructions],
  ] as const;
  // What was made last goes first, so that the folder which the first one made is empty.
  for (const [what, plan] of flags.instructions === false ? plans.toReversed() : plans) {
    const state = states[what]?.state;
    if (state === undefined || (flags[what] === undefined && state !== "present")) continue;
    // Hooks use the memory of this machine.
    if (what === "hooks" && flags.hooks !== false && otherMachine(entry) !== undefined) {
      const stale = state === "present" ? staleHooks(client, target, entry) : [];
      const why = `hooks use the memory of this machine, and ${memoryElsewhere(entry)}`;
      const refused = flags.hooks === true ? [`${client.title} got no hooks: ${why}`] : [];
      extras.hookNotes = stale.length > 0 ? stale : refused;
    } else extras[what] = await changed(client, target, plan, isDry);
  }
  return extras;
}

/** A sentence for hooks that put notes of this machine into sessions whose tools use another memory; else none. */
export function staleHooks(client: Client, target: Target, entry: ServerEntry): string[] {
  if (otherMachine(entry) === undefined || hasEntryHere(client, target)) return [];
  const remedy = `'${entryCommand("install", { ...target, client })} --no-hooks' removes them`;
  return [
    `the hooks of ${client.title} still put notes of this machine into its sessions, and ${memoryElsewhere(entry)}: ${remedy}`,
  ];
}

function memoryElsewhere(entry: ServerEntry): string {
  return `its entry uses the memory of ${oneLine(otherMachine(entry) ?? "")}`;
}

/** Whether another entry of the client uses a memory of this machine, and so the hooks may be for that one. */
function hasEntryHere(client: Client, { name, scope, site }: Target): boolean {
  return ownNames(client, scope, site).some((other) => {
    const entry = readEntry(client, scope, other, site);
    return other !== name && entry.state === "present" && otherMachine(entry.server) === undefined;
  });
}

/** What a client has of them; undefined for what svc has not for it, in that scope. */
export function statesOfExtras(client: Client, { scope, site }: Pick<Target, "scope" | "site">) {
  return { hooks: readHooks(client, scope, site), instructions: readInstructions(client, scope, site) };
}

/** Removes them; what a client does not have is absent. */
export function removeExtras(client: Client, target: Target, isDry: boolean): Promise<Extras> {
  const { hooks, instructions } = statesOfExtras(client, target);
  const off = (one: { state: string } | undefined) => (one === undefined || one.state === "absent" ? undefined : false);
  const flags = { hooks: off(hooks), instructions: off(instructions) };
  return changeExtras(client, target, { command: "", args: [] }, flags, isDry);
}

/** Those that are there, with what they are called. */
export function listedExtras({ hooks, instructions }: Extras): [what: Extra, changed: Changed][] {
  const all: [Extra, Changed | undefined][] = [
    ["hooks", hooks],
    ["instructions", instructions],
  ];
  return all.filter((one): one is [Extra, Changed] => one[1] !== undefined);
}

/** For programs: what became of each, null where nothing was to be done. */
export async function extrasJson(extras: Extras, target: Target, isDry: boolean) {
  const one = async (changed: Changed | undefined) => {
    if (changed === undefined) return null;
    const [{ file, action, backup, difference, error }] = (await changesJson([changed], target, isDry)) as [ChangeJson];
    return { file, action, backup, difference, error };
  };
  return { hooks: await one(extras.hooks), instructions: await one(extras.instructions) };
}

type ChangeJson = Awaited<ReturnType<typeof changesJson>>[number];
