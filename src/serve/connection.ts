/**
 * One client: bytes to requests, results to replies in order, and the bounds that keep one client from harming others. It knows no socket
 * but a `Wire`, and no clock but `check`, which the server calls about once a second.
 */
import { BUFFERED_SHARE_BYTES, FRAME_BYTES_MAX, UNAUTHENTICATED_BYTES_MAX, UNSENT_BYTES_MAX } from "../limits.ts";
import { FrameError, FrameReader } from "../wire/frame.ts";
import { AUTH_FIRST, BAD_REQUEST, UNAUTHORIZED } from "../wire/protocol.ts";
import { DECODE_INLINE_BYTES, type Decoded } from "./decoder.ts";
import { Lanes } from "./lanes.ts";
import { isRead, type OperationContext, operation } from "./operations.ts";
import { Outbox, type Sink } from "./outbox.ts";
import { BadRequest, parseRequest } from "./parse.ts";
import { checkId, failure, isSuccess, success } from "./reply.ts";
import type { Session } from "./session.ts";
import { Watch } from "./watch.ts";

/** A socket, as far as a connection needs one. */
export interface Wire extends Sink {
  pause(): void;
  resume(): void;
  /** Ends the sending half: the client reads what was sent, then the end. */
  finish(): void;
  /** Drops the connection at once. */
  terminate(): void;
}

/** A reply's place in the order. */
interface Slot {
  json: string | undefined;
}

export class Connection {
  private isAuthenticated: boolean;
  private readonly watch: Watch;
  private readonly reader: FrameReader;
  private readonly outbox: Outbox;
  private readonly lanes = new Lanes();
  private readonly context: OperationContext;
  /** Replies that are not sent yet, in the order of the requests. */
  private slots: Slot[] = [];
  private frames = 0;
  /** Bytes of frames that are with the decoder. */
  private decoding = 0;
  /** Bytes that the session counts for this connection. */
  private counted = 0;
  private reportedBytes = 0;
  private isPaused = false;
  private isPumping = false;
  /** No further request is read: the reply that closes the connection is under way, or the server ends. */
  private isClosing = false;
  /** The client sends nothing more; what it sent is still answered. */
  private hasEnded = false;
  /** Whether a request that has arrived in full may wait unread. */
  private hasBacklog = false;
  private isGone = false;

  constructor(
    private readonly wire: Wire,
    private readonly session: Session,
    now: number,
  ) {
    this.watch = new Watch(session.limits, now);
    this.outbox = new Outbox(wire);
    this.context = { store: session.store, serverStats: session.serverStats, unsaved: new Map() };
    this.isAuthenticated = session.token === undefined;
    this.reader = new FrameReader(this.isAuthenticated ? FRAME_BYTES_MAX : UNAUTHENTICATED_BYTES_MAX);
  }

  /** Whether everything that was asked is answered and handed to the kernel. */
  get isDrained(): boolean {
    return this.slots.length === 0 && this.outbox.unsentBytes === 0;
  }

  /** Bytes arrived. They belong to the connection from here on. */
  data(chunk: Buffer, now: number): void {
    this.session.counters.bytesIn += chunk.length;
    this.watch.heard(now);
    if (this.isClosing) return; // read and forgotten, so that the reply is not lost to a reset
    this.reader.push(chunk);
    this.pump();
  }

  /** The kernel has room again. */
  drained(): void {
    this.outbox.drain();
    this.pump();
  }

  /** The socket is closed. */
  gone(): void {
    this.isGone = true;
    this.isClosing = true;
    this.slots = [];
    this.account();
  }

  /** The client has sent its last byte, and may still read. */
  ended(now: number): void {
    this.hasEnded = true;
    this.watch.closingAt = now;
    this.pump();
  }

  /** Answers what is under way and reads no further. */
  end(now: number): void {
    this.pump();
    this.isClosing = true;
    this.watch.closingAt = now;
    this.finishIfDone();
  }

  /**
   * Looks at the clock, and reads on where others were the reason for a pause.
   * @returns why the connection must go; undefined where all is well
   */
  check(now: number): string | undefined {
    this.wake();
    return this.watch.check(now, {
      isAuthenticated: this.isAuthenticated,
      isBusy: this.slots.length > 0,
      isDrained: this.isDrained,
      frames: this.frames,
      partialBytes: this.reader.partialBytes,
      unsentBytes: this.outbox.unsentBytes,
      sentBytes: this.outbox.sentBytes,
    });
  }

  /** Reads on where others were the reason for a pause. */
  wake(): void {
    if (this.isPaused) this.pump();
  }

  // -------------------------------------------------------------------------------------------------------------------

  /** Reads requests as long as there is room for them, then sends what is answered. */
  private pump(): void {
    if (this.isPumping || this.isGone) return;
    this.isPumping = true;
    try {
      do this.hasBacklog = !this.isClosing && this.isFull();
      while (!this.isClosing && !this.hasBacklog && this.takeFrame());
    } finally {
      this.isPumping = false;
    }
    this.send();
  }

  private takeFrame(): boolean {
    let body: Buffer | undefined;
    try {
      body = this.reader.next();
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.refuse(BAD_REQUEST, error.message);
      return false;
    }
    if (body === undefined) return false;
    this.frames++;
    if (body.length > DECODE_INLINE_BYTES) this.decode(body);
    else this.accept(body);
    return true;
  }

