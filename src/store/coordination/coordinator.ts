/**
 * Saves that count only once they are committed elsewhere as well, by two-phase commit: the collection's files are made
 * durable here, the coordinator commits, then the manifest is renamed.
 */
import { NativeError, Status } from "../../../ffi/status.ts";
import type { NativeCollection } from "../../../ffi/ty_collection.ts";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { OSError } from "../../errors.ts";
import { LOCK_WAIT_MS } from "../../limits.ts";

/** What a coordinator has stored of the files of a compaction, before its last step. */
export type Uploaded = ReadonlyMap<string, UploadedFile>;

/** The beginning of a file. */
export interface UploadedFile {
  /** The name under which it is stored. */
  stored: string;
  bytes: number;
  crc32c: number;
}

/** What commits the saves of a store's collections. All calls of one collection come one after the other. */
export interface Coordinator {
  /** Whether it commits the saves of a collection. */
  covers(name: string): boolean;
  /**
   * A change begins: the writer's lock is held, and nothing is changed yet. Makes the collection's files here those of
   * the newest state.
   * @param generation of the state here; 0: never saved; undefined: that of the files
   * @param isExclusive no other machine can commit until `release`; otherwise `commit` fails if another one has committed
   * @param waitMs how long it may wait for others at most
   * @returns whether it has written a manifest, which is to be read then
   */
  begin(name: string, generation: number | undefined, isExclusive: boolean, waitMs: number): Promise<boolean>;
  /**
   * A compaction beside writers has written its files, under temporary names: stores what will not change, so that its
   * commit takes no longer than another one.
   * @param signal ends it early, without an error
   */
  upload(name: string, signal: AbortSignal): Promise<Uploaded>;
  /**
   * Commits a save whose files are durable here and whose manifest is not in force yet.
   * @param uploaded what `upload` has stored of them
   * @throws OSError with the reason `outcome_unknown` where the commit may have been made; every other error says that
   *   it was not
   */
  commit(name: string, manifest: Uint8Array, uploaded?: Uploaded): Promise<void>;
  /** Ends the change, saved or not: other machines can commit. It never throws. */
  release(name: string): Promise<void>;
  /**
   * Puts the newest state in the place of a damaged collection.
   * @throws OSError where the coordinator does not have all that is here
   */
  refetch(name: string, env: Environment, signal: AbortSignal | undefined): Promise<void>;
  /** A collection is dropped: the writer's lock is held, and its folder is still there. */
  drop(name: string): Promise<void>;
}

/** The stages of a compaction at which it asks: `TY_STAGE_BEGUN` and `TY_STAGE_WRITTEN` of `ty_runtime.h`. */
const STAGE_BYTES_MAX = 16;

/** A handle whose saves a coordinator commits. They fail with the coordinator's own errors. */
export class Participant {
  private failure: unknown;
  private uploaded: Uploaded | undefined;
  /** Whether no other machine can commit until `release`. */
  private isExclusive = false;

  /** @param signal of a compaction beside writers, for which the handle is */
  constructor(
    private readonly name: string,
    private readonly native: NativeCollection,
    private readonly coordinator: Coordinator,
    private readonly signal = new AbortController().signal,
  ) {
    native.coordinate((stageOrManifest) => {
      void this.decide(stageOrManifest);
    });
  }

  /**
   * As `Coordinator.begin`, also in the middle of a change.
   * @returns whether the state is another one now: what the change has done so far is dropped then
   */
  async begin(isExclusive: boolean, waitMs: number): Promise<boolean> {
    this.isExclusive = isExclusive;
    const isOther = await this.coordinator.begin(this.name, this.native.generation(), isExclusive, waitMs);
    if (isOther) this.native.followBegun();
    return isOther;
  }

  /** As `Coordinator.release`. */
  async release(): Promise<void> {
    // Another handle of the collection may have begun since this one saved.
    if (this.isExclusive) await this.coordinator.release(this.name);
    this.isExclusive = false;
  }

  /** The coordinator's own error, where it is why a save has failed. */
  cause(error: unknown): unknown {
    const isOurs = error instanceof NativeError && (error.status === Status.REFUSED || error.status === Status.UNSURE);
    return isOurs ? (this.failure ?? error) : error;
  }

  private async decide(stageOrManifest: Uint8Array): Promise<void> {
    this.failure = undefined;
    try {
      await this.answer(stageOrManifest);
    } catch (error) {
      this.failure = error;
      const isUnknown = error instanceof OSError && error.reason === "outcome_unknown";
      this.native.decide(isUnknown ? Status.UNSURE : Status.REFUSED, (error as Error).message);
      return;
    }
    this.native.decide(Status.OK);
  }

  /** @param given the manifest of a save, or a stage of a compaction */
  private async answer(given: Uint8Array): Promise<void> {
    const stage = given.length > STAGE_BYTES_MAX ? undefined : Buffer.from(given).toString();
    if (stage === "written") {
      this.uploaded = await this.coordinator.upload(this.name, this.signal);
    } else if (stage === "begun") {
      this.isExclusive = true;
      await this.coordinator.begin(this.name, undefined, true, LOCK_WAIT_MS);
    } else {
      this.isExclusive = false;
      await this.coordinator.commit(this.name, given, this.uploaded);
    }
  }
}
