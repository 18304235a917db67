/** Keeps this node's copies up to date with what other nodes commit. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { checkName } from "../../checks/names.ts";
import { withFolderLock } from "../../store/folder-lock.ts";
import { downloadNew } from "./download.ts";
import type { Log } from "./log.ts";
import { presentState, wholeGeneration } from "./manifest.ts";

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
  private timer: ReturnType<typeof setTimeout> | undefined;
  private round: Promise<void> | undefined;
  private isHinted = false;
  private isClosed = false;

  constructor(
    private readonly log: Log,
    private readonly env: Environment,
    /** Called when a copy cannot be brought up to date though the engine answers. */
    private readonly onFailed: (collection: string, error: unknown) => void = () => {},
  ) {}

  /** Brings all copies up to date, and begins to follow. It does not fail where the engine cannot be reached. */
  async start(): Promise<void> {
    await this.follow();
    await this.log.engine.listen(() => this.hint()).catch(() => {});
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
      this.outage = undefined;
    } catch (error) {
      this.outage ??= { since: Date.now(), why: (error as Error).message };
      return;
    }
    for (const [name, generation] of generations) {
      if (this.isClosed) return;
      try {
        if (wholeGeneration(join(this.log.dir, checkName(name))) < generation) await this.update(name);
      } catch (error) {
        this.onFailed(name, error);
      }
    }
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
