/** Keeps this node's copies up to date with what other nodes commit. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { checkName } from "../../checks/names.ts";
import { savedIn } from "../../store/directory.ts";
import { withFolderLock } from "../../store/folder-lock.ts";
import { downloadNew } from "./download.ts";
import type { Log } from "./log.ts";
import { presentState, wholeGeneration } from "./manifest.ts";

/** How often the generations are compared, in milliseconds. Hints of the engine only make it sooner. */
const POLL_MS = 1000;

const LEFT_BEHIND =
  "it was dropped and made again there, or the database was restored from an older backup. Remove its folder here to go " +
  "on from the database's state";

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
    this.round ??= this.followAll().finally(() => {
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
    let generations: Map<string, number>;
    try {
      generations = await this.log.engine.generations();
      this.generations = generations;
      if (this.outage !== undefined) this.warn("the database answers again");
      this.outage = undefined;
    } catch (error) {
      if (this.outage === undefined) this.warn(`${(error as Error).message}; answers are from this machine's copy`);
      this.outage ??= { since: Date.now(), why: (error as Error).message };
      return;
    }
    for (const [name, generation] of generations) {
      if (this.isClosed) return;
      try {
        const here = wholeGeneration(join(this.log.dir, checkName(name)));
        if (here < generation) await this.update(name);
        // This node may have committed since the generations were read.
        const isAhead = here > generation && ((await this.log.engine.head(name))?.generation ?? here) < here;
        if (isAhead) this.report(name, LEFT_BEHIND);
        else this.warned.delete(name);
      } catch (error) {
        this.report(name, (error as Error).message);
      }
    }
    for (const name of savedIn(this.log.dir)) {
      if (!this.log.covers(name) || generations.has(name)) continue;
      const head = await this.log.engine.head(name).catch(() => null);
      if (head === undefined) this.report(name, "the database does not have it any more: remove its folder here");
    }
  }

  private report(name: string, why: string): void {
    if (this.warned.get(name) === why) return;
    this.warned.set(name, why);
    this.warn(`collection '${name}' is not that of the database: ${why}`);
  }

  private async update(name: string): Promise<void> {
    const { log, env } = this;
    const { dir } = log;
    const folder = join(dir, name);
    if (!existsSync(folder)) return this.fetchNew(name);
    await withFolderLock({ env, dir, name }, async () => {
      // This node makes a collection of the name just now, and follows when it is saved.
      if (presentState(folder) === undefined && !readdirSync(folder).some((file) => file.startsWith("base-"))) return;
      const head = await log.engine.head(name);
      // A change of this node may have brought it up to date while the lock was waited for.
      if (head !== undefined) await log.follow(name, wholeGeneration(folder), head);
    });
  }

  private async fetchNew(name: string): Promise<void> {
    const { engine, dir, counts } = this.log;
    const head = await engine.head(name);
    if (head !== undefined) counts.fetchedBytes += (await downloadNew(engine, dir, name, head)).bytes;
  }
}
