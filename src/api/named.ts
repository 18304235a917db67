/** What calls about several collections have in common. */
import type { Watch } from "./options.ts";

/** Which collections, and how the call is watched. They are done one after the other. */
export interface NamedOptions extends Omit<Watch, "onProgress"> {
  /** Only these collections; absent: all. */
  names?: readonly string[] | undefined;
  /** Called about ten times a second, of the collection that is at work. */
  onProgress?: ((done: number, total: number, name: string) => void) | undefined;
}

/** How the work on one of them is watched. */
export function watchOf({ signal, onProgress }: NamedOptions, name: string): Watch {
  return { signal, onProgress: onProgress && ((done, total) => onProgress(done, total, name)) };
}
