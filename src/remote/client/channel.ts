/**
 * Requests to one address, over one connection at a time. A lost connection is replaced, and a request is repeated only
 * where that cannot apply it twice: the system never took all of its bytes, or it changes nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { OSError, RuntimeError, type SvcError, TimeoutError } from "../../errors.ts";
import { Call, type OnReply } from "./call.ts";
import { deferred } from "./deferred.ts";
import { Connection, type ConnectionOptions, type Ending } from "./link.ts";
import { type SilenceLimits, watchSilence } from "./silence.ts";
import { LostBeforeAuth } from "./tls.ts";
import { Unsaved } from "./unsaved.ts";

/** How to connect, and how long to wait. */
interface ChannelOptions extends ConnectionOptions, SilenceLimits {
  /** Longest time from a call to its reply, in milliseconds; unlimited by default. */
  requestTimeoutMs?: number | undefined;
}

/** How many connections a request is sent on at most. */
const SENDS_MAX = 3;

/** Before a connection that was lost in its beginning is tried again: a server may be starting, or have a full backlog. */
const PAUSES_MS = [20, 200];

/** The requests to one server. */
export class Channel {
  /** Calls that no connection has, in order. */
  private waiting: Call[] = [];
  private connection: Connection | undefined;
  private isOpening = false;
  /** The error with which the server refused an idle connection: the next request fails with it. */
  private refusal: SvcError | undefined;
  private running = 0;
  private idle: (() => void) | undefined;
  private closing: Promise<void> | undefined;
  private isFinished = false;
  /** Unsaved changes of this channel. */
  private readonly unsaved = new Unsaved((op, frame) => this.request(op, frame));

  private constructor(private readonly options: ChannelOptions) {}

  /** Connects. @throws OSError, TimeoutError, PermissionError, RuntimeError */
  static async open(options: ChannelOptions): Promise<Channel> {
    const channel = new Channel(options);
    channel.connection = await channel.connect();
    if (channel.connection.isOver) channel.connection = undefined;
    return channel;
  }

  /** Runs one call of the caller, of one or more requests; `close` waits for it. @throws RuntimeError after `close` */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.closing) throw new RuntimeError("this client is closed; connect again");
    this.running++;
    try {
      return await work();
    } finally {
      this.running--;
      if (this.running === 0) this.idle?.();
    }
  }

  /** Sends a change of a collection, which is unsaved from its reply on. @throws as {@link request} */
  change(op: string, collection: string, frame: Buffer): Promise<unknown> {
    return this.request(op, frame, (peer, failure) => {
      if (!failure) this.unsaved.note(collection, peer);
    });
  }

  /** Sends a save of a collection; resolves to its result. @throws as {@link request}; OSError where acknowledged changes may be lost */
  save(op: string, collection: string, frame: Buffer): Promise<unknown> {
    return this.unsaved.save(collection, (onReply) => this.request(op, frame, onReply));
  }

  /** Sends a request; resolves to its result. @throws the server's error; OSError, TimeoutError, PermissionError */
  request(op: string, frame: Buffer, onReply?: OnReply, isRepeatable?: boolean): Promise<unknown> {
    const { promise, resolve, reject } = deferred<unknown>();
    if (this.refusal) {
      reject(this.refusal);
      this.refusal = undefined;
      return promise;
    }
    const call = new Call(op, frame, resolve, reject, onReply, isRepeatable);
    if (this.options.requestTimeoutMs !== undefined) this.limit(call, promise, this.options.requestTimeoutMs);
    if (this.connection) {
      this.connection.send(call);
    } else {
      this.waiting.push(call);
      void this.reopen();
    }
    return promise;
  }

  /** Takes no more calls, waits for those under way, and closes the connection. */
  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  private async finish(): Promise<void> {
    if (this.running > 0) {
      const { promise, resolve } = deferred<void>();
      this.idle = resolve;
      await promise;
    }
    this.isFinished = true;
    this.connection?.end();
    this.connection = undefined;
  }

  private async connect(): Promise<Connection> {
    const deadline = performance.now() + this.options.timeoutMs;
    for (let tries = 1; ; tries++) {
      const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()));
      try {
        const connection = await Connection.open({ ...this.options, timeoutMs }, (ending) => this.settle(ending));
        watchSilence(connection, this.options);
        return connection;
      } catch (error) {
        const pause = PAUSES_MS[tries - 1];
        if (pause === undefined || !(error instanceof LostBeforeAuth)) throw error;
        if (performance.now() + pause >= deadline) throw error;
        await sleep(pause);
      }
    }
  }

  /** Replaces a lost connection for the waiting calls. On failure all are rejected: none can have been applied. */
  private async reopen(): Promise<void> {
    if (this.isOpening) return;
    this.isOpening = true;
    try {
      for (let tries = 0; this.waiting.length > 0; tries++) {
        if (tries === SENDS_MAX)
          throw new OSError(`${this.options.address.text} closes every connection at once`, "disconnected");
        const connection = await this.connect();
        if (connection.isOver) continue;
        // Closed meanwhile: the waiting calls have timed out.
        if (this.isFinished) return connection.end();
        this.connection = connection;
        for (const call of this.waiting.splice(0)) connection.send(call);
      }
    } catch (error) {
      for (const call of this.waiting.splice(0)) call.reject(error as Error);
    } finally {
      this.isOpening = false;
    }
  }

  /** Rejects or repeats each call of a lost connection, in order. */
  private settle({ calls, why, isUnapplied, refusal }: Ending): void {
    this.connection = undefined;
    if (refusal) {
      const refused = [...calls, ...this.waiting.splice(0)];
      // Where the token is read again, it may be another one by now: the next request finds out.
      if (refused.length === 0 && typeof this.options.token !== "function") this.refusal = refusal;
      for (const call of refused) call.reject(refusal);
      return;
    }
    const again = calls.filter((call) => {
      const error = this.objection(call, why, isUnapplied);
      if (error) call.reject(error);
      return !error;
    });
    this.waiting = [...again, ...this.waiting];
    if (this.waiting.length > 0) void this.reopen();
  }

  /** Why a call may not be repeated; undefined where it may. */
  private objection(call: Call, why: string, isUnapplied: boolean): OSError | undefined {
    const { text } = this.options.address;
    if (call.mayBeApplied && !isUnapplied) {
      return new OSError(
        `the connection to ${text} was lost after '${call.op}' (${why}); ` +
          "whether it was applied is not known: check the collection before you repeat the call",
        "outcome_unknown",
      );
    }
    if (call.sends < SENDS_MAX) return undefined;
    return new OSError(
      `the connection to ${text} was lost ${call.sends} times before '${call.op}' was answered (${why}); it changed nothing`,
      "disconnected",
    );
  }

  private limit(call: Call, promise: Promise<unknown>, timeoutMs: number): void {
    const timer = setTimeout(() => {
      const outcome = call.mayBeApplied ? "whether it was applied is not known" : "it changed nothing";
      call.reject(new TimeoutError(`no answer to '${call.op}' within ${timeoutMs} ms; ${outcome}`));
      if (this.connection?.abandon(call)) return;
      this.waiting = this.waiting.filter((other) => other !== call);
    }, timeoutMs);
    const stop = () => clearTimeout(timer);
    promise.then(stop, stop);
  }
}
