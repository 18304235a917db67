/** What is at the other end of a connection, as far as the server says: by it a client knows what became of changes that are not saved. */

import { isObject } from "../checks/kinds.ts";
import { encodeFrame } from "../wire/frame.ts";

/** The `stats` of the server, as the fields that matter here. */
export interface Identity {
  /** Another one after each start of the server. */
  instance: string;
  /** Saves that failed since that start, over all collections; each dropped what was unsaved. */
  lostSaves: number;
}

/** One for each connection, which it stands for when the connection itself is long gone. */
export interface Peer {
  /** What the server said in front of the first change; undefined where it did not tell, or was not asked. */
  identity?: Identity | undefined;
}

/** Tells a reply to {@link WHO} from an error that is about the connection: those have no id. */
export const WHO_ID = "who";

/** The frame of the request that asks. */
export const WHO: Buffer = encodeFrame(JSON.stringify({ op: "stats", id: WHO_ID }));

/** Reads the result of {@link WHO}. A server that names no instance is not known. */
export function readIdentity(stats: unknown): Identity | undefined {
  if (!isObject(stats) || typeof stats.instance !== "string") return undefined;
  return { instance: stats.instance, lostSaves: typeof stats.lost_saves === "number" ? stats.lost_saves : 0 };
}
