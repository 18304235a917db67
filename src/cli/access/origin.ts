/** What the history says of changes that are made from a terminal. */
import { programVersion } from "../../build-info.ts";
import { withOrigin } from "../../origin.ts";

/** Runs the work of a command. @param name as `svc mem add` */
export function asTerminal<T>(name: string, work: () => T): T {
  return withOrigin(
    { client: "terminal", version: programVersion().version, tool: name.replace(/^svc mem /, "") },
    work,
  );
}
