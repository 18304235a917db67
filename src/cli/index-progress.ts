/** How far indexing is, as one line for a person who waits, and what it came to. */
import type { IndexWork } from "../memory/requests.ts";
import { fits, fitted } from "./progress.ts";

/** The rate says little before. */
const RATED_AFTER_MS = 500;

/** The words of one call, from its work. */
export class IndexProgress {
  private readonly since = performance.now();
  private readingSince: number | undefined;
  private last: IndexWork | undefined;

  /** Takes what is done. Cheap. */
  note(work: IndexWork): void {
    this.last = work;
    if (work.phase === "reading") this.readingSince ??= performance.now();
  }

  /** Whether the call indexes, and says more of it than numbers. */
  get hasBegun(): boolean {
    return this.last !== undefined;
  }

  /** Whether all was read: what follows says how far it is in parts of its own. */
  get isSaving(): boolean {
    return this.last?.phase === "saving";
  }

  /** The line, of as many parts as fit into so many columns; the phase is always there. */
  line(columns: number, now = performance.now()): string {
    const { last } = this;
    if (!last) return "";
    const { phase, files, filesFound, bytes, bytesFound } = last;
    if (phase === "looking") return fitted([`looking: ${filesFound} files to read`], columns);
    const ms = this.readingSince === undefined ? 0 : now - this.readingSince;
    const rates: string[] = [];
    if (phase === "reading" && ms >= RATED_AFTER_MS && bytes > 0) {
      const msLeft = ((bytesFound - bytes) / bytes) * ms;
      rates.push(`${(bytes / 1e3 / ms).toFixed(1)} MB/s`, `${Math.ceil(msLeft / 1e3)} s left`);
    }
    const whole = [`${phase}: ${files} of ${filesFound} files`, ...rates];
    return fits(whole, columns) ? whole.join(", ") : fitted([`${phase} ${files}/${filesFound}`, ...rates], columns);
  }

  /** What the call read, in which time; undefined where it read nothing. */
  summary(now = performance.now()): string | undefined {
    if (!this.last || this.last.files === 0) return undefined;
    const { files, bytes } = this.last;
    const seconds = (now - this.since) / 1e3;
    const megabytes = bytes / 1e6;
    return `read ${files} ${files === 1 ? "file" : "files"}, ${megabytes.toFixed(1)} MB in ${seconds.toFixed(1)} s (${(megabytes / seconds).toFixed(1)} MB/s)`;
  }
}
