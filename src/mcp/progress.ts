/** Progress for a client that requested it: about ten notifications a second, always rising, none after the result. */

/** The parameters of `notifications/progress` without its token. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** Sends one notification; resolves when it has been written. */
export type ProgressSink = (progress: Progress) => Promise<void>;

/** The least time between two notifications of one call; the last one, with everything done, is never delayed. */
const PROGRESS_INTERVAL_MS = 100;

/** Limits the rate: a verb may report at any rate. Call `end` when its result is ready. */
export function throttle(sink: ProgressSink) {
  let sent = Number.NEGATIVE_INFINITY;
  let sentAt = Number.NEGATIVE_INFINITY;
  let isSending = false;
  let isOver = false;
  return {
    report(done: number, total: number, message?: string): void {
      // The protocol requires rising progress; and notifications must not pile up for a client that does not read.
      if (isOver || !(done > sent)) return;
      const now = performance.now();
      const isLast = total > 0 && done >= total;
      if (!isLast && (isSending || now - sentAt < PROGRESS_INTERVAL_MS)) return;
      sent = done;
      sentAt = now;
      isSending = true;
      sink({ progress: done, ...(total > 0 && { total }), ...(message !== undefined && { message }) })
        .catch(() => {})
        .finally(() => {
          isSending = false;
        });
    },
    end(): void {
      isOver = true;
    },
  };
}
