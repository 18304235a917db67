/** Folders that callers name. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { ValueError } from "../errors.ts";
import { shown } from "./kinds.ts";

/** `tcp://…`, `https://…`, `file:///…`: as a path, a folder `tcp:` in the current one, which a write makes unasked. */
const URL_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
/** `localhost:8471`, which `connect` takes as well. A path of that name can be written with `./`. */
const HOST_AND_PORT = /^(?:\[[0-9a-z:.%_-]+\]|[0-9a-z._-]+):[0-9]+$/i;

/** A Unix socket, which `connect` takes too: a write would make a folder in the place of the socket. */
const SOCKET = /\.sock$/;

const SERVED =
  "give a folder of this machine; a memory that 'svc serve' has is used with --remote, or by connect(address) in a program";

/** Whether a text is a URL, with a scheme and two slashes. */
export function isUrl(text: string): boolean {
  return URL_SCHEME.test(text);
}

/** The absolute path of a folder that a caller names; `~/` is the home folder. @throws ValueError for a URL */
export function readFolder(given: string, name: string): string {
  return pathOf(given, name, "give a folder of this machine");
}

/** The same of a memory directory. @throws ValueError for the address of a server, a path that ends in .sock included, or any other URL */
export function readMemoryFolder(given: string, name: string): string {
  if (SOCKET.test(given)) throw notAFolder(given, name, SERVED);
  if (!HOST_AND_PORT.test(given)) return pathOf(given, name, SERVED);
  throw notAFolder(given, name, `${SERVED}. For a folder of that name write ${shown(`./${given}`)}`);
}

function pathOf(given: string, name: string, remedy: string): string {
  // No shell has replaced it where it stands in a client's configuration.
  if (given.startsWith("~/")) return resolve(homedir(), given.slice(2));
  if (!isUrl(given)) return resolve(given);
  const local = localPath(given);
  throw notAFolder(given, name, local === undefined ? remedy : `write ${shown(local)}`);
}

function notAFolder(given: string, name: string, remedy: string): ValueError {
  return new ValueError(`${name}: ${shown(given)} is an address, not a folder: ${remedy}`);
}

/** The path in `file:///a/b`; undefined for any other URL. */
function localPath(url: string): string | undefined {
  try {
    return Bun.fileURLToPath(url);
  } catch {
    return undefined;
  }
}
