/** The scope of `svc mcp --project`: the one that is named, or that of the project that the client works in. */
import { readScope } from "../checks/names.ts";
import { projectOf } from "./project.ts";
import { findWorkspace, type NamedWorkspaces, type WorkspaceCall } from "./repos/workspaces.ts";

/** Stands for the project that the client works in. */
const AUTO = "auto";

/** The scope of a call; undefined where there is no project. Never rejects. */
export type DefaultScope = (call: Pick<WorkspaceCall, "roots" | "signal">) => Promise<string | undefined>;

/**
 * The scopes of the calls of one server. With `auto` it is that of the workspace of `svc_repo_search`, which is looked
 * for in each call.
 * @param given `auto`, or a scope
 * @throws ValueError for what no scope can be
 */
export function defaultScope(given: string, named: NamedWorkspaces, neverIndexed: readonly string[]): DefaultScope {
  if (given !== AUTO) {
    const scope = readScope(given, "--project");
    return async () => scope;
  }
  return async (call) => {
    try {
      const { workspace } = await findWorkspace(named, call, { neverIndexed });
      return workspace && projectOf(workspace.root);
    } catch {
      // One that --workspace names is gone or refused. svc_repo_search says so; notes do not depend on it.
      return undefined;
    }
  };
}
