/**
 * Acknowledged changes without a `save` after them. They are only in the server's memory, and a client that reconnects
 * silently must not report lost ones as saved. A server reports a failed save to its open connections itself; what is
 * found here happened after the loss of a connection.
 */
import { shown } from "../../checks/kinds.ts";
import { OSError } from "../../errors.ts";
import type { OnReply } from "./call.ts";
import { IDENTITY_FRAME, type Identity, type Peer, readIdentity } from "./peer.ts";

/** The unsaved changes of one channel. */
export class Unsaved {
  /** For each collection, the connection that carried its earliest unsaved change. */
  private readonly marks = new Map<string, Peer>();

  /** @param request sends a request on the channel */
  constructor(private readonly request: (op: string, frame: Buffer) => Promise<unknown>) {}

  /** A change of the collection was acknowledged. */
  note(name: string, peer: Peer): void {
    if (!this.marks.has(name)) this.marks.set(name, peer);
  }

  /**
   * Runs a save of the collection, which `request` sends; resolves to its result.
   * @throws what `request` throws; OSError where changes that the save was for may be lost
   */
  async save(name: string, request: (onReply: OnReply) => Promise<unknown>): Promise<unknown> {
    // Set when the reply comes: exactly the changes before the save are acknowledged then, not when it is sent.
    const settled: { earlier?: Peer | undefined } = {};
    const onReply: OnReply = (peer, failure) => {
      // A failed save is an OSError and drops unsaved changes. On a full disk, and after any other error, they are there.
      if (failure && (!(failure instanceof OSError) || failure.reason === "disk_full")) return;
      const mark = this.marks.get(name);
      this.marks.delete(name);
      if (mark !== peer) settled.earlier = mark;
    };
    let result: unknown;
    try {
      result = await request(onReply);
    } catch (error) {
      // The error covers only what was lost in the server's present run.
      const { earlier } = settled;
      if (earlier && !(await this.isSameRun(earlier))) this.marks.set(name, earlier);
      throw error;
    }
    if (settled.earlier) await this.check(name, settled.earlier);
    return result;
  }

  /** Fails where changes sent over an earlier connection may have been lost before the save. */
  private async check(name: string, earlier: Peer): Promise<void> {
    const then = earlier.identity;
    let now: Identity | undefined;
    try {
      now = await this.identify();
    } catch (error) {
      // A server that never named an instance may not know the request. For any other, the next save checks again.
      if (!then) return;
      this.marks.set(name, earlier);
      throw error;
    }
    if (now?.instance !== then?.instance) {
      throw new OSError(
        `the server was started again after unsaved changes of collection ${shown(name)}: ` +
          "they are lost unless it ended in good order; check which rows are there before you go on",
        "changes_lost",
      );
    }
    if (now && then && now.lostSaves > then.lostSaves) {
      throw new OSError(
        `a save failed after unsaved changes of collection ${shown(name)} and may have dropped them: ` +
          "check which rows are there before you go on",
        "changes_lost",
      );
    }
  }

  private async isSameRun({ identity }: Peer): Promise<boolean> {
    const now = await this.identify().catch(() => undefined);
    return now !== undefined && now.instance === identity?.instance;
  }

  private async identify(): Promise<Identity | undefined> {
    return readIdentity(await this.request("stats", IDENTITY_FRAME));
  }
}
