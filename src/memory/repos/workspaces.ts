/**
 * Which directory a repository verb is about: the call's own argument, then what was configured, then what the client
 * says, then the git work tree around the working directory. What a person names is never passed over: where it is gone
 * or refused, the call fails. A client names directories without being asked, some long gone: one that cannot be
 * indexed is passed over, and the answer says so.
 */
import { shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { resolveWorkspace, type Workspace, type WorkspaceOptions, workspaceHere } from "../../repo/files/workspace.ts";

/** What named the workspace. */
export type WorkspaceSource =
  | "argument"
  | "flag"
  | "environment"
  | "CLAUDE_PROJECT_DIR"
  | "roots"
  | "working directory";

/** The directories that are named before any call. An empty one counts as none. */
export interface NamedWorkspaces {
  /** `--workspace`. */
  flag?: string | undefined;
  /** `SVC_MCP_WORKSPACE`. */
  environment?: string | undefined;
  /** `CLAUDE_PROJECT_DIR`, which Claude Code sets for the servers that it starts. */
  projectDir?: string | undefined;
}

/** The folders that a client works in, as its `roots/list` says. */
export interface ClientRoots {
  /** Absolute paths, in the client's order. */
  paths: readonly string[];
  /** Where some are left out, or there are none: why. */
  problem?: string;
}

/** Where the directories of one call come from. */
export interface WorkspaceCall {
  /** The directory that the call names. */
  argument?: string | undefined;
  /** Asks the client; absent where there is none. */
  roots?: (() => Promise<ClientRoots>) | undefined;
  signal?: AbortSignal | undefined;
}

/** A workspace and where it comes from. */
export interface FoundWorkspace {
  workspace: Workspace;
  source: WorkspaceSource;
  /** What it is, and why what comes before it does not apply. */
  reason: string;
  /** Where a directory that the client named was passed over: which and why. */
  notice: string | undefined;
}

/** Why there is none. */
export interface NoWorkspace {
  workspace?: undefined;
  reason: string;
}

/** Roots that a sentence names: a client may have many. */
const ROOTS_NAMED_MAX = 3;

/**
 * Finds the workspace of a call.
 * @throws ValueError where the call or the configuration names one that is gone or is never indexed
 */
export async function findWorkspace(
  named: NamedWorkspaces,
  call: WorkspaceCall,
  own: Pick<WorkspaceOptions, "neverIndexed">,
): Promise<FoundWorkspace | NoWorkspace> {
  const options = { ...own, signal: call.signal };
  const configured = [
    ["argument", call.argument, "named by the call"],
    ["flag", named.flag, "named by --workspace"],
    ["environment", named.environment, "named by SVC_MCP_WORKSPACE; --workspace is not given"],
  ] as const;
  for (const [source, path, reason] of configured) {
    if (path) return { workspace: await resolveWorkspace(path, options), source, reason, notice: undefined };
  }

  const reasons = ["neither --workspace nor SVC_MCP_WORKSPACE is given"];
  const faults: string[] = [];
  const found = (workspace: Workspace, source: WorkspaceSource, what: string) => ({
    workspace,
    source,
    reason: [what, ...reasons].join("; "),
    notice: faults.length === 0 ? undefined : `${faults.join("; ")}; searched ${shown(workspace.root)} instead`,
  });
  const passOver = (why: string) => {
    reasons.push(why);
    faults.push(why);
  };
  /** The workspace, or why it cannot be one. */
  const attempt = async (source: WorkspaceSource, path: string, called: string, what: string) => {
    try {
      return found(await resolveWorkspace(path, options, called), source, what);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      return error.message;
    }
  };

  if (named.projectDir) {
    const project = await attempt("CLAUDE_PROJECT_DIR", named.projectDir, "CLAUDE_PROJECT_DIR", "the client's project");
    if (typeof project !== "string") return project;
    passOver(project);
  } else reasons.push("CLAUDE_PROJECT_DIR is not set");

  const roots = await call.roots?.();
  if (roots?.problem) reasons.push(roots.problem);
  const { paths } = roots ?? { paths: [] };
  for (const [at, path] of paths.entries()) {
    const root = await attempt("roots", path, "the client's root", nameOf(paths, at));
    if (typeof root !== "string") return root;
    if (at < ROOTS_NAMED_MAX) passOver(root);
    else if (at === ROOTS_NAMED_MAX) passOver("and other roots of the client cannot be indexed");
  }

  try {
    return found(workspaceHere(options), "working directory", "the git work tree around the working directory");
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return { reason: [...reasons, error.message].join("; ") };
  }
}

function nameOf(paths: readonly string[], at: number): string {
  const others = paths.filter((_, index) => index !== at);
  if (others.length === 0) return "the client's root";
  const more = others.length > ROOTS_NAMED_MAX ? ", …" : "";
  const listed = others.slice(0, ROOTS_NAMED_MAX).map(shown).join(", ");
  return `the first of the client's ${paths.length} roots that can be indexed; pass workspace for ${listed}${more}`;
}
