/** What the history says of changes that are made from a terminal. */

import { programVersion } from "../../build-info.ts";
import { TERMINAL, withOrigin } from "../../origin.ts";

/** Runs the work of a command. @param name as `svc mem add` */
export function asTerminal<T>(name: string, work: () => T): T {
  const session = crypto.randomUUID().slice(0, 8);
  const tool = name.replace(/^svc mem /, "");
  return withOrigin({ client: TERMINAL, version: programVersion().version, tool, session }, work);
}
