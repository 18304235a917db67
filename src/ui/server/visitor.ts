/**
 * Who sent a request, decided before anything is looked up. Other sites' pages, other users of this machine and
 * attackers' names for loopback (DNS rebinding) get no page.
 */
import { isOwnUser } from "./peer.ts";
import type { Session } from "./session.ts";

/** Why a request is refused: its status, and a sentence for a person. */
export interface Refusal {
  readonly status: number;
  readonly problem: string;
  /** Whether a person may go on from there by a click. */
  readonly goesOn?: true;
}

export interface Visitor {
  readonly request: Request;
  readonly url: URL;
  /** The port of the client's end. */
  readonly clientPort: number | undefined;
}

/** @param port where this site listens on 127.0.0.1 */
export function refusalOf({ request, url, clientPort }: Visitor, port: number, session: Session): Refusal | undefined {
  const { headers, method } = request;
  const own = `127.0.0.1:${port}`;
  // A name that an attacker's DNS server resolves to loopback stands here.
  if (headers.get("host") !== own) return { status: 421, problem: `This page is at http://${own}/ only.` };
  if (clientPort !== undefined && !isOwnUser(clientPort, port, !session.has(request)))
    return { status: 403, problem: "This page belongs to another user of this machine." };
  if (method !== "GET" && method !== "POST")
    return { status: 405, problem: "This address answers pages and forms only." };
  // Browsers send it with every form. Pages of other ports of this host get our cookie sent, and have another origin.
  if (method === "POST" && headers.get("origin") !== `http://${own}`)
    return { status: 403, problem: "The form is not from a page of svc ui." };
  if (url.pathname === "/enter") return undefined;
  const from = headers.get("sec-fetch-site") ?? "none";
  if (from !== "same-origin" && from !== "none")
    return { status: 403, problem: "A page of another site led here.", goesOn: true };
  if (!session.has(request)) return { status: 403, problem: NO_SESSION };
  return undefined;
}

/** What to do without the session's cookie. */
export const NO_SESSION =
  "This browser has not opened this svc ui, or the address was used already. End svc ui in its terminal with Ctrl-C, and run it again.";
