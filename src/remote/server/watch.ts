/** The time limits of one connection: to authenticate, to finish a frame, to read its replies, to be idle. */
import { FRAME_PROGRESS_BYTES } from "../../limits.ts";
import type { Limits } from "./limits.ts";

/** The state of a connection that its time limits depend on. */
interface Activity {
  isAuthenticated: boolean;
  /** Requests are under way. */
  isBusy: boolean;
  /** Every request is answered and the replies are handed to the kernel. */
  isDrained: boolean;
  /** Frames that have arrived in full so far. */
  frames: number;
  /** Bytes of the frame that has begun to arrive; 0 for none. */
  partialBytes: number;
  unsentBytes: number;
  sentBytes: number;
}

/** How long a closing connection may still read its replies, in seconds. */
const LINGER_S = 2;

/** Times are seconds of a monotonic clock. */
export class Watch {
  /** Since when the connection is being closed. */
  closingAt: number | undefined;
  private heardAt: number;
  private sentAt: number;
  private sentBytes = 0;
  /** The unfinished frame: since when it is watched, and its bytes at that time. */
  private unfinished: { since: number; bytes: number; frames: number } | undefined;

  constructor(
    private readonly limits: Limits,
    private readonly openedAt: number,
  ) {
    this.heardAt = openedAt;
    this.sentAt = openedAt;
  }

  /** Bytes arrived. */
  heard(now: number): void {
    this.heardAt = now;
  }

  /** Why the connection must be dropped; undefined where all is well. */
  check(now: number, activity: Activity): string | undefined {
    const { authTimeoutS, idleTimeoutS } = this.limits;
    if (this.closingAt !== undefined && activity.isDrained && now - this.closingAt > LINGER_S) return CLOSED;
    if (!activity.isAuthenticated && now - this.openedAt > authTimeoutS) return "it did not authenticate in time";
    if (activity.isBusy) this.heardAt = now;
    if (idleTimeoutS > 0 && now - this.heardAt > idleTimeoutS) return "it was silent for too long";
    return this.checkReader(now, activity) ?? this.checkFrame(now, activity);
  }

  private checkReader(now: number, { unsentBytes, sentBytes }: Activity): string | undefined {
    if (unsentBytes === 0 || sentBytes !== this.sentBytes) this.sentAt = now;
    this.sentBytes = sentBytes;
    return now - this.sentAt > this.limits.readerTimeoutS ? "it does not read its replies" : undefined;
  }

  private checkFrame(now: number, { isBusy, frames, partialBytes }: Activity): string | undefined {
    if (partialBytes === 0 || isBusy) {
      this.unfinished = undefined;
      return undefined;
    }
    const watched = this.unfinished;
    if (!watched || watched.frames !== frames || partialBytes - watched.bytes >= FRAME_PROGRESS_BYTES) {
      this.unfinished = { since: now, bytes: partialBytes, frames };
      return undefined;
    }
    return now - watched.since > this.limits.frameTimeoutS ? "it left a frame unfinished" : undefined;
  }
}

/** The reason of a regular close, which is not reported. */
export const CLOSED = "closed";
