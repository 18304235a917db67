/**
 * The ignore rules of a walk without git, at every level. All rules for a directory are in one list, outermost first, as
 * in git: the last match wins, so an inner file can override an outer one.
 */
import { bytesOf } from "./ignore/pattern.ts";
import { IgnoreFile, type Rules, verdictOf, within } from "./ignore/rules.ts";
import { USUAL_FOLDERS } from "./ignore/usual.ts";

export { INTERNAL as NEVER_ENTERED } from "./place.ts";

/** The rules for one directory. Immutable: an inner directory's rules are those around it with its own added. */
export class IgnoreRules {
  private constructor(private readonly rules: Rules | undefined) {}

  /** The rules before any `.gitignore` is read. */
  static usual(): IgnoreRules {
    return new IgnoreRules(undefined).within("", USUAL_FOLDERS.map((name) => `${name}/`).join("\n"));
  }

  /** These rules with those of the `.gitignore` text found in `directory` (relative to the root, `""` for the root). */
  within(directory: string, text: string): IgnoreRules {
    return new IgnoreRules(within(this.rules, directory, new IgnoreFile(bytesOf(text), false)));
  }

  /** Whether a path relative to the root is ignored. `build/` matches a directory and no file. */
  ignores(path: string, isDirectory: boolean): boolean {
    return verdictOf(this.rules, bytesOf(path), isDirectory) === true;
  }
}
