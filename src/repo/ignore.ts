/**
 * `.gitignore` files outside a git checkout, at every level. All rules for a directory are in one list, outermost
 * first, as in git: the last match wins, so an inner file can override an outer one. One list per level fails where an
 * inner `!bar/` re-includes a directory that an outer `foo/*` excludes.
 */
import ignore, { type Ignore } from "ignore";

/** Folders of build output and dependencies; a `.gitignore` may re-include one with `!dist/`. */
// biome-ignore format: one line a family
const USUAL_FOLDERS = [
  ".bzr", ".hg", ".jj", ".svn", "CVS",
  "bower_components", "jspm_packages", "node_modules", ".pnpm-store", ".yarn",
  ".eggs", "*.egg-info", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", ".venv",
  "__pycache__", "__pypackages__", "site-packages", "venv",
  ".angular", ".astro", ".cache", ".docusaurus", ".next", ".nuxt", ".output", ".parcel-cache", ".svelte-kit", ".turbo",
  ".vercel", ".nyc_output", "coverage", "htmlcov",
  ".dart_tool", ".gradle", ".mvn", "DerivedData", "Pods", "build", "dist", "out", "target",
  ".bundle", "_build", "bazel-*", "cmake-build-*", "elm-stuff", ".stack-work", "dist-newstyle", "vendor", "zig-cache",
  ".zig-cache", "zig-out", ".serverless", ".terraform", ".vagrant",
];

/** Never entered, with any rules: git's own database, and our own state with its credentials. */
export const NEVER_ENTERED: ReadonlySet<string> = new Set([".git", ".svc"]);

/** The rules for one directory. Immutable: an inner directory's rules are a copy with its own added. */
export class IgnoreRules {
  private constructor(private readonly rules: Ignore) {}

  /** The rules before any `.gitignore` is read. */
  static usual(): IgnoreRules {
    return new IgnoreRules(emptyRules().add(USUAL_FOLDERS.map((name) => `${name}/`)));
  }

  /** These rules with those of the `.gitignore` text found in `directory` (relative to the root, `""` for the root). */
  within(directory: string, text: string): IgnoreRules {
    const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
    const added = lines.map((line) => rooted(directory, line)).filter((line) => line !== undefined);
    return added.length === 0 ? this : new IgnoreRules(emptyRules().add(this.rules).add(added));
  }

  /** Whether a path relative to the root is ignored. `build/` matches a directory and no file. */
  ignores(path: string, isDirectory: boolean): boolean {
    return this.rules.ignores(isDirectory ? `${path}/` : path);
  }
}

function emptyRules(): Ignore {
  return ignore({ ignorecase: false });
}

/**
 * A line of `directory/.gitignore` as a pattern from the root. A pattern with a slash before its end is anchored,
 * others match at any depth.
 */
function rooted(directory: string, line: string): string | undefined {
  if (line.trim() === "" || line.startsWith("#")) return undefined;
  if (directory === "") return line;
  const negated = line.startsWith("!");
  let body = negated ? line.slice(1) : line;
  // A leading `\#` or `\!` needs its escape only at the start of a line.
  if (/^\\[#!]/.test(body)) body = body.slice(1);
  if (body.trim() === "" || body.trim() === "/") return undefined;
  const anchored = body.trimEnd().slice(0, -1).includes("/");
  const prefix = `/${directory.replace(/[\\*?[\]!# ]/g, "\\$&")}/${anchored ? "" : "**/"}`;
  return `${negated ? "!" : ""}${prefix}${body.replace(/^\//, "")}`;
}
