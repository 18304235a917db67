/** How far a walk came that did not get to its end: folders come in the order of their paths from one on and around. */
import { compare, isIn } from "./relative.ts";

export class WalkProgress {
  /**
   * @param below the folder that is walked
   * @param after folders after it come first, once those above it are visited
   * @param reached the last folder that was visited
   */
  constructor(
    private readonly below: string,
    private readonly after: string,
    private readonly reached: string,
  ) {}

  /** Whether a folder was visited, or where it would be was passed. False where that is not known. */
  covers(folder: string): boolean {
    const { below, after, reached } = this;
    if (!isIn(below, folder)) return false;
    if (folder === below) return true;
    if (isIn(folder, after) || isIn(reached, after)) return false;
    if (this.isBehind(folder) !== this.isBehind(reached)) return this.isBehind(folder);
    return compare(folder, reached) <= 0;
  }

  private isBehind(folder: string): boolean {
    return compare(folder, this.after) > 0;
  }
}
