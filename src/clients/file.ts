/** A client's configuration file on disk: followed through links, read, and taken apart into text. */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readCapped } from "../durable.ts";
import { OSError, SvcError, ValueError } from "../errors.ts";
import { CLIENT_FILE_BYTES_MAX } from "../limits.ts";
import type { ClientSite, Scope } from "./client.ts";
import { shownFile } from "./clients.ts";

/** Where the bytes of a configuration file are. */
export interface Target {
  /** The regular file: the path itself, or what it is a link to. */
  readonly path: string;
  readonly stat: Stats | undefined;
}

/**
 * Follows a configuration file to the regular file behind it. Managers of dotfiles link these files to a folder of
 * their own: then that one is read and written, and the link stays. A file of a project may not lead out of it, as a
 * project can come from elsewhere; one of the user may lead to files of the user only.
 *
 * @throws ValueError for a link that leads to nothing or elsewhere, or what is not a regular file
 */
export function targetOf(file: string, scope: Scope, site: ClientSite): Target {
  const name = shownFile(file, site);
  try {
    const link = lstatSync(file, { throwIfNoEntry: false });
    if (link === undefined) {
      const path = join(realFolder(dirname(file)), basename(file));
      refuseOutside(path, name, scope, site);
      return { path, stat: undefined };
    }
    let path: string;
    try {
      path = realpathSync(file);
    } catch (error) {
      if (!link.isSymbolicLink()) throw error;
      throw new ValueError(`${name} is a link that leads to no file; mend or remove it`);
    }
    const stat = lstatSync(path);
    if (!stat.isFile()) throw new ValueError(`${name} is not a regular file; move it away`);
    refuseOutside(path, name, scope, site);
    const uid = process.getuid?.();
    if (link.isSymbolicLink() && uid !== undefined && stat.uid !== uid) {
      throw new ValueError(`${name} is a link to a file of another user; change that file by hand`);
    }
    return { path, stat };
  } catch (error) {
    throw fileError(error, "read", name);
  }
}

function refuseOutside(path: string, name: string, scope: Scope, site: ClientSite): void {
  if (scope === "user" || site.project === undefined) return;
  if (path.startsWith(join(realpathSync(site.project), "/"))) return;
  throw new ValueError(`${name} is a link that leads out of the project; change the file it leads to by hand`);
}

/** A folder as it is without links, those of its parts that exist. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || lstatSync(folder, { throwIfNoEntry: false }) !== undefined || dirname(folder) === folder) {
      throw error;
    }
    return join(realFolder(dirname(folder)), basename(folder));
  }
}

/** The bytes of a file. @throws ValueError beyond 16 MiB; OSError */
export function bytesOf(target: Target, name: string): Uint8Array | undefined {
  if (target.stat === undefined) return undefined;
  try {
    return readCapped(target.path, CLIENT_FILE_BYTES_MAX, { noFollow: true });
  } catch (error) {
    // It names the file that a link leads to.
    throw error instanceof ValueError
      ? new ValueError(`${name} cannot be read: ${error.message}`)
      : fileError(error, "read", name);
  }
}

/** An error of the system as our own, with the file's name and the remedy. Others pass unchanged. */
export function fileError(error: unknown, verb: string, name: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof SvcError || (error instanceof Error && code === undefined)) return error;
  if (code === "ELOOP") return new ValueError(`${name} is a link that leads back to itself; mend or remove it`);
  if (code === "ENOTDIR") return new ValueError(`${name} cannot be there: a part of its path is a file, not a folder`);
  const remedy =
    code === "EACCES" || code === "EPERM"
      ? "; check who may read and write it and its folder"
      : code === "EROFS"
        ? "; it is on a read-only file system"
        : code === "ENOSPC" || code === "EDQUOT"
          ? "; free some space and try again"
          : "";
  const reason = code === "ENOSPC" || code === "EDQUOT" ? "disk_full" : "io";
  return new OSError(`cannot ${verb} ${name}: ${code ?? "input/output error"}${remedy}`, reason);
}

/** A file's text without its byte order mark. */
export interface Text {
  readonly text: string;
  readonly mark: string;
}

/** @throws ValueError where it is not UTF-8 */
export function textOf(bytes: Uint8Array): Text {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ValueError("it is not UTF-8; save it as UTF-8 and try again");
  }
  return text.startsWith("\ufeff") ? { text: text.slice(1), mark: "\ufeff" } : { text, mark: "" };
}

export function bytesFrom({ text, mark }: Text): Uint8Array {
  return new TextEncoder().encode(mark + text);
}
