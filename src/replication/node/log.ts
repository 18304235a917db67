/**
 * Commits the saves of a memory directory to an engine: PostgreSQL has the log of each collection, and the directory is
 * this node's copy of all of them.
 */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { shown } from "../../checks/kinds.ts";
import { REPO_COLLECTION } from "../../checks/names.ts";
import { OSError, TimeoutError, ValueError } from "../../errors.ts";
import { LOCK_WAIT_MS } from "../../limits.ts";
import type { Coordinator, Uploaded } from "../../store/coordination/coordinator.ts";
import { type Engine, EngineError, type Head, type Lease } from "../engine.ts";
import { download } from "./download.ts";
import {
  baseOf,
  keepStored,
  presentState,
  type State,
  savedState,
  stampOfNames,
  stateOf,
  wholeGeneration,
} from "./manifest.ts";
import { relationOf, replaceCopy, seenIn } from "./replace.ts";
import { uploadCompaction, uploadOf } from "./upload.ts";

/**
 * If the head was read less than this ago, a change that does not need the lease yet does not read it again. Its save
 * reads it, and makes the change again on a newer state.
 */
const FRESH_MS = 50;

/** How often a call of the engine that changed nothing is made again. */
const TRIES = 5;
const PAUSE_MS = 20;

/** What a node has done with its engine since it was opened. */
export interface LogCounts {
  commits: number;
  /** Calls that were made again after a cut connection or a deadlock. */
  retries: number;
  /** Commits that another node's commit came before. */
  lost: number;
  fetchedBytes: number;
}

const isRewritten = (before: State | undefined, next: State) => before !== undefined && baseOf(before) !== baseOf(next);

/** The logs of the collections of one directory. */
export class Log implements Coordinator {
  readonly counts: LogCounts = { commits: 0, retries: 0, lost: 0, fetchedBytes: 0 };
  private readonly leases = new Map<string, Lease>();
  /** By collection: the generation of the head and of the copy, and when the head was read. */
  private readonly lastHeads = new Map<string, { generation: number; at: number }>();
  /** By collection: the file of stored names as it was when it had those of the head. */
  private readonly namesWritten = new Map<string, string>();
  private sweeping: Promise<unknown> = Promise.resolve();

  constructor(
    readonly engine: Engine,
    /** The memory directory. */
    readonly dir: string,
  ) {}

  /** Not the index of a repository, which is about files of this machine. */
  covers(name: string): boolean {
    return name !== REPO_COLLECTION;
  }

  async begin(name: string, generation: number | undefined, isExclusive: boolean, waitMs: number): Promise<boolean> {
    return this.translated(name, async () => {
      const here = generation ?? wholeGeneration(join(this.dir, name));
      if (!isExclusive) {
        const at = performance.now();
        return !this.isFresh(name, here) && this.join(name, here, await this.again(() => this.engine.head(name)), at);
      }
      const until = Date.now() + waitMs;
      const lease = await this.lease(name, until);
      if (lease.head?.generation === here || !this.isRewriteOf(name, lease.head))
        return this.join(name, here, lease.head);
      // Its files may take long to fetch, and others can commit meanwhile.
      await this.release(name);
      await this.join(name, here, lease.head);
      const { head } = await this.lease(name, until);
      await this.join(name, wholeGeneration(join(this.dir, name)), head);
      return true;
    });
  }

  async upload(name: string, signal: AbortSignal): Promise<Uploaded> {
    return this.translated(name, () =>
      uploadCompaction(join(this.dir, name), signal, (chunk) => this.again(() => this.engine.put(name, chunk))),
    );
  }

