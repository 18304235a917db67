/** Keeps this node's copies up to date with what other nodes commit. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { shown } from "../../checks/kinds.ts";
import { checkName } from "../../checks/names.ts";
import { savedIn } from "../../store/directory.ts";
import { withFolderLock } from "../../store/folder-lock.ts";
import { isGone, isRemainder, stateOf } from "../../store/folder-state.ts";
import type { Head } from "../engine.ts";
import { downloadNew } from "./download.ts";
import { FOREIGN, LEFT_BEHIND, type Log, removeFolder } from "./log.ts";
import { storedLog, wholeGeneration } from "./manifest.ts";
import { relationOf, removeCopy, replaceCopy, seenIn } from "./replace.ts";

/** How often the generations are compared, in milliseconds. Hints of the engine only make it sooner. */
const POLL_MS = 1000;

/** Since when a node has not reached its engine, and why. */
export interface Outage {
  since: number;
  why: string;
}

export class Follower {
  /** Set while the engine cannot be reached. */
  outage: Outage | undefined;
  /** The generations of the engine, when it answered last. */
  generations: ReadonlyMap<string, number> = new Map();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private round: Promise<void> | undefined;
  private isHinted = false;
  /** The last warning about each collection: a trouble is reported once. */
  private readonly warned = new Map<string, string>();
  private isClosed = false;

  constructor(
    private readonly log: Log,
    private readonly env: Environment,
    /** Gets a sentence when something keeps a copy from being up to date, and when the engine answers again. */
    private readonly warn: (line: string) => void = () => {},
  ) {}

  /**
   * Begins to follow. It does not fail where the engine cannot be reached.
   * @param isAway whether the caller has just tried, in vain; otherwise all copies are brought up to date first
   */
  async start(isAway: boolean): Promise<void> {
    await this.log.engine.listen(() => this.hint()).catch(() => {});
    if (!isAway) await this.follow();
    this.plan();
  }

  /** Brings all copies up to date, once. */
  follow(): Promise<void> {
    this.round ??= this.followAll()
      .catch((error) => this.report("", `the copy cannot be followed: ${(error as Error).message}`))
      .finally(() => {
        this.round = undefined;
      });
    return this.round;
  }

  /** Ends after a round that is under way. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.round;
  }

  private hint(): void {
    this.isHinted = true;
    if (this.round === undefined) this.plan();
  }

  private plan(): void {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.follow().then(() => this.plan()), this.isHinted ? 0 : POLL_MS);
    this.timer.unref();
    this.isHinted = false;
  }

  private async followAll(): Promise<void> {
    let heads: Awaited<ReturnType<Log["engine"]["generations"]>>;
    try {
      heads = await this.log.engine.generations();
      this.generations = new Map([...heads].map(([name, { generation }]) => [name, generation]));
      if (this.outage !== undefined) this.warn("the database answers again");
      this.outage = undefined;
    } catch (error) {
      if (this.outage === undefined) this.warn(`${(error as Error).message}; answers are from this machine's copy`);
      this.outage = { since: this.outage?.since ?? Date.now(), why: (error as Error).message };
      return;
    }
    for (const [name, { generation, log }] of heads) {
      if (this.isClosed) return;
      if (this.log.covers(name)) await this.reporting(name, () => this.followOne(name, generation, log));
    }
    for (const name of savedIn(this.log.dir)) {
      if (!this.log.covers(name) || heads.has(name)) continue;
      await this.reporting(name, () => this.replaceOther(name));
    }
  }

  /** Reports what `work` fails with, once. */
  private async reporting(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.warned.delete(name);
    } catch (error) {
      // This node has dropped it just now.
      if (isGone(error)) return;
      this.report(name, `the copy of collection '${name}' cannot follow the database: ${(error as Error).message}`);
    }
  }

  private async followOne(name: string, generation: number, log: string): Promise<void> {
    const folder = join(this.log.dir, checkName(name));
    const [here, own] = [wholeGeneration(folder), storedLog(folder)];
    if (own !== undefined && own !== log) return this.replaceOther(name);
    if (here < generation) return this.update(name);
    if (here === generation) return;
    // This node may have committed since the heads were read.
    const head = await this.log.engine.head(name);
    if (head && head.log === log && head.generation < here) throw new Error(`${LEFT_BEHIND}. ${removeFolder(name)}`);
  }

  /** @param about a collection; empty: the memory */
  private report(about: string, sentence: string): void {
    if (this.warned.get(about) === sentence) return;
    this.warned.set(about, sentence);
    this.warn(sentence);
  }

  private async update(name: string): Promise<void> {
    const { log } = this;
    const { dir, engine } = log;
    const folder = join(dir, name);
    if (!existsSync(folder)) return this.fetchNew(name);
    if (stateOf(folder) === "other" && !isRemainder(folder)) {
      throw new Error(`the folder ${shown(name)} has files that do not belong to a collection: remove it`);
    }
    const head = await engine.head(name);
    if (head === undefined) return;
    let seen: Buffer | undefined;
    const isReplaced = await withFolderLock({ env: this.env, dir, name }, async () => {
      // A change of this node may have brought it up to date, or made it, while the lock was waited for. What a process has
      // left that was killed is filled.
      const here = wholeGeneration(folder);
      if (here >= head.generation) return false;
      seen = seenIn(folder);
      return (await log.follow(name, here, head)) === undefined;
    });
    if (!isReplaced) return;
    await this.replace(name, head, seen);
    this.warn(
      `collection '${name}' may have had commits that the database has lost; it was replaced by the database's state`,
    );
  }

  /** Replaces or removes a copy whose log is not the database's, if it was dropped there. @throws Error if it was not */
  private async replaceOther(name: string): Promise<void> {
    const { dir, engine } = this.log;
    const folder = join(dir, name);
    const seen = seenIn(folder);
    const head = await engine.head(name);
    const relation = await relationOf(engine, name, folder, head?.log);
    if (relation === "foreign") throw new Error(`${FOREIGN}. ${removeFolder(name)}`);
    if (relation === "same") return;
    if (head === undefined) await removeCopy({ env: this.env, dir, name }, seen);
    else await this.replace(name, head, seen);
  }

  private async replace(name: string, head: Head, seen: Buffer | undefined): Promise<void> {
    const { dir, engine, counts } = this.log;
    counts.fetchedBytes += await replaceCopy(engine, { env: this.env, dir, name }, head, seen);
  }

  private async fetchNew(name: string): Promise<void> {
    const { engine, dir, counts } = this.log;
    const head = await engine.head(name);
    if (head !== undefined) counts.fetchedBytes += (await downloadNew(engine, dir, name, head)).bytes;
  }
}
