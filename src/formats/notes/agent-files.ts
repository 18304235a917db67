/** Which Markdown files are what agents read and write as their memory, and are divided into bullets. */
import { basename, dirname } from "node:path";
import { isObject } from "../../checks/kinds.ts";

/** Instructions and memories of Claude Code, Codex, Gemini CLI, Cursor, Windsurf, Cline and Copilot. */
const NAMES: ReadonlySet<string> = new Set([
  "claude.md",
  "claude.local.md",
  "agents.md",
  "agents.override.md",
  "agent.md",
  "gemini.md",
  "memory.md",
  "copilot-instructions.md",
  ".cursorrules",
  ".windsurfrules",
  ".clinerules",
]);

/** Folders of such files: Cline's memory bank; rules of Claude Code, Cursor, Windsurf and Cline. */
const FOLDERS =
  /(?:^|\/)(?:memory-bank|\.clinerules|\.(?:claude|cursor|windsurf|github)\/(?:rules|instructions))(?:\/|$)/;

/** Whether a name without a known extension is that of such a file. */
export function isAgentName(name: string): boolean {
  return NAMES.has(name.toLowerCase());
}

/**
 * Whether a file is such a memory.
 * @param path with slashes, of the folder that is imported too
 * @param neighbours the paths of the files beside it: `MEMORY.md` makes its folder one of Claude Code
 */
export function isAgentFile(path: string, neighbours: ReadonlySet<string>): boolean {
  if (isAgentName(basename(path)) || /\.mdc$/i.test(path) || FOLDERS.test(dirname(path))) return true;
  return neighbours.has(`${dirname(path)}/MEMORY.md`);
}

/**
 * Whether front matter is that of Claude Code's memories (2.1): a file for each fact, whose reason and use stand in
 * paragraphs of their own below it.
 */
export function isOneFact(fields: readonly (readonly [string, unknown])[]): boolean {
  const values = Object.fromEntries(fields);
  const type = isObject(values.metadata) ? values.metadata.type : values.type;
  return typeof values.name === "string" && typeof values.description === "string" && typeof type === "string";
}
