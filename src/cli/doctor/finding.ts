/** What the doctor found: one sentence each, and the command that mends it. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { shellPath } from "../../durable.ts";
import { attempt, errorFacts } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { homeFolder } from "../mcp/entry.ts";

/**
 * `ok`: nothing to do. `warning`: it works, and something is to be known or done in time. `problem`: it does not work.
 */
export type Level = "ok" | "warning" | "problem";

/** What a finding is about, in the order in which they are printed. */
export const AREAS = [
  "executable",
  "home",
  "login",
  "runtime",
  "database",
  "memory",
  "repositories",
  "server",
  "clients",
] as const;
export type Area = (typeof AREAS)[number];

/** One finding. */
export interface Finding {
  readonly area: Area;
  /** Stable, for programs: `area.what`, as in `login.expired`. */
  readonly check: string;
  readonly level: Level;
  /** A sentence. */
  readonly message: string;
  /** The command that mends it, or a few words where no command does; null where nothing is to be mended. */
  readonly remedy: string | null;
}

/** Collects the findings of one area. */
export class Findings {
  readonly list: Finding[] = [];

  constructor(private readonly area: Area) {}

  ok(what: string, message: string, remedy?: string): void {
    this.add("ok", what, message, remedy);
  }

  warning(what: string, message: string, remedy?: string): void {
    this.add("warning", what, message, remedy);
  }

  problem(what: string, message: string, remedy?: string): void {
    this.add("problem", what, message, remedy);
  }

  private add(level: Level, what: string, message: string, remedy?: string): void {
    const named = remedy ?? (level === "ok" ? undefined : remedyIn(message));
    this.list.push({ area: this.area, check: `${this.area}.${what}`, level, message, remedy: named ?? null });
  }
}

/** The command that a sentence of an error names: in quotes, or `chmod …` and `rm …` at its end. */
export function remedyIn(sentence: string): string | undefined {
  return /'(svc [^']+)'/.exec(sentence)?.[1] ?? /\brun ((?:sudo )?(?:chmod|rm) .+)$/.exec(sentence)?.[1];
}

/** The command that removes what stands in the place of a file of SVC_HOME, where a sentence is about that. */
export function inTheWay(sentence: string, home: string): string | undefined {
  const name = /'?([\w.]+)'? is (?:a \w+, not a regular file|a link)\b/.exec(sentence)?.[1];
  return name && `rm -r ${shellPath(join(home, name), home)}`;
}

/** An error as a sentence, without its type. */
export function sentenceOf(error: unknown): string {
  return errorFacts(error).message.replace(/^internal error: /, "");
}

/** A path as it is shown: below the home folder with `~`. */
export function tilde(path: string, env: Env): string {
  const home = homeFolder(env);
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** How long ago something was, in words: "12 s", "3 min", "5 h", "2 days". @param ms of the span */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** Whether a path is a folder; a link to one is not. */
export function isFolder(path: string): boolean {
  return attempt(() => lstatSync(path).isDirectory()) ?? false;
}
