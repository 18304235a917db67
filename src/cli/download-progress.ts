/** How far a download is: one line that is drawn over on a terminal, a line now and then elsewhere. */
import type { DownloadState } from "../account/download.ts";
import { note } from "./output.ts";
import { canRedraw, fitted, startProgress } from "./progress.ts";

/** The rate says little before. */
const RATED_AFTER_MS = 1000;
/** Between two lines where none can be drawn over; a download that takes less is not mentioned there. */
const LINE_MS = 10_000;

/** The words about one download, from its states. */
export class DownloadWords {
  readonly #since: number;
  #last: DownloadState = { received: 0, kept: 0, total: undefined };
  #said: number;

  constructor(now = performance.now()) {
    this.#since = now;
    this.#said = now;
  }

  /** Takes a state. Cheap. */
  note(state: DownloadState): void {
    this.#last = state;
  }

  /** Percent, megabytes, their rate and the time left, as far as they are known and fit into so many columns. */
  line(columns: number, now = performance.now()): string {
    const { received, kept, total, pauseMs } = this.#last;
    const parts: string[] = [];
    if (total) parts.push(`${Math.floor((100 * received) / total)} %`);
    parts.push(total ? `${megabytes(received)} of ${megabytes(total)} MB` : `${megabytes(received)} MB`);
    const ms = now - this.#since;
    const rate = ms < RATED_AFTER_MS ? 0 : (received - kept) / ms;
    if (pauseMs !== undefined) {
      parts.push(`the connection broke, trying again in ${seconds(pauseMs / 1e3)}`);
    } else if (rate > 0) {
      parts.push(`${megabytes(1e3 * rate)} MB/s`);
      if (total) parts.push(`${duration((total - received) / rate / 1e3)} left`);
    }
    parts[0] = `downloading the runtime: ${parts[0]}`;
    return fitted(parts, columns);
  }

  /** The line that is due where none can be drawn over; undefined most of the time. */
  due(now = performance.now()): string | undefined {
    if (now - this.#said < LINE_MS) return undefined;
    this.#said = now;
    return this.line(Number.POSITIVE_INFINITY, now);
  }

  /** What it came to, of a download that lines were due of. */
  summary(now = performance.now()): string | undefined {
    const { received, kept, total } = this.#last;
    const ms = now - this.#since;
    if (ms < LINE_MS || received !== (total ?? received)) return undefined;
    const here = received - kept;
    const before = here < received ? ` after ${megabytes(kept)} MB of an earlier run` : "";
    return `downloaded ${megabytes(here)} MB${before} in ${duration(ms / 1e3)} (${megabytes((1e3 * here) / ms)} MB/s)`;
  }
}

/** Reports a download on stderr. `end` is to be called before anything else is printed. */
export function startDownload(): { update(state: DownloadState): void; end(): void } {
  const words = new DownloadWords();
  if (canRedraw()) {
    const progress = startProgress("");
    return {
      update(state) {
        words.note(state);
        progress.draw((columns) => words.line(columns));
      },
      end: () => progress.end(),
    };
  }
  const say = (line: string | undefined) => {
    if (line !== undefined) note(line);
  };
  return {
    update(state) {
      words.note(state);
      say(words.due());
    },
    end: () => say(words.summary()),
  };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** In words, of the largest unit that is there: about right is enough for a person who waits. */
function duration(count: number): string {
  if (count < 90) return seconds(count);
  if (count < 90 * 60) return `${Math.round(count / 60)} minutes`;
  return count < 48 * 3600 ? `${Math.round(count / 3600)} hours` : "days";
}

function seconds(count: number): string {
  const whole = Math.max(1, Math.ceil(count));
  return `${whole} second${whole === 1 ? "" : "s"}`;
}
