/** Changes of many requests in one commit, and a locked ledger waited for without stopping the process. */
import type { Database } from "bun:sqlite";
import { TimeoutError } from "../../../errors.ts";
import { isLocked } from "./errors.ts";

/** How often a locked ledger is tried again, and for how long. */
const LOOK_MS = 20;
const LOCKED_MS_MAX = 5000;
/** Changes of one commit: other events wait for all of them. */
const CHANGES_MAX = 64;

interface Change {
  readonly action: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly askedAt: number;
}

/** A sync of the disk is what a commit costs: changes that are asked for in one turn of the event loop share one. */
export class Commits {
  #waiting: Change[] = [];
  #isDue = false;
  #isClosed = false;
  /** Whether the ledger was locked when it was last tried. */
  #isLocked = false;

  /** @param waitMs how long SQLite waits for another process, once: it is asked again without waiting */
  constructor(
    readonly db: Database,
    readonly waitMs: number,
  ) {}

  /**
   * Runs a change in a transaction, soon, and alone: where it throws, nothing of it is done, and others are not concerned.
   * @returns what it returns, once it is durable
   * @throws what it throws; TimeoutError where another process keeps the ledger locked; SQLite's error where the commit
   *   fails, and then nothing of it is done
   */
  run<T>(action: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settle = resolve as (value: unknown) => void;
      this.#waiting.push({ action, resolve: settle, reject, askedAt: performance.now() });
      this.#plan();
    });
  }

  /** Commits what waits, now. */
  close(): void {
    this.#isClosed = true;
    while (this.#waiting.length > 0) this.#commit();
  }

  #plan(): void {
    if (this.#isDue || this.#waiting.length === 0) return;
    this.#isDue = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isDue = false;
    const isFree = this.#commit();
    if (isFree) this.#plan();
    else {
      this.#isDue = true;
      setTimeout(() => this.#turn(), LOOK_MS);
    }
  }

  /** False where the ledger is locked and may be tried again. */
  #commit(): boolean {
    if (this.#waiting.length === 0) return true;
    try {
      this.db.run("BEGIN IMMEDIATE");
    } catch (error) {
      return this.#postpone(error);
    }
    this.#wait(false);
    const changes = this.#waiting.splice(0, CHANGES_MAX);
    const answers: (() => void)[] = [];
    try {
      for (const change of changes) answers.push(this.#apply(change));
      this.db.run("COMMIT");
    } catch (error) {
      if (this.db.inTransaction) this.db.run("ROLLBACK");
      for (const { reject } of changes) reject(error);
      return true;
    }
    for (const answer of answers) answer();
    return true;
  }

  /**
   * @returns what tells the caller, to be called once it is durable
   * @throws where SQLite has ended the whole transaction, as it does when the disk is full
   */
  #apply(change: Change): () => void {
    this.db.run("SAVEPOINT change");
    try {
      const value = change.action();
      this.db.run("RELEASE change");
      return () => change.resolve(value);
    } catch (error) {
      if (!this.db.inTransaction) throw error;
      this.db.run("ROLLBACK TO change");
      this.db.run("RELEASE change");
      return () => change.reject(error);
    }
  }

  #postpone(error: unknown): boolean {
    const isOver = (change: Change) => performance.now() - change.askedAt > LOCKED_MS_MAX;
    const mayWait = isLocked(error) && !this.#isClosed;
    const failed = this.#waiting.filter((change) => !mayWait || isOver(change));
    this.#waiting = this.#waiting.filter((change) => !failed.includes(change));
    const reason = isLocked(error)
      ? new TimeoutError("another process has locked the authority's ledger: try again", "locked")
      : error;
    for (const { reject } of failed) reject(reason);
    this.#wait(isLocked(error));
    return this.#waiting.length === 0;
  }

  /** While the ledger is locked SQLite does not wait for it: with 100 ms, and a look each 20 ms, little else would run. */
  #wait(isLockedNow: boolean): void {
    if (isLockedNow === this.#isLocked) return;
    this.#isLocked = isLockedNow;
    this.db.run(`PRAGMA busy_timeout = ${isLockedNow ? 0 : this.waitMs}`);
  }
}
