/**
 * What git's configuration says about which files belong to a work tree, and about its remotes. Variables that begin with `GIT_` are not
 * read: a hook that starts this process sets them for another repository. Of `includeIf` the conditions by folder are
 * followed (`gitdir:`, `gitdir/i:`), those by branch and by remote are not.
 */
import { dirname, isAbsolute, join, resolve } from "node:path";
import { bytesOf, compile, folded, matches } from "../ignore/pattern.ts";
import { parseConfig } from "./config-text.ts";
import type { GitLayout } from "./layout.ts";
import { readText } from "./text.ts";

/** Environment variables; only `HOME` and `XDG_CONFIG_HOME` are read. */
export type ConfigEnv = Record<string, string | undefined>;

/** The settings that matter here. */
export interface GitConfig {
  /** `core.excludesFile`, absolute or relative to the work tree; `""`: none. */
  excludesFile: string;
  ignoresCase: boolean;
  /** `core.worktree`, absolute; absent: the folder that holds `.git`. */
  workTree?: string;
  /** Bytes of an object's name: 20, or 32 with SHA-256. */
  hashBytes: 20 | 32;
  /** The files that were read or looked for. */
  files: string[];
}

/** Larger than any configuration; larger files are not read. */
const CONFIG_BYTES_MAX = 4 * 1024 * 1024;
/** As git: deeper includes are taken for a circle. */
const INCLUDES_MAX = 10;
/** A file that includes itself a hundred times would be read a hundred to the tenth times. */
const FILES_MAX = 64;
const SYSTEM_CONFIG = "/etc/gitconfig";

/** The configuration of a work tree, or of the user alone. */
export function readConfig(layout: GitLayout | undefined, env: ConfigEnv): GitConfig {
  const { values, files, home, xdg } = readAll(layout, env);
  const workTree = values.get("core.worktree");
  const excludesFile = values.has("core.excludesfile")
    ? expanded(values.get("core.excludesfile") ?? "", home)
    : xdg && join(xdg, "git/ignore");
  return {
    excludesFile: excludesFile ?? "",
    ignoresCase: isTrue(values.get("core.ignorecase")),
    ...(workTree && layout && { workTree: resolve(layout.gitDir, workTree) }),
    hashBytes: values.get("extensions.objectformat")?.toLowerCase() === "sha256" ? 32 : 20,
    files,
  };
}

/** The first address of each remote by its name, as it is written: `url.….insteadOf` is not applied. */
export function readRemotes(layout: GitLayout, env: ConfigEnv): ReadonlyMap<string, string> {
  return readAll(layout, env).remotes;
}

/** Reads the files in git's order. */
function readAll(layout: GitLayout | undefined, env: ConfigEnv): Reader & { xdg: string | undefined } {
  const home = env.HOME || undefined;
  const xdg = env.XDG_CONFIG_HOME || (home && join(home, ".config"));
  const reader = new Reader(layout, home);
  reader.read(SYSTEM_CONFIG);
  if (xdg) reader.read(join(xdg, "git/config"));
  if (home) reader.read(join(home, ".gitconfig"));
  if (layout) {
    reader.read(join(layout.commonDir, "config"));
    if (isTrue(reader.values.get("extensions.worktreeconfig"))) reader.read(join(layout.gitDir, "config.worktree"));
  }
  return Object.assign(reader, { xdg });
}

class Reader {
  /** By section and name in lower case; null for a name without a value. */
  readonly values = new Map<string, string | null>();
  readonly remotes = new Map<string, string>();
  readonly files: string[] = [];

  constructor(
    private readonly layout: GitLayout | undefined,
    readonly home: string | undefined,
  ) {}

  read(path: string, depth = 0): void {
    this.files.push(path);
    const text = readText(path, CONFIG_BYTES_MAX);
    if (text === undefined) return;
    for (const { section, subsection, name, value } of parseConfig(text)) {
      const isIncluded =
        name === "path" &&
        ((section === "include" && subsection === undefined) ||
          (section === "includeif" && this.holds(subsection ?? "", dirname(path))));
      const named = isIncluded && value ? expanded(value, this.home) : undefined;
      if (named && depth < INCLUDES_MAX && this.files.length < FILES_MAX)
        this.read(resolve(dirname(path), named), depth + 1);
      else if (subsection === undefined) this.values.set(`${section}.${name}`, value);
      else if (section === "remote" && name === "url" && value && !this.remotes.has(subsection))
        this.remotes.set(subsection, value);
    }
  }

  /** Whether the condition of an `includeIf` holds. @param around the folder of the file that has it */
  private holds(condition: string, around: string): boolean {
    const [, kind, named] = /^(gitdir|gitdir\/i):(.*)$/s.exec(condition) ?? [];
    if (!this.layout || named === undefined) return false;
    let pattern = expanded(named, this.home);
    if (pattern === undefined) return false;
    if (pattern.startsWith("./")) pattern = join(around, pattern.slice(2)) + (pattern.endsWith("/") ? "/" : "");
    else if (!isAbsolute(pattern)) pattern = `**/${pattern}`;
    if (pattern.endsWith("/")) pattern += "**";
    const compiled = compile(bytesOf(pattern), kind === "gitdir/i");
    const path = bytesOf(this.layout.gitDir).slice(1);
    return compiled !== undefined && matches(compiled, kind === "gitdir/i" ? folded(path) : path, 0);
  }
}

/** A path of a configuration file; undefined where it begins with the home of a user that is not known. */
function expanded(path: string, home: string | undefined): string | undefined {
  if (!path.startsWith("~")) return path;
  return home && (path === "~" || path.startsWith("~/")) ? join(home, path.slice(1)) : undefined;
}

function isTrue(value: string | null | undefined): boolean {
  if (value === undefined) return false;
  return value === null || /^(true|yes|on|[+-]?0*[1-9]\d*[kmg]?)$/i.test(value);
}