  async commit(name: string, manifest: Uint8Array, uploaded?: Uploaded): Promise<void> {
    const folder = join(this.dir, name);
    const held = this.leases.get(name);
    this.leases.delete(name);
    let lease = held;
    try {
      await this.translated(name, async () => {
        const next = stateOf(manifest);
        const known = held ? held.head : await this.again(() => this.engine.head(name));
        const before = savedState(folder);
        this.requireBefore(name, before, known);
        const { files, sealed, grown } = uploadOf(folder, before, next, known, uploaded);
        for (const chunk of sealed) await this.again(() => this.engine.put(name, chunk));
        lease ??= await this.leaseBefore(name, Date.now() + LOCK_WAIT_MS);
        this.requireBefore(name, before, lease.head);
        const log = lease.head?.log ?? crypto.randomUUID();
        const head = { generation: next.generation, manifest, files, commit: crypto.randomUUID(), log };
        await lease.swap(head, grown);
        lease = undefined;
        this.counts.commits++;
        this.lastHeads.set(name, { generation: next.generation, at: performance.now() });
        const isSame = log === known?.log && isDeepStrictEqual(files, known.files);
        this.writeNames(name, isSame, files, log);
        // Rewrites leave files that no head names.
        if (isRewritten(before, next))
          this.sweeping = Promise.all([this.sweeping, this.engine.sweep(name).catch(() => {})]);
      });
    } finally {
      await lease?.release();
    }
  }

  async release(name: string): Promise<void> {
    const lease = this.leases.get(name);
    this.leases.delete(name);
    await lease?.release();
  }

  /** Resolves when no sweep is under way: a command that ends meanwhile would leave the files for ever. */
  async swept(): Promise<void> {
    await this.sweeping;
  }

  async drop(name: string): Promise<void> {
    await this.translated(name, () => this.again(() => this.engine.drop(name)));
  }

  async refetch(name: string, env: Environment, signal: AbortSignal | undefined): Promise<void> {
    const folder = join(this.dir, name);
    await this.translated(name, async () => {
      const seen = seenIn(folder);
      const head = await this.engine.head(name);
      const relation = await relationOf(this.engine, name, folder, head?.log);
      const isAhead = (presentState(folder)?.generation ?? 0) > (head?.generation ?? 0);
      if (head === undefined || relation === "foreign" || (relation === "same" && isAhead)) {
        const why = isAhead && head !== undefined && relation === "same" ? LEFT_BEHIND : FOREIGN;
        throw new OSError(`collection ${shown(name)} is not that of the database: ${why}. Nothing was changed`);
      }
      this.counts.fetchedBytes += await replaceCopy(this.engine, { env, dir: this.dir, name, signal }, head, seen);
    });
  }

  /**
   * Brings the copy to the state of `head`. The caller has the writer's lock.
   * @param generation of the copy; 0: there is none, or it lacks files
   * @returns whether the manifest is another one now; undefined, and nothing was changed, where another state has to
   *   take the place of the copy as a whole
   * @throws ValueError or OSError where the collection was dropped, or is not the one of the database
   */
  async follow(name: string, generation: number, head: Head | undefined): Promise<boolean | undefined> {
    const folder = join(this.dir, name);
    // The usual case, before each change: nothing has to be parsed for it.
    if (head?.generation === generation && seenIn(folder)?.equals(head.manifest)) return false;
    const relation = await this.again(() => relationOf(this.engine, name, folder, head?.log));
    if (relation === "dropped") throw droppedError(name, head);
    if (head === undefined && generation === 0) return false;
    if (relation === "foreign" || head === undefined) {
      throw new OSError(
        `collection ${shown(name)} is not that of the database: ${FOREIGN}. Nothing was changed. ${removeFolder(name)}`,
      );
    }
    if (head.generation <= generation) {
      throw new OSError(
        `collection ${shown(name)} is at generation ${generation} here and has another state at ${head.generation} in the ` +
          `database: ${LEFT_BEHIND}. Nothing was changed. ${removeFolder(name)}`,
      );
    }
    const fetched = await download(this.engine, name, folder, presentState(folder), head);
    if (fetched !== undefined) this.counts.fetchedBytes += fetched;
    return fetched === undefined ? undefined : true;
  }

  /** Whether the copy had the newest state just now. */
  private isFresh(name: string, generation: number): boolean {
    const last = this.lastHeads.get(name);
    return last?.generation === generation && performance.now() - last.at < FRESH_MS;
  }

  /**
   * Writes the stored names of a collection's files, and its log, into its folder. It never throws: the commit is made.
   * @param isSame whether they are those of the commit before
   */
  private writeNames(name: string, isSame: boolean, files: Record<string, string>, log: string): void {
    const folder = join(this.dir, name);
    try {
      if (isSame && this.namesWritten.get(name) === stampOfNames(folder)) return;
      keepStored(folder, files, log);
      this.namesWritten.set(name, stampOfNames(folder));
    } catch {
      // Without the names, files are fetched again.
      this.namesWritten.delete(name);
    }
  }

