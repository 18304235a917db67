/**
 * Changes that the server acknowledged and that no `save` has followed. They are in its memory only, and a client that reconnects without a
 * word must not tell its caller that they are saved when they are lost. A server tells the connections that it has by itself; what is
 * found here is what happened behind the loss of a connection.
 */
import { shown } from "../checks/kinds.ts";
import { OSError } from "../errors.ts";
import type { Channel } from "./channel.ts";
import type { OnReply } from "./link.ts";
import { type Identity, type Peer, readIdentity, WHO } from "./peer.ts";

/** What one channel changed and did not save. */
export class Unsaved {
  /** Of each collection the connection that carried the earliest change that waits for a save. */
  private readonly marks = new Map<string, Peer>();

  constructor(private readonly channel: Channel) {}

  /** A change of the collection was acknowledged. */
  note(name: string, peer: Peer): void {
    if (!this.marks.has(name)) this.marks.set(name, peer);
  }

  /**
   * Carries out a save of the collection. `request` sends it.
   * @throws what it throws; OSError where changes that this save was for may be lost
   */
  async save(name: string, request: (onReply: OnReply) => Promise<unknown>): Promise<void> {
    // Looked at when the reply comes: then, and not when the save is sent, exactly the changes before it have been acknowledged.
    const settled: { earlier?: Peer | undefined } = {};
    const onReply: OnReply = (peer, failure) => {
      // A failed save is an OSError and drops what was unsaved; behind every other error it is still there.
      if (failure && !(failure instanceof OSError)) return;
      const mark = this.marks.get(name);
      this.marks.delete(name);
      if (mark !== peer) settled.earlier = mark;
    };
    try {
      await request(onReply);
    } catch (error) {
      // The server spoke of what was lost in its present run, and only of that.
      const { earlier } = settled;
      if (earlier && !(await this.isSameRun(earlier))) this.marks.set(name, earlier);
      throw error;
    }
    if (settled.earlier) await this.check(name, settled.earlier);
  }

  /** Whether changes that went over a connection that is gone were still there for the save that was just answered. */
  private async check(name: string, earlier: Peer): Promise<void> {
    const then = earlier.identity;
    let now: Identity | undefined;
    try {
      now = await this.ask();
    } catch (error) {
      // A server that never named an instance may not know the question. Of every other one the next save has to find out.
      if (!then) return;
      this.marks.set(name, earlier);
      throw error;
    }
    if (now?.instance !== then?.instance) {
      throw new OSError(
        `the server was started anew behind changes of collection ${shown(name)} that were not saved yet: they are lost unless it ended in good order; look which rows are there before you go on`,
        "changes_lost",
      );
    }
    if (now && then && now.lostSaves > then.lostSaves) {
      throw new OSError(
        `a save failed behind changes of collection ${shown(name)} that were not saved yet, and dropped unsaved changes: look which rows are there before you go on`,
        "changes_lost",
      );
    }
  }

  private async isSameRun({ identity }: Peer): Promise<boolean> {
    const now = await this.ask().catch(() => undefined);
    return now !== undefined && now.instance === identity?.instance;
  }

  private async ask(): Promise<Identity | undefined> {
    return readIdentity(await this.channel.request("stats", WHO));
  }
}
