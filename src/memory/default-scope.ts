/** The scope of `svc mcp --project`: the one that is named, or that of the project that the client works in. */
import { shown } from "../checks/kinds.ts";
import { readString } from "../checks/strings.ts";
import { ValueError } from "../errors.ts";
import { SCOPE_BYTES_MAX } from "../limits.ts";
import { isPrintable, projectOf } from "./project.ts";
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
    const scope = checkScope(given);
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

function checkScope(given: string): string {
  const scope = readString(given, "--project");
  const bytes = Buffer.byteLength(scope);
  if (bytes > SCOPE_BYTES_MAX)
    throw new ValueError(`--project has ${bytes} bytes of UTF-8; the limit is ${SCOPE_BYTES_MAX}`, "limit");
  if (scope.trim() !== "" && isPrintable(scope)) return scope;
  throw new ValueError(`--project ${shown(scope)} is not a scope: give 'auto', or a name without control characters`);
}
