/** What git's files say of one work tree: its tracked names and the rules that are not in the work tree itself. */
import { realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { folded } from "../ignore/pattern.ts";
import { IgnoreFile, type Rules, within } from "../ignore/rules.ts";
import { type ConfigEnv, type GitConfig, readConfig } from "./config.ts";
import { type GitLayout, layoutOf } from "./layout.ts";
import { isUnsettled, readBinary, stampOf } from "./text.ts";
import { type TrackedNames, trackedIn } from "./tracked.ts";

/** Larger than any ignore file written by hand; larger ones are not read. */
export const IGNORE_FILE_BYTES_MAX = 1024 * 1024;

/** A work tree. Paths are relative to its top level and `/`-separated. */
export class Repository {
  /** `info/exclude` of the repository, which overrides the user's `core.excludesFile`. */
  readonly rules: Rules | undefined;
  private readonly stamps: [path: string, stamp: string][];
  private readonly signature: string;
  private readonly indexPath: string;
  private indexStamp = "";
  private loaded: TrackedNames | undefined;
  /** The tracked names with ASCII letters in lower case, where case does not count. */
  private foldedNames: { files: Set<string>; folders: Set<string> } | undefined;

  private constructor(
    readonly top: string,
    private readonly env: ConfigEnv,
    private readonly layout: GitLayout,
    private readonly config: GitConfig,
  ) {
    this.indexPath = join(layout.gitDir, "index");
    const excludes = excludesOf(top, config);
    const info = join(layout.commonDir, "info/exclude");
    // Stamps first: a change between the two is seen the next time.
    const watched = [...config.files, ...excludes.files, info];
    this.stamps = [join(top, ".git"), ...watched].map((path) => [path, stampOf(path, true)]);
    const infoText = readBinary(info, IGNORE_FILE_BYTES_MAX, false) ?? "";
    const outer = within(undefined, "", excludes.file);
    this.rules = within(outer, "", new IgnoreFile(infoText, config.ignoresCase));
    const { files: _, ...settings } = config;
    this.signature = JSON.stringify([layout, settings, excludes.text, infoText]);
  }

  /** The repository whose work tree has its top level here; undefined where git sees none. */
  static at(top: string, env: ConfigEnv): Repository | undefined {
    const layout = layoutOf(top);
    if (!layout) return undefined;
    const config = readConfig(layout, env);
    // Its work tree is another folder: git lists nothing here. In a linked work tree git does not read the setting.
    const isElsewhere = config.workTree !== undefined && layout.gitDir === layout.commonDir;
    if (isElsewhere && resolvedOf(config.workTree!) !== resolvedOf(top)) return undefined;
    return new Repository(top, env, layout, config);
  }

  get ignoresCase(): boolean {
    return this.config.ignoresCase;
  }

  get names(): TrackedNames {
    if (!this.loaded) {
      this.indexStamp = stampOf(this.indexPath);
      this.loaded = trackedIn(this.top, this.layout, this.config.hashBytes);
    }
    return this.loaded;
  }

  /** Whether a name is tracked: a file, a link or a submodule. */
  isTracked(path: string): boolean {
    const { files } = this.names.tracked;
    return files.has(path) || (this.ignoresCase && this.inAnyCase().files.has(folded(path)));
  }

  /** Whether a folder has a tracked name in it, at any depth. */
  hasTracked(folder: string): boolean {
    const { folders } = this.names.tracked;
    return folders.has(folder) || (this.ignoresCase && this.inAnyCase().folders.has(folded(folder)));
  }

  isSubmodule(path: string): boolean {
    return this.names.tracked.submodules.has(path);
  }

  /**
   * Looks whether git's files say something else than when they were read.
   * @returns undefined: nothing else; "all": other rules; else the names and folders that are tracked now or were before
   */
  refresh(): undefined | "all" | string[] {
    for (const entry of this.stamps) {
      const [path, stamp] = entry;
      const now = stampOf(path, true);
      if (now === stamp && !isUnsettled(stamp)) continue;
      if (Repository.at(this.top, this.env)?.signature !== this.signature) return "all";
      entry[1] = now;
    }
    if (!this.loaded) return undefined;
    const now = stampOf(this.indexPath);
    if (now === this.indexStamp && !isUnsettled(now)) return undefined;
    const before = this.loaded;
    this.loaded = undefined;
    this.foldedNames = undefined;
    if (this.names.source !== before.source) return "all";
    const changed = differing(before, this.names);
    return changed.length === 0 ? undefined : changed;
  }

  private inAnyCase() {
    const { files, folders } = this.names.tracked;
    this.foldedNames ??= { files: new Set([...files].map(folded)), folders: new Set([...folders].map(folded)) };
    return this.foldedNames;
  }
}

/** The rules of the user's `core.excludesFile`, and which files were looked for. */
export function excludesOf(top: string, config: GitConfig): { file: IgnoreFile; files: string[]; text: string } {
  const { excludesFile, ignoresCase } = config;
  const path = isAbsolute(excludesFile) ? excludesFile : join(top, excludesFile);
  const text = (excludesFile !== "" && readBinary(path, IGNORE_FILE_BYTES_MAX, false)) || "";
  return { file: new IgnoreFile(text, ignoresCase), files: excludesFile === "" ? [] : [path], text };
}

function differing({ tracked: before }: TrackedNames, { tracked: now }: TrackedNames): string[] {
  const changed = new Set<string>();
  const compare = (a: ReadonlySet<string>, b: ReadonlySet<string>) => {
    for (const name of a) if (!b.has(name)) changed.add(name);
  };
  for (const kind of ["files", "folders", "submodules"] as const) {
    compare(before[kind], now[kind]);
    compare(now[kind], before[kind]);
  }
  return [...changed];
}

function resolvedOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
