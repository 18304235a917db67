/**
 * The lists that keep a client from starting a server by its name: of its user, of a project, of an administrator. Each
 * function makes the `findBlock` of a client. Only what the client's documentation says is read; what an administrator
 * sets on a server of the maker is not on this machine.
 */
import type { Client, ClientSite, FindBlock, Scope } from "./client.ts";
import type { Plain, PlainObject } from "./edit/edit.ts";
import { valueAt } from "./edit/values.ts";
import { projectFiles, systemFile } from "./places.ts";

/** A list of settings; undefined where there is none. */
export const list = (settings: PlainObject | undefined, ...path: string[]): readonly Plain[] | undefined => {
  const value = settings && valueAt(settings, path);
  return Array.isArray(value) ? value : undefined;
};

/**
 * Whether a text fits a pattern with `*` for any characters and, if `hasOne`, `?` for one. A pattern may come with a
 * project: a regular expression made of it could take for ever.
 */
export function fits(pattern: string, text: string, hasOne = false): boolean {
  let [at, i] = [0, 0];
  // Where the last `*` is, and how much of the text it takes so far.
  let [star, taken] = [-1, 0];
  while (at < text.length) {
    const char = pattern[i];
    if (char === "*") [star, taken, i] = [i, at, i + 1];
    else if (char !== undefined && (char === text[at] || (hasOne && char === "?"))) [at, i] = [at + 1, i + 1];
    else if (star >= 0) [at, i, taken] = [taken + 1, star + 1, taken + 1];
    else return false;
  }
  return /^\**$/.test(pattern.slice(i));
}

/**
 * Lists of names, `mcp.excluded` and `mcp.allowed`: of several files that have a list, the first decides.
 * @param files of settings, those that win first
 * @param hasPatterns whether a name may have `*` and `?`
 */
export function nameLists(files: (site: ClientSite) => readonly string[], hasPatterns = false): FindBlock {
  return ({ name }, site, read) => {
    const isIn = (names: readonly Plain[]) =>
      names.some((one) => typeof one === "string" && (hasPatterns ? fits(one, name, true) : one === name));
    for (const [key, isBlocked, why] of [
      ["excluded", isIn, "lists it"],
      ["allowed", (names: readonly Plain[]) => !isIn(names), "does not list it"],
    ] as const) {
      for (const file of files(site)) {
        const names = list(read(file), "mcp", key);
        if (names === undefined) continue;
        if (isBlocked(names)) return { file, key: `mcp.${key}`, why };
        break;
      }
    }
    return undefined;
  };
}

/**
 * The files of settings of Gemini CLI and of Qwen Code, which came from it, those that win first: the administrator's, the
 * project's, the user's, and the administrator's defaults.
 */
export function geminiSettings(
  site: ClientSite,
  folder: string,
  variable: string,
  project: string,
  user: Client["files"],
): string[] {
  const system = (name: string, moved: string) =>
    site.env[`${variable}_SYSTEM_${moved}_PATH`] ||
    systemFile(site, `/etc/${folder}/${name}`, `/Library/Application Support/${DARWIN_NAMES[folder]}/${name}`);
  return [
    system("settings.json", "SETTINGS"),
    ...projectFiles(site, project),
    ...user("user", site),
    system("system-defaults.json", "DEFAULTS"),
  ];
}

const DARWIN_NAMES: Record<string, string> = { "gemini-cli": "GeminiCli", "qwen-code": "QwenCode" };

/** Several of them: the first that blocks. */
export function anyOf(...all: readonly FindBlock[]): FindBlock {
  return (entry, site, read) => {
    for (const one of all) {
      const block = one(entry, site, read);
      if (block !== undefined) return block;
    }
    return undefined;
  };
}

/** A switch for an entry that lies in another file than the entry. */
export function switchIn(
  files: (site: ClientSite, scope: Scope) => readonly string[],
  path: (name: string) => readonly string[],
): FindBlock {
  return ({ name, scope }, site, read) => {
    const keys = path(name);
    const file = files(site, scope).find((one) => valueAt(read(one) ?? {}, keys) === false);
    return file === undefined ? undefined : { file, key: keys.join("."), why: "is false" };
  };
}

/** Rules of permissions that deny all tools of a server: `mcp__NAME`, `mcp__NAME__*`, or a pattern that has it too. */
export function deniedTools(files: (site: ClientSite) => readonly string[]): FindBlock {
  return ({ name }, site, read) => {
    for (const file of files(site)) {
      const rules = list(read(file), "permissions", "deny") ?? [];
      // All tools of svc begin with `svc_`.
      const isAll = (one: string) => one === `mcp__${name}` || (one.endsWith("*") && fits(one, `mcp__${name}__svc_`));
      const rule = rules.find((one) => typeof one === "string" && isAll(one));
      if (rule !== undefined)
        return { file, key: "permissions.deny", why: `has '${String(rule)}'`, effect: "offers no tool of svc" };
    }
    return undefined;
  };
}

/**
 * Cursor documentation, "Permissions" of its CLI: `Mcp(server:tool)` with `*` in both, and what is denied is denied. The
 * editor has its lists on a server of the maker.
 */
export function cursorDenied(files: (site: ClientSite) => readonly string[]): FindBlock {
  return ({ name }, site, read) => {
    for (const file of files(site)) {
      const rule = (list(read(file), "permissions", "deny") ?? []).find((one) => {
        const [, server, tool] = /^Mcp\(([^:,]*)[:,]\s*([^)]*)\)$/.exec(String(one)) ?? [];
        return server !== undefined && fits(server, name) && tool!.endsWith("*") && fits(tool!, "svc_");
      });
      if (rule === undefined) continue;
      const effect = "offers no tool of svc in its program of the terminal";
      return { file, key: "permissions.deny", why: `has '${String(rule)}'`, effect, isPartial: true };
    }
    return undefined;
  };
}
