/** What the history says of changes that are made from a terminal. */

import { randomBytes } from "node:crypto";
import { programVersion } from "../../build-info.ts";
import { TERMINAL, withOrigin } from "../../origin.ts";

/** Runs the work of a command. @param name as `svc mem add` */
export function asTerminal<T>(name: string, work: () => T): T {
  const session = randomBytes(4).toString("hex");
  const tool = name.replace(/^svc mem /, "");
  return withOrigin({ client: TERMINAL, version: programVersion().version, tool, session }, work);
}
