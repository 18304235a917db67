/** What `svc mcp install` prints. */
import type { Change } from "../../clients/client.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { note, oneLine, print } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { type Changed, changesJson } from "./change.ts";
import { type Extra, type ExtraFlags, type Extras, extrasJson, listedExtras } from "./extras.ts";
import { type Remarks, remarkSentences, remarksJson, successorSentences } from "./remarks.ts";
import type { Started } from "./started.ts";
import { entryCommand, linkedFile, printedFile, type Target } from "./targets.ts";

/** What became of one client. */
export interface Installed extends Changed, Extras {
  started?: Started;
  /** The entry was there and names another memory, which an install leaves as it is. */
  keepsMemory?: boolean;
  /** What is to be known of the entry in addition. */
  remarks?: Remarks;
  /** The host on which the entry starts svc. */
  host?: string | undefined;
  /** The address of the memory, where a server has it. */
  address?: string | undefined;
  /** The entry was of that host before, and no flag names one. */
  keepsHost?: boolean;
}

/** Sentences about all of it. */
export interface InstallNotes {
  readonly notes: readonly string[];
  /** What the tools still lack. */
  readonly missing: string | undefined;
}

/** What of the command is printed. */
interface Shown extends Target, ExtraFlags {
  readonly isDry?: boolean | undefined;
}

const DONE: Record<Change["action"], string> = {
  create: "added in a new file,",
  add: "added to",
  replace: "changed in",
  none: "has it already, in",
  remove: "removed from",
  delete: "removed, and deleted the file, which held nothing else:",
};

/** Prints what became of each client. */
export async function showInstalled(
  results: readonly Installed[],
  plan: Shown,
  { notes, missing }: InstallNotes,
): Promise<void> {
  const { scope, name } = plan;
  for (const { hooks, instructions, ...entry } of results) {
    await showChange(entry, plan);
    for (const [what, changed] of listedExtras({ hooks, instructions })) await showChange(changed, plan, what);
    for (const what of ["hooks", "instructions"] as const)
      if (plan[what] && entry.client[what] === undefined) note(`${entry.client.title}: svc has no ${what} for it`);
  }
  if (!plan.isDry) showStarted(results);
  for (const { client, change, remarks } of results)
    if (change && remarks)
      for (const line of remarkSentences(client.title, client, change.file, remarks, plan)) note(line);
  for (const { client, change, failure, remarks, hooks } of results) {
    if (!plan.isDry && failure === undefined && !remarks?.blocked && change!.action !== "none") note(client.afterwards);
    if (!plan.isDry && plan.hooks !== false && hooks?.change && hooks.change.action !== "none")
      note(client.hooks!.afterwards);
  }
  const became = successorSentences(
    results.map(({ client }) => client),
    plan.site,
  );
  for (const line of [...became, ...notes]) note(`note: ${line}`);
  for (const { client, keepsMemory } of results)
    if (keepsMemory)
      note(
        `note: the entry of ${client.title} names another memory and keeps it; '${entryCommand("uninstall", { client, scope, name })}' first removes it`,
      );
  for (const { client, host, keepsHost } of results)
    if (keepsHost && host !== undefined)
      note(
        `note: the entry of ${client.title} starts svc on ${oneLine(host)} and goes on to do so; '${entryCommand("uninstall", { client, scope, name })}' first removes it`,
      );
  if (scope === "project" && !plan.isDry && results.some(({ host }) => host === undefined))
    note("note: the entry belongs to the project and has a path of this machine: keep it out of version control");
  if (scope === "project" && !plan.isDry && results.some(({ host }) => host !== undefined))
    note("note: the entry belongs to the project: all who work in it and may log in to that host share its memory");
  if (missing !== undefined) note(`next: the tools do not answer yet (${oneLine(missing)})`);
  if (!plan.isDry && results.some(({ change }) => change && change.action !== "none")) {
    note(`'${entryCommand("uninstall", { scope, name })}' takes it out again`);
  }
}

/** @param what beside the entry it is about */
async function showChange({ client, change, backup, failure }: Changed, plan: Shown, what?: Extra): Promise<void> {
  const title = what === undefined ? client.title : `${client.title}, ${what}`;
  if (failure !== undefined || change === undefined)
    return note(`${title}: ${oneLine(`${failure?.type}: ${failure?.message}`)}`);
  if (plan.isDry) return showDifference(title, change, plan);
  const kept = backup === undefined ? "" : `; as it was: ${linkedFile(backup, plan.site)}`;
  const isOff = what !== undefined && plan[what] === false;
  const done = isOff && change.action === "none" ? "has none in" : DONE[change.action];
  print(fit(`${title}: ${done} ${linkedFile(change.file, plan.site)}${kept}`));
}

async function showDifference(title: string, change: Change, { site }: Shown): Promise<void> {
  const file = printedFile(change.file, site);
  if (change.action === "none") return note(`${title}: nothing to change in ${file}`);
  const { differenceOf } = await import("./difference.ts");
  print(differenceOf(file, change.before, change.after));
}

/** One line for each outcome, with the clients that it is about. */
function showStarted(results: readonly Installed[]): void {
  const outcomes = new Map<Started, string[]>();
  // What blocks a client is a remark.
  for (const { client, started } of results)
    if (started && !(started.ok === null && started.why === "blocked"))
      outcomes.set(started, [...(outcomes.get(started) ?? []), client.title]);
  for (const [started, titles] of outcomes) {
    if (started.ok) {
      const answered = `svc ${oneLine(started.version)} answered with ${started.tools} tools in ${Math.round(started.ms)} ms`;
      print(fit(`started as ${titles.join(", ")} will: ${answered}`));
      if (started.note !== undefined) note(`note: ${started.note}`);
    } else {
      note(`${titles.join(", ")}: the command ${started.ok === null ? "was " : ""}${oneLine(started.problem)}`);
      if (started.ok === false && started.stderr !== "") note(started.stderr.replace(/^/gm, "  | "));
    }
  }
}

/** The same for programs. */
export async function installedJson(
  results: readonly Installed[],
  plan: Shown,
  server: ServerEntry,
  { notes, missing }: InstallNotes,
) {
  const { name, scope, isDry = false } = plan;
  const changes = await changesJson(results, plan, isDry);
  const extras = await Promise.all(results.map((result) => extrasJson(result, plan, isDry)));
  const clients = results.map(({ client, started, remarks, host, address, keepsMemory = false }, i) => ({
    ...changes[i],
    ...extras[i],
    started: started ?? null,
    keeps_memory: keepsMemory,
    host: host ?? null,
    address: address ?? null,
    ...remarksJson(remarks),
    successor: client.successor?.id ?? null,
    afterwards: client.afterwards,
  }));
  return { name, scope, dry_run: isDry, server, clients, notes, login: missing ?? null };
}
