/** How far a download is, and what it came to. */
import type { DownloadState } from "../../trust/account/download/download.ts";
import { note } from "../terminal/output.ts";
import { duration, megabytes, startProgress, type Work } from "../terminal/progress.ts";

/** What takes less is not mentioned at its end. */
const MENTIONED_MS = 10_000;

/** A download's state as the progress has it. */
export function workOf({ received, total, pauseMs }: DownloadState): Work {
  const pause = pauseMs === undefined ? undefined : `the connection broke, trying again in ${duration(pauseMs)}`;
  return { done: received, total, unit: "bytes", pause };
}

/** What a download came to that took so long; undefined of a short one, or of one that broke off. */
export function summaryOf({ received, kept, total }: DownloadState, ms: number): string | undefined {
  if (ms < MENTIONED_MS || received !== (total ?? received)) return undefined;
  const here = received - kept;
  const before = here < received ? ` after ${megabytes(kept)} MB of an earlier run` : "";
  return `downloaded ${megabytes(here)} MB${before} in ${duration(ms)} (${megabytes((1e3 * here) / ms)} MB/s)`;
}

/** Reports a download on stderr. `end` is to be called before anything else is printed. */
export function startDownload(): { update(state: DownloadState): void; end(): void } {
  const progress = startProgress("downloading the runtime");
  const since = performance.now();
  let last: DownloadState | undefined;
  return {
    update(state) {
      last = state;
      progress.update(workOf(state));
    },
    end() {
      progress.end();
      const said = last && summaryOf(last, performance.now() - since);
      if (said !== undefined) note(said);
    },
  };
}