  /** The same for a change, which cannot go on where the copy has to be replaced. */
  private async join(
    name: string,
    generation: number,
    head: Head | undefined,
    at = performance.now(),
  ): Promise<boolean> {
    const isOther = await this.follow(name, generation, head);
    if (head !== undefined) this.lastHeads.set(name, { generation: head.generation, at });
    if (isOther !== undefined) return isOther;
    throw new TimeoutError(
      `collection ${shown(name)} has commits here that the database has lost, and will be replaced by the database's state: ` +
        "nothing was saved; repeat the call",
      "locked",
    );
  }

  /** Takes the lease of a collection, which `commit` uses and `release` ends. */
  private async lease(name: string, until: number): Promise<Lease> {
    const lease = await this.leaseBefore(name, until);
    this.leases.set(name, lease);
    return lease;
  }

  /** @param until when the wait for other nodes ends, in ms since 1970 */
  private leaseBefore(name: string, until: number): Promise<Lease> {
    return this.again(() => this.engine.lease(name, Math.max(1, until - Date.now())), until);
  }

  /** Whether the copy lacks the base of `head`. */
  private isRewriteOf(name: string, head: Head | undefined): boolean {
    return head !== undefined && baseOf(stateOf(head.manifest)) !== baseOf(presentState(join(this.dir, name)));
  }

  /** Fails if `head` is not the state that this node has. */
  private requireBefore(name: string, before: State | undefined, head: Head | undefined): void {
    if (before === undefined ? head === undefined : head !== undefined && isSame(before, head)) return;
    this.counts.lost++;
    throw new TimeoutError(
      `collection ${shown(name)} was changed by another node meanwhile: nothing was saved; repeat the call`,
      "locked",
    );
  }

  /** A call that changed nothing may succeed the next time, which begins before `until`. */
  private async again<T>(call: () => Promise<T>, until = Infinity): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await call();
      } catch (error) {
        const isPassing = error instanceof EngineError && error.fault === "again";
        if (!isPassing || tries === TRIES || Date.now() >= until) throw error;
        this.counts.retries++;
        await Bun.sleep(Math.random() * PAUSE_MS * 2 ** tries);
      }
    }
  }

  /** The engine's errors as ours. */
  private async translated<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      const of = `collection ${shown(name)}: ${error.message}`;
      switch (error.fault) {
        case "unknown":
          throw new OSError(
            `${of}; the change may be saved: look for it before you repeat the call`,
            "outcome_unknown",
          );
        case "lost":
          this.counts.lost++;
          throw new TimeoutError(`${of}; nothing was saved: repeat the call`, "locked");
        case "again":
          throw new TimeoutError(`${of}; nothing was saved: try again later`, "locked");
        case "away":
          throw new OSError(`${of}; nothing was saved`, "disconnected");
        default:
          throw new OSError(`${of}; nothing was saved`);
      }
    }
  }
}

/** Why a collection here is not that of the database, whose log the database does not know. */
export const FOREIGN =
  "the database does not contain it and has no record that it was dropped. Perhaps the database was restored from a " +
  "backup without it, or an older version of svc dropped it";

/** Why one here has more commits than the database. */
export const LEFT_BEHIND =
  "the database was restored from an older backup, or a standby without the last commits took over";

/** What to do about either. */
export const removeFolder = (name: string) =>
  `To go on from the database's state, remove the folder ${shown(name)} of the memory directory`;

/** @param head of the collection that was made again under the name */
function droppedError(name: string, head: Head | undefined): Error {
  const dropped = `collection ${shown(name)} was dropped by another node`;
  if (head === undefined) return new ValueError(dropped, "no_collection");
  return new OSError(`${dropped}, and made again: nothing was changed; repeat the call`, "changes_lost");
}

/** A generation alone is not enough: a collection that is dropped and made again comes to the same numbers. */
function isSame(state: State, head: Head): boolean {
  return state.generation === head.generation && Buffer.compare(state.bytes, head.manifest) === 0;
}
