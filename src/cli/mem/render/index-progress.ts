/** How far indexing is, and what it came to. */
import type { IndexWork } from "../../../memory/requests.ts";
import { grouped, megabytes, type Work } from "../../terminal/progress.ts";

/** The words of one call, from its work. */
export class IndexProgress {
  private readonly since = performance.now();
  private last: IndexWork | undefined;

  /** Takes what is done. Cheap. @returns how far that is */
  note(work: IndexWork): Work {
    this.last = work;
    const { phase, files, filesFound, bytes, bytesFound } = work;
    if (phase === "looking") return { label: phase, done: filesFound, unit: "files" };
    const also = `${grouped(files)} of ${grouped(filesFound)} files`;
    return { label: phase, done: bytes, total: bytesFound, unit: "bytes", also };
  }

  /** Whether the call indexes, and says more of it than numbers. */
  get hasBegun(): boolean {
    return this.last !== undefined;
  }

  /** Whether all was read: what follows says how far it is in parts of its own. */
  get isSaving(): boolean {
    return this.last?.phase === "saving";
  }

  /** What the call read, in which time; undefined where it read nothing. */
  summary(now = performance.now()): string | undefined {
    if (!this.last || this.last.files === 0) return undefined;
    const { files, bytes } = this.last;
    const seconds = (now - this.since) / 1e3;
    const rate = megabytes(bytes / seconds);
    return `read ${files} ${files === 1 ? "file" : "files"}, ${megabytes(bytes)} MB in ${seconds.toFixed(1)} s (${rate} MB/s)`;
  }
}
