/** SVC_HOME: whose it is, who else may use it, and how much room its disk has. */

import { accessSync, constants, lstatSync, readdirSync, type Stats, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { shellPath } from "../../durable.ts";
import { attempt } from "../../errors.ts";
import { type Env, memoryPath, svcHome } from "../../paths.ts";
import { permissionFaults } from "../../trust/account/permissions.ts";
import { type Finding, Findings, sentenceOf, tilde } from "./finding.ts";

/** Below this nothing can be relied on: a compaction and an install need as much. */
const ROOM_LEAST = 100 * 1024 * 1024;
/** Below this an index of a large repository may not fit. */
const ROOM_SMALL = 1024 * 1024 * 1024;
/** Files and folders that are looked at. */
const LOOKED_AT_MAX = 10_000;

/** Looks at SVC_HOME and at the memory's folder, wherever that is. */
export function checkHome(env: Env): Finding[] {
  const found = new Findings("home");
  let home: string;
  try {
    home = svcHome(env);
  } catch (error) {
    found.problem("unknown", sentenceOf(error), "export SVC_HOME=/a/folder/of/your/own");
    return found.list;
  }
  // The memory check reports an address in SVC_MEMORY_PATH.
  const memory = attempt(() => memoryPath(undefined, env)) ?? join(home, "memory");
  const stat = statSync(home, { throwIfNoEntry: false });
  if (stat === undefined) {
    found.ok("absent", `SVC_HOME (${tilde(home, env)}) does not exist yet: the first login makes it`);
  } else if (!stat.isDirectory()) {
    found.problem("no_folder", "SVC_HOME is not a folder", "export SVC_HOME=/a/folder/of/your/own");
    return found.list;
  } else {
    checkAccess(found, home, stat, env);
    checkOwners(found, home, memory);
  }
  for (const fault of faultsOf(home)) found.problem("permissions", fault);
  checkRoom(found, home, "SVC_HOME", "move SVC_HOME: export SVC_HOME=/another/disk");
  // A memory in SVC_HOME moves with it, unless it has a variable of its own or only a link there.
  if (env.SVC_MEMORY_PATH || diskOf(memory) !== diskOf(home)) {
    const move = "move the memory: export SVC_MEMORY_PATH=/another/disk/memory (or --path)";
    checkRoom(found, memory, "the memory's folder", move);
  }
  return found.list;
}

function checkAccess(found: Findings, home: string, { mode, uid }: Stats, env: Env): void {
  const shown = shellPath(home, home);
  const isRoot = process.getuid?.() === 0;
  if (isRoot && uid !== 0) {
    found.warning(
      "root",
      "SVC_HOME belongs to another user, and this process is root: that user cannot open files that root writes there",
      "run svc as that user, without sudo",
    );
  }
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
    found.ok("place", `SVC_HOME is ${tilde(home, env)}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const remedy = code === "EROFS" ? "export SVC_HOME=/a/folder/of/your/own" : `chmod u+rwx ${shown}`;
    found.problem("access", `SVC_HOME cannot be read and written by this user (${code})`, remedy);
  }
  if ((mode & 0o055) !== 0 && (mode & 0o022) === 0)
    found.warning("readable", "other users can look into SVC_HOME", `chmod go-rwx ${shown}`);
}

/** Files of other users, such as a `sudo svc` leaves: this user can neither read nor replace them. */
function checkOwners(found: Findings, home: string, memory: string): void {
  const own = process.getuid?.();
  if (own === undefined || own === 0) return;
  const foreign = new Map<number, number>();
  let looked = 0;
  const look = (folder: string) => {
    for (const name of attempt(() => readdirSync(folder)) ?? []) {
      if (++looked > LOOKED_AT_MAX) return;
      const path = join(folder, name);
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat === undefined) continue;
      if (stat.uid !== own) foreign.set(stat.uid, (foreign.get(stat.uid) ?? 0) + 1);
      else if (stat.isDirectory()) look(path);
    }
  };
  look(home);
  if (dirname(memory) !== home) look(memory);
  for (const [uid, count] of foreign) {
    const whose = uid === 0 ? "root, as after 'sudo svc'" : `another user (${uid})`;
    const what = count === 1 ? "1 file or folder of svc belongs" : `${count} files and folders of svc belong`;
    found.problem("owner", `${what} to ${whose}`, `sudo chown -R "$(id -un)" ${shellPath(home, home)}`);
  }
}

function faultsOf(home: string): string[] {
  try {
    return permissionFaults(home, []);
  } catch (error) {
    return [sentenceOf(error)];
  }
}

/** @param move the end of a sentence: how what lies there is moved to another disk */
function checkRoom(found: Findings, path: string, name: string, move: string): void {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(existing(path));
    const room = roomFinding(bavail * bsize, files > 0 ? ffree : undefined, move);
    found[room.level](room.what, `${room.message} of ${name}`, room.remedy);
  } catch (error) {
    found.warning("room", `the free space on the disk of ${name} is unknown: ${sentenceOf(error)}`);
  }
}

/**
 * What free bytes and free files of a disk mean.
 * @param files undefined where the file system does not count them
 * @param move as for `checkRoom`
 */
export function roomFinding(bytes: number, files: number | undefined, move: string) {
  const free = bytes < ROOM_SMALL ? `${Math.floor(bytes / 2 ** 20)} MB` : `${(bytes / 2 ** 30).toFixed(1)} GB`;
  const remedy = `free some room, or ${move}`;
  if (files !== undefined && files < 100)
    return { level: "problem", what: "files", message: `only ${files} more files fit on the disk`, remedy } as const;
  const message = `${free} free on the disk`;
  if (bytes < ROOM_LEAST) return { level: "problem", what: "room", message: `only ${message}`, remedy } as const;
  if (bytes < ROOM_SMALL) return { level: "warning", what: "room", message: `only ${message}`, remedy } as const;
  return { level: "ok", what: "room", message, remedy: undefined } as const;
}

/** The file system of a path, behind links; undefined where it cannot be found out. */
function diskOf(path: string): number | undefined {
  return attempt(() => statSync(existing(path)).dev);
}

function existing(path: string): string {
  let at = path;
  while (lstatSync(at, { throwIfNoEntry: false }) === undefined && dirname(at) !== at) at = dirname(at);
  return at;
}
