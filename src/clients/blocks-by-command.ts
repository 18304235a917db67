/** The lists that keep a client from starting a server by its command, or by its name as well. */
import { join } from "node:path";
import { attempt } from "../errors.ts";
import { anyOf, deniedTools, fits, list } from "./blocks-by-name.ts";
import type { Block, Client, ClientSite, Entry, FindBlock, ReadSettings } from "./client.ts";
import type { Plain, PlainObject } from "./edit/edit.ts";
import { TOML_NOTATION } from "./edit/toml.ts";
import { isObject, own, valueAt } from "./edit/values.ts";
import { projectFiles, systemFile } from "./places.ts";

/** The folder in which an administrator has settings of Claude Code. */
const claudeManaged = (site: ClientSite, name: string) =>
  systemFile(site, `/etc/claude-code/${name}`, `/Library/Application Support/ClaudeCode/${name}`);

/**
 * Claude Code documentation, "Control MCP server access for your organization" and "Settings": a file of the administrator
 * that replaces all others, lists by name or by command, which all files of settings have together, and the answers of a
 * user about a project's file.
 */
export function claudeLists(folder: (site: ClientSite) => string, state: Client["files"]): FindBlock {
  const settings = (site: ClientSite) => [
    claudeManaged(site, "managed-settings.json"),
    ...projectFiles(site, ".claude/settings.local.json", ".claude/settings.json"),
    join(folder(site), "settings.json"),
  ];
  return anyOf(
    ({ name }, site, read) => {
      const file = claudeManaged(site, "managed-mcp.json");
      const managed = read(file);
      if (managed === undefined || valueAt(managed, ["mcpServers", name]) !== undefined) return undefined;
      return { file, key: "mcpServers", why: "does not list it, and replaces all other files" };
    },
    (entry, site, read) => claudePolicy(entry, settings(site), read),
    deniedTools(settings),
    ({ name, scope }, site, read) => {
      const answers = [
        ...(scope === "project" ? (["disabledMcpjsonServers"] as const) : []),
        ...(["disabledMcpServers"] as const),
      ];
      for (const key of answers) {
        const ofProject = ["projects", site.project ?? "", key];
        const places = [
          ...(key === "disabledMcpjsonServers" ? settings(site).map((file) => [file, [key]] as const) : []),
          ...state("user", site).map((file) => [file, ofProject] as const),
        ];
        for (const [file, path] of places)
          if (list(read(file), ...path)?.includes(name)) return { file, key, why: "lists it" };
      }
      return undefined;
    },
  );
}

/** `deniedMcpServers` and `allowedMcpServers` of all files together, the administrator's first. */
function claudePolicy(entry: Entry, files: readonly string[], read: ReadSettings): Block | undefined {
  const [managed] = files;
  const isManagedOnly = own(read(managed!) ?? {}, "allowManagedMcpServersOnly") === true;
  const listsOf = (some: readonly string[], key: string) =>
    some.flatMap((file) => {
      const servers = list(read(file), key);
      return servers === undefined ? [] : [{ file, key, servers }];
    });
  const allowed = listsOf(isManagedOnly ? files.slice(0, 1) : files, "allowedMcpServers");
  // Names do not count where commands are listed.
  const hasCommands = allowed.some(({ servers }) => servers.some((one) => isObject(one) && own(one, "serverCommand")));
  return blockedIn(entry, listsOf(files, "deniedMcpServers"), allowed, hasCommands);
}

/** A list of servers in a file. */
interface ServerList {
  readonly file: string;
  readonly key: string;
  /** Each with `serverName`, or `serverCommand` as a list of words. */
  readonly servers: readonly Plain[];
}

/** A denied server is blocked. If any allow list exists, a server in none of them is blocked too. */
function blockedIn(
  { name, server }: Entry,
  denied: readonly ServerList[],
  allowed: readonly ServerList[],
  hasCommands = false,
): Block | undefined {
  const command = JSON.stringify([server.command, ...server.args]);
  const isCommand = (one: Plain) => isObject(one) && JSON.stringify(own(one, "serverCommand")) === command;
  const isNamed = (one: Plain) => isObject(one) && own(one, "serverName") === name;
  const isEither = (one: Plain) => isCommand(one) || isNamed(one);
  const denying = denied.find(({ servers }) => servers.some(isEither));
  if (denying !== undefined) return { file: denying.file, key: denying.key, why: "lists it" };
  const [first] = allowed;
  if (first === undefined) return undefined;
  if (allowed.some(({ servers }) => servers.some(hasCommands ? isCommand : isEither))) return undefined;
  return { file: first.file, key: first.key, why: "does not list it" };
}

