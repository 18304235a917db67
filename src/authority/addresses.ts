/** Who a request is from, as limits count it and as a page shows it: network addresses. */
import { isIP } from "node:net";
import { isLoopback } from "../account/endpoints.ts";

/**
 * The address that a request came from: the peer's, or behind a proxy on this machine what the proxy says in the last
 * entry of X-Forwarded-For. Undefined where only the proxy's own address is known. Without a proxy the header is not
 * read: every client could write there what it likes.
 */
export function clientAddress(peer: string | undefined, headers: Headers, behindProxy: boolean): string | undefined {
  if (peer === undefined) return undefined;
  const plain = peer.replace(/^::ffff:(?=[\d.]+$)/i, "");
  if (!behindProxy || !isLoopback(plain)) return plain;
  const last = headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "";
  return isIP(last) === 0 ? undefined : last;
}

/**
 * What limits count as one: an IPv4 address, the /64 of an IPv6 address, which is what one network is given, or this
 * machine, which has 2^24 loopback addresses.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, "");
  if (isLoopback(plain)) return "this machine";
  if (isIP(plain) !== 6) return plain;
  const [before = "", after] = plain.replace(/%.*$/, "").toLowerCase().split("::");
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
