/** Who a request is from, as limits count it and as a page shows it: network addresses. */
import { BlockList, isIP } from "node:net";
import { ValueError } from "../../errors.ts";
import { isLoopback } from "../account/trusted/endpoints.ts";

/** Proxies whose X-Forwarded-For is believed. */
export interface Proxies {
  has(address: string): boolean;
}

/**
 * The proxies of addresses and networks, as 192.0.2.1, 10.0.0.0/8, ::1 or 2001:db8::/32; undefined where there are
 * none.
 * @throws ValueError for an entry that is neither, or that is every address
 */
export function proxiesOf(entries: readonly string[]): Proxies | undefined {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [, network = "", bits] = /^([^/]+?)(?:\/(\d{1,3}))?$/.exec(entry.trim()) ?? [];
    const version = isIP(network);
    const family = version === 6 ? "ipv6" : "ipv4";
    const most = version === 6 ? 128 : 32;
    if (version === 0 || network.includes("%") || Number(bits ?? 0) > most) {
      throw new ValueError(
        `trusted proxy '${entry.slice(0, 200)}' is neither an address, as 192.0.2.1 or ::1, nor a network, as 10.0.0.0/8`,
      );
    }
    if (bits !== undefined && Number(bits) === 0) {
      throw new ValueError(`trusted proxy '${entry}' covers every address: name the proxy's own address`);
    }
    if (bits === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(bits), family);
  }
  return { has: (address) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4") };
}

/**
 * The address that a request came from: the peer's, or where that is a trusted proxy the last entry of X-Forwarded-For
 * that is not one. Undefined where the proxy does not say. From other peers the header is not read: every client could
 * write there what it likes.
 */
export function clientAddress(
  peer: string | undefined,
  headers: Headers,
  proxies: Proxies | undefined,
): string | undefined {
  const plain = peer === undefined ? undefined : plainAddress(peer);
  if (plain === undefined || !proxies?.has(plain)) return plain;
  const entries = headers.get("x-forwarded-for")?.split(",") ?? [];
  let nearest: string | undefined;
  for (const entry of entries.reverse()) {
    nearest = forwardedAddress(entry.trim());
    // What stands before an entry that is not an address was written by that client.
    if (nearest === undefined || !proxies.has(nearest)) return nearest;
  }
  return nearest;
}

/** An IPv4 address that came in by an IPv6 socket is written as itself. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, "").replace(/%.*$/, "");
}

/** One entry, which some proxies write with a port. */
function forwardedAddress(entry: string): string | undefined {
  const [, bare] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry) ?? /^([\d.]+):\d{1,5}$/.exec(entry) ?? [];
  const address = plainAddress(bare ?? entry);
  return isIP(address) === 0 ? undefined : address;
}

/**
 * What limits count as one: an IPv4 address, the /64 of an IPv6 address, which is what one network is given, or this
 * machine, which has 2^24 loopback addresses.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const plain = plainAddress(address);
  if (isLoopback(plain)) return "this machine";
  if (isIP(plain) !== 6) return plain;
  const [before = "", after] = plain.toLowerCase().split("::");
  const head = before.split(":").filter(Boolean);
  const tail = (after ?? "").split(":").filter(Boolean);
  // The last two groups may be written as an IPv4 address; that is beyond the first four unless "::" begins it all.
  const missing = after === undefined ? 0 : 8 - head.length - tail.length - (plain.includes(".") ? 1 : 0);
  const groups = [...head, ...Array<string>(Math.max(0, missing)).fill("0"), ...tail];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
