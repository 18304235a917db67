/**
 * Which user has the other end of a connection on loopback. Every user of a machine reaches its loopback ports, and sees
 * the one-time address in the list of processes while a browser starts with it.
 */
import { readFileSync } from "node:fs";

/** A connection is open (TCP_ESTABLISHED of the kernel's tcp_states.h). */
const ESTABLISHED = "01";

/**
 * The user id of the client's socket, by the table of proc(5). Undefined where the system has no such table (macOS), or
 * the connection is not in it.
 * @param client the client's port @param server ours, both of 127.0.0.1
 */
export function userOf(client: number, server: number, table = "/proc/net/tcp"): number | undefined {
  let text: string;
  try {
    text = readFileSync(table, "latin1");
  } catch {
    return undefined;
  }
  const ends = `${hex(client)} ${hex(server)} ${ESTABLISHED} `;
  const at = text.indexOf(ends);
  if (at < 0) return undefined;
  // tx_queue:rx_queue, timer:when, retransmits, uid
  const uid = text
    .slice(at + ends.length, text.indexOf("\n", at))
    .trim()
    .split(/ +/)[3];
  return uid === undefined || !/^\d+$/.test(uid) ? undefined : Number(uid);
}

/** 127.0.0.1 as the table has it on a little-endian machine, which all our platforms are, and the port. */
function hex(port: number): string {
  return `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Reading the table takes 5 ms, as the kernel walks all buckets of its hash: a port is looked up once in this time. */
const KNOWN_MS = 10_000;
const PORTS_MAX = 1_000;
/** Ports of this user's connections, and when they were looked up. */
const known = new Map<number, number>();

/**
 * Whether the client may be answered: it is this user's, or root's, who can read the memory in any case and forwards
 * connections of Windows into WSL. Where the system does not say, the session's secret alone decides.
 * @param isNew whether the client has no session yet: then only what the system says now counts. Else its port may have
 *   been this user's some seconds ago, as the client has the cookie, too
 */
export function isOwnUser(client: number, server: number, isNew: boolean): boolean {
  const now = performance.now();
  if (!isNew && now - (known.get(client) ?? Number.NEGATIVE_INFINITY) < KNOWN_MS) return true;
  const own = process.getuid?.();
  const user = own === undefined ? undefined : userOf(client, server);
  const isOwn = user === undefined || user === own || user === 0;
  if (known.size >= PORTS_MAX) known.clear();
  if (isOwn) known.set(client, now);
  else known.delete(client);
  return isOwn;
}
