/** Where clients keep their files, as entries of the catalogue say it. */
import { join } from "node:path";
import type { Client, ClientSite, Precedence, Scope } from "./client.ts";
import { JSON_NOTATION } from "./edit/json.ts";
import { standard } from "./shapes.ts";

/** `$XDG_CONFIG_HOME`, where it is absolute: others are invalid, as the XDG specification says. */
export const xdgConfig = ({ env }: ClientSite) =>
  env.XDG_CONFIG_HOME?.startsWith("/") ? env.XDG_CONFIG_HOME : undefined;

/** That, or `~/.config`. */
export const config = (site: ClientSite) => xdgConfig(site) ?? join(site.home, ".config");

/** Where applications keep their settings: `~/Library/Application Support` on macOS, `~/.config` on Linux. */
export const support = (site: ClientSite) =>
  site.platform === "darwin" ? join(site.home, "Library", "Application Support") : config(site);

/** A file of the system, which an administrator writes. */
export function systemFile(site: ClientSite, linux: string, darwin: string): string {
  return join(site.root ?? "/", site.platform === "darwin" ? darwin : linux);
}

/** A file of a project, where there is one. */
export function projectFiles(site: ClientSite, ...names: readonly string[]): string[] {
  const { project } = site;
  return project === undefined ? [] : names.map((name) => join(project, name));
}

/** A file of the project for scope `project`, else the files of the user. */
export function byScope(project: readonly string[], user: (site: ClientSite) => readonly string[]) {
  return (scope: Scope, site: ClientSite): readonly string[] =>
    scope === "user" ? user(site) : project.map((file) => join(site.project ?? ".", file));
}

/** A client whose entries lie in `mcpServers` of a JSON file, unless it says otherwise. */
export function jsonClient(
  client: Omit<Client, "notation" | "shape" | "path"> & Partial<Pick<Client, "shape" | "path">>,
  key = "mcpServers",
): Client {
  return { notation: JSON_NOTATION, shape: standard(), path: () => [key], ...client };
}

/** Files of instructions: of a project in its folder, of the user in the client's. */
export function instructionFiles(user: (site: ClientSite) => string, names: readonly string[], project = names) {
  return (scope: Scope, site: ClientSite): readonly string[] =>
    scope === "user"
      ? names.map((name) => join(user(site), name))
      : project.map((name) => join(site.project ?? ".", name));
}

/** Of clients that have a file of the user and one of a project. */
export const BOTH: readonly Scope[] = ["user", "project"];
/** Of those that have the user's only. */
export const USER: readonly Scope[] = ["user"];

/** Of clients whose documentation says that a project's settings override the user's, and which have no third place. */
export const PROJECT_FIRST: Precedence = { rule: "an entry of the project wins over one of the user" };

/** The folder of Copilot CLI, which VS Code reads as well. */
export function copilotFolder({ home, env }: ClientSite): string {
  return env.COPILOT_HOME || join(home, ".copilot");
}
