/**
 * A server that does not answer may work on a long call, or have vanished without closing anything: a laptop sleeps, a
 * cable is out, a router has forgotten the connection. Replies come in order, so a ping on the same connection would wait
 * for the call. After a while of silence another connection shows whether the server can be reached.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { PermissionError, RuntimeError } from "../../errors.ts";
import { Call } from "./call.ts";
import { deferred } from "./deferred.ts";
import { encodeRequest } from "./encode.ts";
import { Connection, type ConnectionOptions } from "./link.ts";

/** How long a server with calls to answer may be silent before it is looked for. */
const SILENCE_MS = 20_000;
/** How long it is looked for before the connection is given up: after a sleep the network takes a while to come back. */
const SEARCH_MS = 10_000;
const PAUSE_MS = 500;

/** Limits that a test shortens. */
export interface SilenceLimits {
  silenceMs?: number | undefined;
  searchMs?: number | undefined;
}

/** Watches one connection over TCP until it is over. On a Unix socket the system reports each end. */
export function watchSilence(connection: Connection, options: ConnectionOptions & SilenceLimits): void {
  if (options.address.kind !== "tcp") return;
  const { silenceMs = SILENCE_MS, searchMs = SEARCH_MS } = options;
  let isSearching = false;
  const timer = setInterval(async () => {
    if (connection.isOver) clearInterval(timer);
    if (connection.isOver || isSearching || connection.silentMs < silenceMs) return;
    isSearching = true;
    const isThere = await isReachable(options, searchMs);
    isSearching = false;
    // A reply that came meanwhile is a sign of life, too.
    if (isThere || connection.silentMs < silenceMs) return;
    const seconds = Math.round((silenceMs + searchMs) / 1000);
    connection.giveUp(`nothing came for ${seconds} s, and the server cannot be reached`);
  }, silenceMs / 4);
  timer.unref();
}

/** Whether a server answers there, be it with a refusal; tried until `searchMs` are over. */
async function isReachable(options: ConnectionOptions, searchMs: number): Promise<boolean> {
  const deadline = performance.now() + searchMs;
  for (let left = searchMs; left > 0; left = deadline - performance.now()) {
    try {
      await ping({ ...options, timeoutMs: Math.ceil(left) });
      return true;
    } catch (error) {
      if (error instanceof PermissionError || error instanceof RuntimeError) return true;
      await sleep(Math.min(PAUSE_MS, searchMs / 4));
    }
  }
  return false;
}

async function ping(options: ConnectionOptions): Promise<void> {
  const { promise, resolve, reject } = deferred<unknown>();
  const lost = () => reject(new Error("lost"));
  const connection = await Connection.open(options, lost);
  const timer = setTimeout(lost, options.timeoutMs);
  try {
    connection.send(new Call("ping", encodeRequest("ping"), resolve, reject));
    await promise;
  } finally {
    clearTimeout(timer);
    connection.end();
  }
}
