/**
 * Changes that the server acknowledged and that no `save` has followed. They are in its memory only, and a client that reconnects without a
 * word must not tell its caller that they are saved when the server they were in is gone.
 */
import { OSError } from "../errors.ts";
import type { Channel } from "./channel.ts";
import { encodeRequest } from "./encode.ts";
import { isObject, shown } from "./values.ts";

/** The earliest change of a collection that waits for a save. */
interface Mark {
  /** Which of the channel's connections carried it. */
  connection: number;
  /** When it was acknowledged, in milliseconds of a clock that only goes forward. */
  at: number;
}

/** What one channel changed and did not save. */
export class Unsaved {
  private readonly marks = new Map<string, Mark>();

  constructor(private readonly channel: Channel) {}

  /** A change of the collection was acknowledged. */
  note(name: string): void {
    if (this.marks.has(name)) return;
    this.marks.set(name, { connection: this.channel.connections, at: performance.now() });
  }

  /**
   * Carries out a save of the collection.
   * @throws what it throws; OSError where the server was started anew behind a change that this save was for
   */
  async save(name: string, save: () => Promise<unknown>): Promise<void> {
    const mark = this.marks.get(name);
    this.marks.delete(name);
    try {
      await save();
    } catch (error) {
      if (mark) this.marks.set(name, mark);
      throw error;
    }
    if (mark && mark.connection !== this.channel.connections && (await this.isYounger(mark))) {
      throw new OSError(
        `the server was started anew behind changes of collection ${shown(name)} that were not saved yet: they are lost unless it ended in good order; look which rows are there before you go on`,
      );
    }
  }

  /** Whether the server started behind a change. It is asked only where the connection is another one. */
  private async isYounger({ at }: Mark): Promise<boolean> {
    const elapsedMs = performance.now() - at;
    const stats = await this.channel.request("stats", encodeRequest("stats"));
    if (!isObject(stats) || typeof stats.uptime_s !== "number") return false;
    // Whole seconds may be rounded by half of one; no alarm is better than a false one.
    const slackMs = Number.isInteger(stats.uptime_s) ? 500 : 0;
    return stats.uptime_s * 1000 + slackMs < elapsedMs;
  }
}