  private accept(body: Buffer): void {
    try {
      const request = parseRequest(body);
      if (this.isAuthenticated && request.op !== "auth") this.start({ request });
      else this.authenticate({ request });
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      this.refuse(BAD_REQUEST, error.message);
    }
  }

  /** A large frame: parsed elsewhere, while its place in the order is kept. It counts as a write, for what it is is not known yet. */
  private decode(body: Buffer): void {
    const slot = this.slot();
    const bytes = body.length;
    const decoding = this.session.decoder.decode(body);
    decoding.catch(() => {}); // looked at below, when its turn has come
    this.decoding += bytes;
    const started = performance.now();
    let op = "";
    this.lanes
      .change(async () => {
        const decoded = await decoding;
        op = decoded.request.op;
        if (op === "auth") throw new BadRequest("an auth of that size");
        return this.result(decoded);
      })
      .then(
        (json) => this.fill(slot, json, op, started),
        (error) => {
          if (error instanceof BadRequest) this.refuse(BAD_REQUEST, error.message, slot);
          else this.fill(slot, failure(error, undefined), op, started);
        },
      )
      .finally(() => {
        this.decoding -= bytes;
        this.pump();
      });
  }

  private authenticate(decoded: Decoded): void {
    const { token } = this.session;
    const { op, args } = decoded.request;
    if (op !== "auth") {
      this.refuse(AUTH_FIRST, "it sent something before auth");
      return;
    }
    if (token !== undefined) {
      const guess = args && typeof args === "object" ? args.token : undefined;
      if (!token.matches(guess)) {
        this.refuse(UNAUTHORIZED, "a wrong token");
        return;
      }
      this.isAuthenticated = true;
      this.reader.bytesMax = FRAME_BYTES_MAX;
      this.session.authenticated(this);
    }
    this.start(decoded);
  }

  /** Carries a request out; one that is answered at once, with nothing before it, takes no detour over a promise. */
  private start(decoded: Decoded): void {
    const { op } = decoded.request;
    const started = performance.now();
    const work = () => this.result(decoded);
    const json = isRead(op) ? this.lanes.read(work) : this.lanes.change(work);
    if (typeof json === "string" && this.slots.length === 0) {
      this.answered(op, started, json);
      this.outbox.add(json);
      return;
    }
    const slot = this.slot();
    if (typeof json === "string") this.fill(slot, json, op, started);
    else json.then((text) => this.fill(slot, text, op, started));
  }

  /** The reply to a request. Never throws. */
  private result(decoded: Decoded): string | Promise<string> {
    const { op, id } = decoded.request;
    try {
      checkId(id);
      const result = operation(op).run(decoded, this.context);
      if (!(result instanceof Promise)) return success(result, id);
      return result.then((value) => success(value, id)).catch((error) => failure(error, id));
    } catch (error) {
      return failure(error, id);
    }
  }

  private slot(): Slot {
    const slot: Slot = { json: undefined };
    this.slots.push(slot);
    return slot;
  }

  private fill(slot: Slot, json: string, op: string, started: number): void {
    if (this.isGone) return;
    slot.json = json;
    this.answered(op, started, json);
    // Inside the loop that reads, it sends for all at its end.
    if (!this.isPumping) this.pump();
  }

  private answered(op: string, started: number, json: string): void {
    this.session.counters.answered(op, performance.now() - started, isSuccess(json));
  }

  /** Says one last thing and closes. What was asked before is still answered. */
  private refuse(error: string, why: string, slot = this.slot()): void {
    this.isClosing = true;
    this.watch.closingAt = performance.now() / 1000;
    this.reader.clear();
    slot.json = JSON.stringify({ ok: false, error });
    this.slots.length = this.slots.indexOf(slot) + 1;
    this.session.counters.requests++;
    this.session.counters.errors++;
    this.session.refused(this, error, why);
    if (!this.isPumping) this.send();
  }

  /** Sends the replies that are due, in order. */
  private send(): void {
    let due = 0;
    while (due < this.slots.length && this.slots[due]!.json !== undefined) this.outbox.add(this.slots[due++]!.json!);
    if (due > 0) this.slots.splice(0, due);
    this.outbox.flush();
    this.session.counters.bytesOut += this.outbox.sentBytes - this.reportedBytes;
    this.reportedBytes = this.outbox.sentBytes;
    this.account();
    this.pauseOrResume();
    this.finishIfDone();
  }

  private finishIfDone(): void {
    const isLast = this.isClosing || (this.hasEnded && !this.hasBacklog);
    if (isLast && !this.isGone && this.isDrained) this.wire.finish();
  }

  /** Whether requests wait unread: too many are under way, or the client does not read its replies. */
  private isFull(): boolean {
    return this.slots.length >= this.session.limits.inFlightMax || this.outbox.unsentBytes > UNSENT_BYTES_MAX;
  }

  private pauseOrResume(): void {
    if (this.isGone) return;
    const isOverShare = this.session.isCrowded && this.counted > BUFFERED_SHARE_BYTES;
    const wanted = !this.isClosing && (this.isFull() || isOverShare);
    if (wanted === this.isPaused) return;
    this.isPaused = wanted;
    if (wanted) this.wire.pause();
    else this.wire.resume();
  }

  private account(): void {
    const bytes = this.isGone ? 0 : this.reader.bufferedBytes + this.outbox.unsentBytes + this.decoding;
    this.session.buffered(bytes - this.counted);
    this.counted = bytes;
  }
}
