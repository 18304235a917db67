/** The identity of a server: it shows after a reconnect whether unsaved changes are still there. */

import { isObject } from "../../checks/kinds.ts";
import { encodeFrame } from "../wire/frame.ts";

/** From the server's `stats`. */
export interface Identity {
  /** Another after each start of the server. */
  instance: string;
  /** Failed saves since that start, over all collections; each dropped unsaved changes, or may have. */
  lostSaves: number;
}

/** One for each connection; it outlives the connection. */
export interface Peer {
  /** As reported before the first change; undefined where there was no change, or no identity. */
  identity?: Identity | undefined;
}

/** Distinguishes the reply from an error about the connection, which has no id. */
export const IDENTITY_ID = "who";

/** The request for the identity. */
export const IDENTITY_FRAME: Buffer = encodeFrame(JSON.stringify({ op: "stats", id: IDENTITY_ID }));

/** Reads the reply; undefined for a server that names no instance. */
export function readIdentity(stats: unknown): Identity | undefined {
  if (!isObject(stats) || typeof stats.instance !== "string") return undefined;
  return { instance: stats.instance, lostSaves: typeof stats.lost_saves === "number" ? stats.lost_saves : 0 };
}
