/** Hints by LISTEN. Nothing depends on them: a peer that is silent is not noticed. */
import { SQL } from "bun";
import { clientOptions, within } from "./connection.ts";
import { collectionOfHint } from "./nodes.ts";
import type { Pool } from "./pool.ts";
import type { Host, Target } from "./url.ts";

/** Between two attempts to listen. */
const PAUSE_MS = 5000;

/** Listens at the host that accepts writes, and again after a cut, until it is closed. */
export class Listener {
  readonly #pool: Pool;
  readonly #target: Target;
  readonly #onHint: (collection: string) => void;
  #sql: SQL | undefined;
  #host: Host | undefined;
  #timer: Timer | undefined;

  constructor(pool: Pool, target: Target, onHint: (collection: string) => void) {
    this.#pool = pool;
    this.#target = target;
    this.#onHint = onHint;
    this.#timer = setInterval(() => this.#follow(), PAUSE_MS);
    this.#timer.unref();
  }

  /** Resolves when the server listens, or the first attempt has failed. */
  async start(): Promise<void> {
    const { host, settings } = this.#pool;
    // Bun's own reconnection prints to the terminal and stays with one host, so a cut ends the client.
    const onclose = () => this.#end(sql);
    const sql = new SQL({ ...clientOptions(host, this.#target, settings), onclose });
    this.#sql = sql;
    this.#host = host;
    try {
      const onHint = (hint: string) => {
        const collection = collectionOfHint(settings, hint);
        if (collection !== undefined) this.#onHint(collection);
      };
      await within(sql.listen("svc", onHint), settings.deadlines.connect);
    } catch {
      this.#end(sql);
    }
  }

  #follow(): void {
    if (this.#sql !== undefined && this.#host === this.#pool.host) return;
    this.#end(this.#sql);
    void this.start();
  }

  #end(sql: SQL | undefined): void {
    if (sql === undefined) return;
    if (this.#sql === sql) this.#sql = undefined;
    sql.close({ timeout: 0 }).catch(() => {});
  }

  close(): void {
    clearInterval(this.#timer);
    this.#end(this.#sql);
  }
}
