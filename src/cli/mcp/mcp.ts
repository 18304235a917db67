/**
 * `svc mcp`: the stdio server. Only the protocol is loaded here; the gate and all behind it come with the first tool
 * call.
 */
import { join } from "node:path";
import { buildInfo } from "../../build-info.ts";
import { serveMcp } from "../../mcp/server.ts";
import { TOOL_SETS, type ToolSet } from "../../mcp/tools.ts";
import type { DefaultScope } from "../../memory/default-scope.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Verbs } from "../../memory/requests.ts";
import { type Env, memoryPath, svcHome } from "../../paths.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import { ENGINE } from "../access/engine.ts";
import type { LoginContext } from "../access/first-login.ts";
import { allowsLocalLogin } from "../access/local-login.ts";
import { openRemote, REMOTE, type RemoteMemory, remoteMemory } from "../access/remote.ts";
import { asUsage, command, EXIT, MEMORY_PATH, SECRETS, string, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";

export default command({
  details:
    "Runs in the foreground, prints nothing and waits for a client. Normally the client starts it. It ends when stdin\n" +
    "ends. Calling a tool needs a login: run 'svc login' once. Listing the tools does not.\n\n" +
    "With --login, the first tool call signs in if there is no login, as 'svc login --yes' does: with this machine's\n" +
    "local authority and without network. It also installs the runtime. The answer says so once. After 'svc logout',\n" +
    "and where the authority is an organisation's, only 'svc login' signs in.",
  examples: [
    "svc mcp",
    "svc mcp --path ~/projects/memory --workspace ~/projects/app",
    "svc mcp --project auto --with-text --login",
    "svc mcp --tools core",
    "svc mcp --monitor-log /tmp/mcp.jsonl",
  ],
  args: {
    path: MEMORY_PATH,
    ...ENGINE,
    ...REMOTE,
    workspace: string(
      "DIR",
      "repository of svc_repo_search, or a folder of it (SVC_MCP_WORKSPACE, else what the client works in, else the git work " +
        "tree around the working directory)",
    ),
    project: string(
      "auto|NAME",
      "scope for new rows that name none; searches without where list its rows first. auto: the project of the workspace",
    ),
    tools: {
      type: "enum",
      options: [...TOOL_SETS],
      default: "all",
      description: "offer all 19 tools, the eight for everyday use (core), or only those that change nothing (read)",
    },
    "persistent-index": {
      type: "boolean",
      default: true,
      description: "keep the repository's index on disk",
      negativeDescription: "keep the repository's index in memory, for this process only",
    },
    "with-text": {
      type: "boolean",
      description: "searches return the best piece of each text and its day, unless a call says with_text itself",
    },
    secrets: SECRETS,
    login: {
      type: "boolean",
      description: "if there is no login, the first tool call signs in with this machine's local authority",
    },
    monitor: { type: "boolean", description: "append every message to mcp-monitor.jsonl in the memory directory" },
    "monitor-log": string("FILE", "append every message to this file"),
  },
  worksWithoutHome: true,
  async run({ args, name, env, signal }) {
    if (args.login && !allowsLocalLogin())
      throw new UsageError("--login: this build signs in only at its organisation: run 'svc login' once");
    const remote = remoteMemory(args, env);
    const secrets = args.secrets as SecretPolicy | undefined;
    let opened: Memory | undefined;
    let connected: { close(): Promise<void> } | undefined;
    const open = async () => {
      const { openVerbs } = await import("../access/gate.ts");
      const { path, workspace, "engine-file": engineFile } = args;
      const persistentIndex = args["persistent-index"];
      const kind = { label: name, feature: "mcp", stays: true, secrets } as const;
      opened = await openVerbs({ ...kind, env, path, engineFile, workspace, persistentIndex, warn: note });
      return opened;
    };
    const openHere = args.login ? signingIn(open, { env, signal }) : open;
    const openThere = async (memory: RemoteMemory) => {
      const there = await openRemote(memory, secrets, openHere);
      connected = there;
      return there.verbs;
    };
    const verbs = remote === undefined ? openHere : () => openThere(remote);
    const ownLog = args.monitor ? join(memoryPath(args.path, env), "mcp-monitor.jsonl") : undefined;
    const monitorLog = args["monitor-log"] ?? ownLog;
    try {
      const tools = args.tools as ToolSet;
      const withText = args["with-text"];
      const project = await projectFlag(args, env);
      const { version } = buildInfo();
      const isServed = remote !== undefined;
      await serveMcp({ verbs, isServed, version, tools, withText, project, monitorLog, warn: note, signal });
    } finally {
      await connected?.close();
      await opened?.close();
    }
    return signal.aborted ? EXIT.interrupted : EXIT.done;
  },
});

/** Opens a memory, and signs in where there is no login. Its code is loaded with the first call. */
function signingIn(open: () => Promise<Verbs>, context: LoginContext): () => Promise<Verbs> {
  let opener: (() => Promise<Verbs>) | undefined;
  return async () => {
    opener ??= (await import("../access/first-login.ts")).openWithLogin(context, open);
    return opener();
  };
}

/** Where rows without a scope go. Only loaded where it is asked for. */
async function projectFlag(
  {
    project,
    path,
    workspace,
  }: { project?: string | undefined; path?: string | undefined; workspace?: string | undefined },
  env: Env,
): Promise<DefaultScope | undefined> {
  if (project === undefined) return undefined;
  const { defaultScope } = await import("../../memory/default-scope.ts");
  const named = { flag: workspace, environment: env.SVC_MCP_WORKSPACE, projectDir: env.CLAUDE_PROJECT_DIR };
  return asUsage(() => defaultScope(project, named, [memoryPath(path, env), svcHome(env)]));
}
