/** Who goes on with the old file after an upgrade: processes that were started before, and the clients that start them. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { CLIENTS } from "../../clients/clients.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import { attempt } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { programOf } from "../mcp/entry.ts";
import { siteOf } from "../mcp/targets.ts";
import type { Place } from "./place.ts";

/** A process that runs another file than the one in place. */
export interface OldProcess {
  pid: number;
  /** Its command, as `svc mcp`, without flags. */
  command: string;
}

/** The kernel's mark of a file that has no name any more. */
const DELETED = / \(deleted\)$/;

/** Processes of this user that run an earlier file of the place. */
export function oldProcesses(place: Place): OldProcess[] {
  const found = process.platform === "linux" ? inProc(place) : inList(place);
  return found.filter(({ pid }) => pid !== process.pid).sort((a, b) => a.pid - b.pid);
}

function inProc(place: Place): OldProcess[] {
  const names = [place.executable, place.previous];
  const ids = (attempt(() => readdirSync("/proc")) ?? []).filter((name) => /^\d+$/.test(name));
  return ids.flatMap((id) => {
    // The processes of others cannot be read, and one may have ended.
    const found = attempt(() => {
      const file = readlinkSync(`/proc/${id}/exe`).replace(DELETED, "");
      if (!names.includes(file) || place.isCurrent(statSync(`/proc/${id}/exe`))) return undefined;
      return commandOf(readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0").slice(1));
    });
    return found === undefined ? [] : { pid: Number(id), command: found };
  });
}

/** Elsewhere nothing tells the old file from the new one, but all that runs was started before. */
function inList({ executable }: Place): OldProcess[] {
  const { stdout } = Bun.spawnSync(["ps", "-xww", "-o", "pid=,args="], { stderr: "ignore" });
  return stdout
    .toString()
    .split("\n")
    .flatMap((line) => {
      const [, pid, args = ""] = /^ *(\d+) (.*)$/.exec(line) ?? [];
      if (pid === undefined || !args.startsWith(`${executable} `)) return [];
      return { pid: Number(pid), command: commandOf(args.slice(executable.length + 1).split(" ")) };
    });
}

/** The words before the first flag: what comes after may be private. */
function commandOf(words: readonly string[]): string {
  const end = words.findIndex((word) => !/^[a-z-]+$/.test(word) || word.startsWith("-"));
  return ["svc", ...words.slice(0, end < 0 ? 2 : Math.min(end, 2))].join(" ");
}

/** Titles of the clients whose configuration starts an executable. */
export function clientsThatStart(executable: string, env: Env): string[] {
  const site = siteOf(env);
  const starts = CLIENTS.filter((client) =>
    client.scopes.some(
      (scope) =>
        (scope === "user" || site.project !== undefined) &&
        ownNames(client, scope, site).some((name) => {
          const entry = readEntry(client, scope, name, site);
          return entry.state === "present" && !entry.disabled && programOf(entry.server.command, env) === executable;
        }),
    ),
  );
  return starts.map(({ title }) => title);
}