/**
 * GitHub documentation, "Enterprise managed settings": lists of an administrator for Copilot CLI, and for Copilot in VS
 * Code.
 */
export const copilotLists: FindBlock = (entry, site, read) => {
  const [linux, darwin] = ["/etc/github-copilot", "/Library/Application Support/GitHubCopilot"];
  const file = systemFile(site, `${linux}/managed-settings.json`, `${darwin}/managed-settings.json`);
  return blockedIn(entry, ...listsIn(file, read(file), "deniedMcpServers", "allowedMcpServers"));
};

/** The two lists of a file; as JSON in a text, too, which is how policies of Windows and macOS have them. */
function listsIn(file: string, settings: PlainObject | undefined, ...keys: readonly [string, string]) {
  return keys.map((key): ServerList[] => {
    const value = settings && own(settings, key);
    const servers: unknown = typeof value === "string" ? attempt(() => JSON.parse(value)) : value;
    return Array.isArray(servers) ? [{ file, key, servers }] : [];
  }) as [ServerList[], ServerList[]];
}

/** Codex documentation, "Managed configuration": only servers that the requirements have, with this command, are enabled. */
export const codexRequirements: FindBlock = ({ name, server }, site, read) => {
  const file = systemFile(site, "/etc/codex/requirements.toml", "/etc/codex/requirements.toml");
  const servers = own(read(file, TOML_NOTATION) ?? {}, "mcp_servers");
  if (!isObject(servers)) return undefined;
  const command = valueAt(servers, [name, "identity", "command"]);
  // In a table the arguments may be patterns: those are left to Codex.
  const program = isObject(command) ? own(command, "executable") : command;
  return program === server.command
    ? undefined
    : { file, key: "mcp_servers", why: "does not list it with this command" };
};

/** Visual Studio Code documentation, "Enterprise policies": lists of servers, and whether any may be used. */
export function vscodeAccess(settings: (site: ClientSite) => string): FindBlock {
  return (entry, site, read) => {
    const policy = systemFile(site, "/etc/vscode/policy.json", "/etc/vscode/policy.json");
    const block = blockedIn(entry, ...listsIn(policy, read(policy), "ChatDeniedMcpServers", "ChatAllowedMcpServers"));
    if (block !== undefined) return block;
    for (const [file, key] of [
      [policy, "ChatMCP"],
      [settings(site), "chat.mcp.access"],
    ] as const) {
      const value = own(read(file) ?? {}, key);
      if (value === "none") return { file, key, why: "is 'none'" };
      if (value === "registry") return { file, key, why: "is 'registry', and svc is not from the registry" };
      // The administrator's decides.
      if (value !== undefined) return undefined;
    }
    return undefined;
  };
}

/**
 * Amp Owner's Manual, "MCP permissions": the first rule that fits decides, of the first file that has rules. A server
 * that none fits is allowed.
 */
export function ampRules(files: (site: ClientSite) => readonly string[]): FindBlock {
  return ({ server }, site, read) => {
    const args = server.args.join(" ");
    const isFit = (rule: Plain) => {
      const matches = isObject(rule) ? own(rule, "matches") : undefined;
      if (!isObject(matches)) return false;
      const [command, words] = [own(matches, "command"), own(matches, "args")];
      if (typeof command !== "string" && typeof words !== "string") return false;
      const isCommand =
        typeof command !== "string" || fits(command, server.command) || fits(command, `${server.command} ${args}`);
      return isCommand && (typeof words !== "string" || fits(words, args));
    };
    for (const file of files(site)) {
      const rules = list(read(file), "amp.mcpPermissions");
      if (rules === undefined) continue;
      const rule = rules.find(isFit);
      const isRejected = isObject(rule) && own(rule, "action") === "reject";
      return isRejected ? { file, key: "amp.mcpPermissions", why: "rejects it" } : undefined;
    }
    return undefined;
  };
}
