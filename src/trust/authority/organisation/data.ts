/**
 * The data folder of an organisation's authority: who may use it, its ledger, and the lock of the one process that
 * serves it. Commands beside a running server open the ledger without that lock: SQLite keeps them apart.
 */
import { closeSync, constants, ftruncateSync, lstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { basename, dirname, relative } from "node:path";
import { tryLock } from "../../../../ffi/system/calls.ts";
import { diskError, makeDirectory } from "../../../durable.ts";
import { attempt, OSError, PermissionError, type SvcError, ValueError } from "../../../errors.ts";
import { authorityFiles, svcHome } from "../../../paths.ts";
import { requireClosedFolder } from "../../account/permissions.ts";
import { Ledger } from "../ledger/ledger.ts";

/**
 * Makes the data folder, 0700, where it is missing.
 * @throws PermissionError where others can write in it or on the way to it: they could put their own keys there
 */
export function makeDataFolder(data: string): void {
  requireClosedFolder(data, "the data folder", "name a folder of your own with --data");
  makeDirectory(data);
}

/**
 * Opens the ledger of an authority that has been served before.
 * @throws ValueError where there is none; PermissionError where it is another user's; and what `new Ledger` throws
 */
export function openData(data: string, home: string = svcHome(), waitMs?: number): Ledger {
  const { ledger } = authorityFiles(data);
  if (!isThere(ledger)) {
    throw new ValueError(
      `there is no authority in ${dataName(data, home)}: name its folder with --data, or start one with 'svc authority serve'`,
    );
  }
  requireClosedFolder(data, "the data folder", "name a folder of your own with --data");
  refuseLinked(ledger);
  return new Ledger(ledger, home, waitMs, true);
}

/**
 * Refuses a ledger that has another name elsewhere: the lock of this folder keeps no server off that one, and by two hard
 * links SQLite writes two logs of one file, which destroys it.
 * @throws OSError
 */
export function refuseLinked(ledger: string): void {
  const found = examined(ledger, () => lstatSync(ledger, { throwIfNoEntry: false }));
  if (found === undefined || (!found.isSymbolicLink() && found.nlink === 1)) return;
  throw new OSError(
    `'${basename(ledger)}' is a link to a file that has another name too, by which a second server could use it: ` +
      "put the file itself there, or name the folder in which it is with --data",
  );
}

/**
 * Takes the data folder for the process that serves it, until the function that is returned is called or the process
 * ends, killed too. The file stays: after a removal two processes could lock two files of one name.
 * @throws OSError where another process has it, with that one's id; PermissionError where it is another user's
 */
export function holdData(data: string, home: string = svcHome()): () => void {
  const path = authorityFiles(data).serveLock;
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    throw refusedBySystem(error, "lock", path, data);
  }
  try {
    if (!tryLock(fd)) {
      const holder = new Uint8Array(16);
      const pid = new TextDecoder().decode(holder.subarray(0, readSync(fd, holder, 0, holder.length, 0))).trim();
      const who = /^\d+$/.test(pid) ? `process ${pid}` : "another process";
      throw new OSError(
        `${dataName(data, home)} is served by ${who} already: stop it first, or name another folder with --data`,
      );
    }
    ftruncateSync(fd, 0);
    writeSync(fd, `${process.pid}\n`, 0);
  } catch (error) {
    closeSync(fd);
    throw diskError(error, "lock", path);
  }
  return () => closeSync(fd);
}

/** The folder in sentences: where it is SVC_HOME's own, without the way to it. */
function dataName(data: string, home: string): string {
  const isOwn = !relative(home, data).startsWith("..");
  return isOwn ? `'${basename(data)}' in SVC_HOME` : `'${data}'`;
}

function isThere(path: string): boolean {
  return examined(path, () => statSync(path, { throwIfNoEntry: false })) !== undefined;
}

function examined<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw refusedBySystem(error, "examine", path, dirname(path));
  }
}

/** The error for what the system refused: with the user to run the command as, where the file or its folder has another. */
function refusedBySystem(error: unknown, verb: string, path: string, data: string): SvcError {
  if ((error as NodeJS.ErrnoException).code !== "EACCES") return diskError(error, verb, path);
  const owner = ownerOf(path) ?? ownerOf(data);
  if (owner === undefined || owner === process.getuid?.()) return diskError(error, verb, path);
  return new PermissionError(
    `'${basename(path)}' in '${data}' belongs to the user with number ${owner}: ` +
      `run the command as that one, as with "sudo -u '#${owner}'", or give it to the user of this process`,
  );
}

function ownerOf(path: string): number | undefined {
  return attempt(() => statSync(path).uid);
}
