/**
 * Requests to one address, over one connection at a time. A connection that is lost is replaced, and a request is repeated exactly where
 * that cannot apply it twice: the system never took all of its bytes, or it changes nothing.
 */
import { OSError, RuntimeError, type SvcError, TimeoutError } from "../errors.ts";
import { type Call, Connection, type ConnectionOptions, type Ending, LostBeforeAuth, type OnReply } from "./link.ts";
import { Unsaved } from "./unsaved.ts";

/** What a channel needs to know. */
interface ChannelOptions extends ConnectionOptions {
  /** How long a request may take from the call to its answer, in milliseconds; without it as long as the server needs. */
  requestTimeoutMs?: number | undefined;
}

/** Connections that one request is given to at most, and tries for a connection whose token is answered. */
const SENDS_MAX = 3;

/** Operations that change nothing, so that asking twice does no harm. */
const REPEATABLE: ReadonlySet<string> = new Set([
  "ping",
  "collections",
  "open_collection",
  "search",
  "search_text",
  "ids",
  "stats",
]);

/** Operations whose changes wait for a save. */
const CHANGES: ReadonlySet<string> = new Set(["add", "upsert", "add_texts", "upsert_texts", "delete"]);

/** The way to one server. */
export class Channel {
  /** Calls that no connection has, in their order. */
  private waiting: Call[] = [];
  private connection: Connection | undefined;
  private isOpening = false;
  /** The error with which the server refused a connection of its own accord: the next request is answered with it. */
  private refusal: SvcError | undefined;
  private running = 0;
  private idle: (() => void) | undefined;
  private closing: Promise<void> | undefined;
  private isFinished = false;
  /** What was changed over this channel and not saved. */
  private readonly unsaved = new Unsaved(this);

  private constructor(private readonly options: ChannelOptions) {}

  /** Connects. @throws OSError, TimeoutError, PermissionError, RuntimeError */
  static async open(options: ChannelOptions): Promise<Channel> {
    const channel = new Channel(options);
    channel.connection = await channel.connect();
    if (channel.connection.isOver) channel.connection = undefined;
    return channel;
  }

  /** Runs one call of the program, of as many requests as it takes; `close` waits for it. @throws RuntimeError behind `close` */
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

  /** Sends a change of a collection, which waits for a save from its reply on. @throws as {@link request} */
  change(op: string, collection: string, frame: Buffer): Promise<unknown> {
    return this.request(op, frame, (peer, failure) => {
      if (!failure) this.unsaved.note(collection, peer);
    });
  }

  /** Sends a save of a collection. @throws as {@link request}; OSError where acknowledged changes of this channel may be lost */
  save(op: string, collection: string, frame: Buffer): Promise<void> {
    return this.unsaved.save(collection, (onReply) => this.request(op, frame, onReply));
  }

  /** Sends one request; resolves to the `result` of its reply. @throws what the server answered; OSError, TimeoutError, PermissionError */
  request(op: string, frame: Buffer, onReply?: OnReply): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.refusal) {
      reject(this.refusal);
      this.refusal = undefined;
      return promise;
    }
    const call: Call = {
      op,
      isRepeatable: REPEATABLE.has(op),
      isChange: CHANGES.has(op),
      frame,
      handed: 0,
      sends: 0,
      onReply,
      resolve,
      reject,
    };
    if (this.options.requestTimeoutMs !== undefined) this.limit(call, this.options.requestTimeoutMs);
    if (this.connection) {
      this.connection.send(call);
    } else {
      this.waiting.push(call);
      void this.reopen();
    }
    return promise;
  }

  /** Takes no further calls, waits for those under way, and ends the connection. */
  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  private async finish(): Promise<void> {
    if (this.running > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.idle = resolve;
      await promise;
    }
    this.isFinished = true;
    this.connection?.end();
    this.connection = undefined;
  }

  private async connect(): Promise<Connection> {
    for (let tries = 1; ; tries++) {
      try {
        return await Connection.open(this.options, (ending) => this.settle(ending));
      } catch (error) {
        if (tries === SENDS_MAX || !(error instanceof LostBeforeAuth)) throw error;
      }
    }
  }

  /** Replaces a lost connection for the calls that wait. All of them can fail: none of them can have been applied. */
  private async reopen(): Promise<void> {
    if (this.isOpening) return;
    this.isOpening = true;
    try {
      for (let tries = 0; this.waiting.length > 0; tries++) {
        if (tries === SENDS_MAX)
          throw new OSError(`${this.options.address.text} closes every connection at once`, "disconnected");
        const connection = await this.connect();
        if (connection.isOver) continue;
        // Its callers have given up meanwhile, and no other one waits for it.
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

  /** Decides for each call of a lost connection, in their order. */
  private settle({ calls, why, refusal }: Ending): void {
    this.connection = undefined;
    if (refusal) {
      const refused = [...calls, ...this.waiting.splice(0)];
      if (refused.length === 0) this.refusal = refusal;
      for (const call of refused) call.reject(refusal);
      return;
    }
    const again = calls.filter((call) => {
      const error = this.objection(call, why);
      if (error) call.reject(error);
      return !error;
    });
    this.waiting = [...again, ...this.waiting];
    if (this.waiting.length > 0) void this.reopen();
  }

  /** Why a call may not be repeated; undefined where it may. */
  private objection(call: Call, why: string): OSError | undefined {
    const { text } = this.options.address;
    if (!call.frame) {
      return new OSError(
        `the connection to ${text} was lost behind '${call.op}' (${why}); whether it was applied is not known: look before you repeat it`,
        "outcome_unknown",
      );
    }
    if (call.sends < SENDS_MAX) return undefined;
    return new OSError(
      `the connection to ${text} was lost ${call.sends} times before '${call.op}' was answered (${why}); it changed nothing`,
      "disconnected",
    );
  }

  private limit(call: Call, timeoutMs: number): void {
    const timer = setTimeout(() => {
      const outcome = call.frame ? "it changed nothing" : "whether it was applied is not known";
      call.reject(new TimeoutError(`no answer to '${call.op}' within ${timeoutMs} ms; ${outcome}`));
      if (this.connection?.abandon(call)) return;
      this.waiting = this.waiting.filter((other) => other !== call);
    }, timeoutMs);
    const { resolve, reject } = call;
    call.resolve = (result) => {
      clearTimeout(timer);
      resolve(result);
    };
    call.reject = (error) => {
      clearTimeout(timer);
      reject(error);
    };
  }
}
