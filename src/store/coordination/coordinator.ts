/**
 * Saves that count only once they are committed elsewhere as well, by two-phase commit: the collection's files are made
 * durable here, the coordinator commits, then the manifest is renamed.
 */
import { NativeError, Status } from "../../../ffi/status.ts";
import type { NativeCollection } from "../../../ffi/ty_collection.ts";
import { OSError } from "../../errors.ts";

/** What commits the saves of a store's collections. All calls of one collection come one after the other. */
export interface Coordinator {
  /** Whether it commits the saves of a collection. */
  covers(name: string): boolean;
  /**
   * A change begins: the writer's lock is held, and nothing is changed yet. Makes the collection's files here those of
   * the newest state.
   * @param generation of the state here; 0: never saved
   * @param isExclusive no other machine can commit until `ended`; otherwise `prepared` fails if another one has committed
   * @param waitMs how long it may wait for others at most
   * @returns whether it has written a manifest, which is to be read then
   */
  begun(name: string, generation: number, isExclusive: boolean, waitMs: number): Promise<boolean>;
  /**
   * Commits a save whose files are durable here and whose manifest is not in force yet.
   * @throws OSError with the reason `outcome_unknown` where the commit may have been made; every other error says that
   *   it was not
   */
  prepared(name: string, manifest: Uint8Array): Promise<void>;
  /** The change has ended, saved or not. It never throws. */
  ended(name: string): Promise<void>;
  /** A collection is dropped: the writer's lock is held, and its folder is still there. */
  dropped(name: string): Promise<void>;
}

/** Has the saves of a handle committed by a coordinator. The handle's saves fail with the coordinator's own errors. */
export class Coordinated {
  private failure: unknown;

  constructor(
    private readonly name: string,
    private readonly native: NativeCollection,
    readonly by: Coordinator,
  ) {
    native.coordinate((manifest) => {
      void this.decide(manifest);
    });
  }

  /**
   * As `Coordinator.begun`, also in the middle of a change.
   * @returns whether the state is another one now: what the change has done so far is dropped then
   */
  async begun(isExclusive: boolean, waitMs: number): Promise<boolean> {
    const { generation } = this.native.stats();
    const isOther = await this.by.begun(this.name, generation, isExclusive, waitMs);
    if (isOther) this.native.followBegun();
    return isOther;
  }

  /** The coordinator's own error, where it is why a save has failed. */
  cause(error: unknown): unknown {
    const isOurs = error instanceof NativeError && (error.status === Status.REFUSED || error.status === Status.UNSURE);
    return isOurs ? (this.failure ?? error) : error;
  }

  private async decide(manifest: Uint8Array): Promise<void> {
    this.failure = undefined;
    try {
      await this.by.prepared(this.name, manifest);
    } catch (error) {
      this.failure = error;
      const isUnknown = error instanceof OSError && error.reason === "outcome_unknown";
      this.native.decide(isUnknown ? Status.UNSURE : Status.REFUSED, (error as Error).message);
      return;
    }
    this.native.decide(Status.OK);
  }
}
