/** `svc mcp install`: writes the entry that starts this executable into the configuration of MCP clients. */
import { CLIENTS } from "../../clients/clients.ts";
import { TOOL_SETS } from "../../mcp/tools.ts";
import { REMOTE } from "../access/remote.ts";
import { command, MEMORY_PATH, SECRETS, string, UsageError } from "../terminal/command.ts";
import { CONSENT_FLAGS } from "./consent.ts";
import { EXTRA_FLAGS } from "./extras.ts";
import { installChosen } from "./install-choice.ts";
import { servedEntry } from "./served.ts";
import { checkHost, SSH_FLAG } from "./ssh.ts";
import { CLIENT_FLAGS, CLIENT_IDS, listed, SCOPE_FLAG, targetOf } from "./targets.ts";

const titlesWith = (what: "hooks" | "instructions") => listed(CLIENTS.filter((client) => client[what] !== undefined));

export default command({
  details:
    "The entry starts this executable by its absolute path. The rest of the client's file stays byte for byte, and a copy of\n" +
    "the earlier file is kept beside it. A file that cannot be read is left alone. Afterwards the command is started once,\n" +
    "and must answer with its tools. You can repeat it: a flag of the earlier install stays unless you give it again,\n" +
    "--path, --workspace and --tools included. 'svc mcp uninstall' removes the entry.\n\n" +
    "With --ssh the entry starts 'svc mcp' on another host, with these flags: --path and --workspace are folders there.\n" +
    "ssh must connect without a question.\n\n" +
    "With --remote the entry uses a memory that 'svc serve' has. A token in SVC_ACCESS_TOKEN is put into a file of mode\n" +
    "0600 under SVC_HOME, and the entry names the file. It is removed with the last entry that names it.\n\n" +
    `Hooks: ${titlesWith("hooks")}. Instructions: ${titlesWith("instructions")}.\n` +
    "An install without these two flags updates existing hooks and instructions.\n\n" +
    `Clients: ${CLIENT_IDS.join(", ")}.`.replace(/(.{1,118})(?: |$)/g, "$1\n").trimEnd(),
  examples: [
    "svc mcp install",
    "svc mcp install --client claude-code --client cursor",
    "svc mcp install --all --dry-run",
    "svc mcp install --client claude-code --hooks --instructions",
    "svc mcp install --client vscode --scope project",
    "svc mcp install --client codex --path ~/projects/memory --name project-memory",
    "svc mcp install --client cursor --ssh me@team.example.org",
    "svc mcp install --client cursor --remote team.example.org:8471 --token-file ~/.svc/team-token",
  ],
  args: {
    ...CLIENT_FLAGS,
    scope: SCOPE_FLAG,
    ...CONSENT_FLAGS,
    path: MEMORY_PATH,
    workspace: string("DIR", "repository of svc_repo_search (what the client works in)"),
    tools: {
      type: "enum",
      options: [...TOOL_SETS],
      description: "offer all 19 tools, the eight for everyday use (core), or only those that change nothing (read)",
    },
    project: string(
      "auto|NAME",
      "scope for rows that name none; its rows come first. auto: the project that the client works in",
    ),
    secrets: SECRETS,
    ...REMOTE,
    ssh: SSH_FLAG,
    ...EXTRA_FLAGS,
    "dry-run": { type: "boolean", description: "print the difference, write nothing" },
    replace: { type: "boolean", description: "replace an entry of the same name that starts another program" },
  },
  async run({ args, env, signal }) {
    const { ssh, path, workspace, tools, secrets, project, hooks, instructions } = args;
    if (ssh !== undefined) checkHost(ssh);
    if (ssh !== undefined && hooks === true)
      throw new UsageError(
        "--hooks: hooks use the memory of this machine, and --ssh that of another host: leave one out",
      );
    if (args.remote !== undefined && (ssh !== undefined || hooks === true))
      throw new UsageError(
        `--${ssh === undefined ? "hooks" : "ssh"} is for a memory of another machine than --remote: leave one out`,
      );
    const target = targetOf(args, env);
    // With --ssh the memory is one of the host: SVC_REMOTE of this machine does not count.
    const served = await servedEntry(args, target, ssh === undefined ? env : { ...env, SVC_REMOTE: undefined });
    const flags = { ssh, path, ...served.flags, workspace, tools, secrets, project, hooks, instructions };
    return installChosen(args, { ...target, env, signal, ...flags, tokenFile: served.tokenFile });
  },
});
