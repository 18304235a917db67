/** What `svc mcp install` prints. */
import type { Change } from "../../clients/client.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { note, oneLine, print } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { type Changed, changesJson } from "./change.ts";
import { type EntryFindings, findingSentences, findingsJson, successorSentences } from "./entry-findings.ts";
import { type Extra, type ExtraFlags, type Extras, extrasJson, listedExtras } from "./extras.ts";
import type { Started } from "./started.ts";
import { entryCommand, linkedFile, printedFile, type Target } from "./targets.ts";

/** What became of one client. */
export interface Installed extends Changed, Extras {
  started?: Started;
  /** The entry was there and names another memory, which an install leaves as it is. */
  keepsMemory?: boolean;
  /** What svc knows of the entry in addition. */
  findings?: EntryFindings;
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

/** Prints what became of each client: changes, answers, findings, next steps, and notes. */
export async function showInstalled(
  results: readonly Installed[],
  plan: Shown,
  { notes, missing }: InstallNotes,
): Promise<void> {
  for (const result of results) await showChanges(result, plan);
  if (!plan.isDry) showStarted(results);
  for (const result of results) showFindings(result, plan);
  if (!plan.isDry) for (const result of results) showAfterwards(result, plan);
  const clients = results.map(({ client }) => client);
  const all = [
    ...successorSentences(clients, plan.site),
    ...notes,
    ...keptNotes(results, plan),
    ...projectNotes(results, plan),
  ];
  for (const line of all) note(`note: ${line}`);
  if (missing !== undefined) note(`next: the tools do not answer yet (${oneLine(missing)})`);
  if (!plan.isDry && results.some(({ change }) => change && change.action !== "none"))
    note(`'${entryCommand("uninstall", { scope: plan.scope, name: plan.name })}' takes it out again`);
}

/** The entry, hooks and instructions of one client. */
async function showChanges({ hooks, instructions, ...entry }: Installed, plan: Shown): Promise<void> {
  await showChange(entry, plan);
  for (const [what, changed] of listedExtras({ hooks, instructions })) await showChange(changed, plan, what);
  for (const what of ["hooks", "instructions"] as const)
    if (plan[what] && entry.client[what] === undefined) note(`${entry.client.title}: svc has no ${what} for it`);
}

function showFindings({ client, change, findings }: Installed, plan: Shown): void {
  if (change === undefined || findings === undefined) return;
  for (const line of findingSentences(client.title, client, change.file, findings, plan)) note(line);
}

/** What the user has to do in one client. */
function showAfterwards({ client, change, failure, findings, hooks }: Installed, plan: Shown): void {
  if (failure === undefined && !findings?.blocked && change!.action !== "none") note(client.afterwards);
  if (plan.hooks !== false && hooks?.change && hooks.change.action !== "none") note(client.hooks!.afterwards);
}

/** What entries keep of an earlier install. */
function keptNotes(results: readonly Installed[], { scope, name }: Shown): string[] {
  return results.flatMap(({ client, host, keepsMemory, keepsHost }) => {
    const { title } = client;
    const remedy = `'${entryCommand("uninstall", { client, scope, name })}' first removes it`;
    if (keepsMemory) return [`the entry of ${title} names another memory and keeps it; ${remedy}`];
    if (!keepsHost || host === undefined) return [];
    return [`the entry of ${title} starts svc on ${oneLine(host)} and goes on to do so; ${remedy}`];
  });
}

/** What entries in a project's files mean for others who work in it. */
function projectNotes(results: readonly Installed[], { scope, isDry }: Shown): string[] {
  if (scope !== "project" || isDry) return [];
  const notes: string[] = [];
  if (results.some(({ host }) => host === undefined))
    notes.push("the entry belongs to the project and has a path of this machine: keep it out of version control");
  if (results.some(({ host }) => host !== undefined))
    notes.push("the entry belongs to the project: all who work in it and may log in to that host share its memory");
  return notes;
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
  // What blocks a client is a finding.
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
  const clients = results.map(({ client, started, findings, host, address, keepsMemory = false }, i) => ({
    ...changes[i],
    ...extras[i],
    started: started ?? null,
    keeps_memory: keepsMemory,
    host: host ?? null,
    address: address ?? null,
    ...findingsJson(findings),
    successor: client.successor?.id ?? null,
    afterwards: client.afterwards,
  }));
  return { name, scope, dry_run: isDry, server, clients, notes, login: missing ?? null };
}
