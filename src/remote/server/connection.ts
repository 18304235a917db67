/**
 * One client: bytes to frames, replies in order, the end of the connection, and the bounds that keep one client from
 * harming others. Its socket is a `Wire`, its clock the calls of `check`, about one a second.
 */
import { BUFFERED_SHARE_BYTES, FRAME_BYTES_MAX, UNAUTHENTICATED_BYTES_MAX, UNSENT_BYTES_MAX } from "../../limits.ts";
import type { NamedToken } from "../tokens/named-token.ts";
import { FrameError, FrameReader } from "../wire/frame.ts";
import { BAD_REQUEST, CLOSING, UNAUTHORIZED } from "../wire/protocol.ts";
import type { Refusal } from "./callers.ts";
import { Dispatcher, type Requester } from "./dispatcher.ts";
import { Outbox, type Sink } from "./replies/outbox.ts";
import { type Place, Replies } from "./replies/replies.ts";
import { DECODE_INLINE_BYTES } from "./requests/decoder.ts";
import { BadRequest, RefusedRequest } from "./requests/parse.ts";
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

const GOODBYE = JSON.stringify({
  ok: false,
  error:
    "RuntimeError: the server is ending, and carries out nothing that it has not answered: connect again, and repeat it",
  code: CLOSING,
});

export class Connection implements Requester {
  private readonly dispatcher: Dispatcher;
  private readonly watch: Watch;
  private readonly reader: FrameReader;
  private readonly outbox: Outbox;
  private readonly replies: Replies;
  private frames = 0;
  /** Bytes held for this connection, as the session counts them. */
  bufferedBytes = 0;
  private reportedBytes = 0;
  private isPaused = false;
  isPumping = false;
  /** No further request is read: the reply that closes the connection is being sent. */
  private isClosing = false;
  /** The client sends nothing more; its requests are still answered. */
  private hasEnded = false;
  /** The server accepts no more requests. */
  private isEnding = false;
  /** Whether a request that has arrived in full may wait unread. */
  private hasBacklog = false;
  isGone = false;
  /** Sends the reason why it is closed, where that waits. */
  private refusal: (() => void) | undefined;

  constructor(
    private readonly wire: Wire,
    private readonly session: Session<Connection>,
    now: number,
  ) {
    this.watch = new Watch(session.limits, now);
    this.outbox = new Outbox(wire);
    this.replies = new Replies(this.outbox, session.counters);
    this.dispatcher = new Dispatcher(this, session, this.replies);
    this.reader = new FrameReader(this.dispatcher.isAuthenticated ? FRAME_BYTES_MAX : UNAUTHENTICATED_BYTES_MAX);
  }

  /** Whether every request is answered and the replies are handed to the kernel. */
  get isDrained(): boolean {
    return !this.hasBacklog && this.replies.waiting === 0 && this.outbox.unsentBytes === 0;
  }

  /** The named token that the client has shown. */
  get token(): NamedToken | undefined {
    return this.dispatcher.token;
  }

  /** Bytes arrived. They belong to the connection from here on. */
  data(chunk: Buffer, now: number): void {
    this.session.counters.bytesIn += chunk.length;
    this.watch.heard(now);
    if (this.isClosing || this.isEnding) return; // discarded, not left unread: a reset would lose the reply
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
    this.replies.clear();
    this.account();
    this.session.unsaved.left(this);
  }

  /** The client has sent its last byte, and may still read. */
  ended(now: number): void {
    this.hasEnded = true;
    this.watch.closingAt = now;
    this.pump();
  }

  /** The server stops: requests that have arrived in full are answered, no more are read. */
  end(now: number): void {
    this.isEnding = true;
    this.refusal?.();
    this.ended(now);
  }

  /**
   * Checks the time limits, and resumes reading where the budget was the reason for a pause.
   * @returns why the connection must be dropped; undefined where all is well
   */
  check(now: number): string | undefined {
    this.wake();
    return this.watch.check(now, {
      isAuthenticated: this.dispatcher.isAuthenticated,
      isBusy: this.replies.waiting > 0 || this.isPaused,
      isDrained: this.isDrained,
      frames: this.frames,
      partialBytes: this.reader.partialBytes,
      unsentBytes: this.outbox.unsentBytes,
      sentBytes: this.outbox.sentBytes,
    });
  }

  /**
   * Closes the connection where its token is over: requests under way are answered, the others are not carried out.
   * @returns whether it is over
   */
  closeIfTokenEnded(): boolean {
    const why = this.token?.ended;
    if (why !== undefined && !this.isGone) this.refuse({ error: UNAUTHORIZED, why: `its token ${why}` });
    return why !== undefined;
  }

  /** Resumes reading where the budget was the reason for a pause. */
  wake(): void {
    if (this.isPaused) this.pump();
  }

  /** The dispatcher's client has shown its first token: larger frames are read from here on. */
  authenticated(): void {
    this.reader.bytesMax = FRAME_BYTES_MAX;
    this.session.clients.authenticated(this);
  }

  /** A reply is ready. */
  fill(place: Place, json: string): void {
    if (this.isGone) return;
    this.replies.fill(place, json);
    this.pump(); // no effect while pump runs: it sends at its end
  }

  /** Sends an error as the last reply and closes. Earlier requests are still answered. */
  refuse(refusal: Refusal, own?: Place): void {
    if (this.isClosing) return;
    const place = own ?? this.replies.place(refusal.error);
    this.isClosing = true;
    this.watch.closingAt = performance.now() / 1000;
    this.reader.clear();
    this.replies.endWith(place);
    this.refusal = () => {
      this.refusal = undefined;
      this.fill(place, JSON.stringify({ ok: false, error: refusal.error }));
    };
    const delayMs = this.session.clients.refused(this, refusal);
    if (delayMs === 0) this.refusal();
    else setTimeout(() => this.refusal?.(), delayMs).unref();
  }

  /** The decoder has released a frame. */
  released(): void {
    this.account();
    this.pump();
  }

  // -------------------------------------------------------------------------------------------------------------------

  /** Reads requests as long as there is room for them, then sends the replies that are due. */
  private pump(): void {
    if (this.isPumping || this.isGone) return;
    this.isPumping = true;
    this.dispatcher.beginTurn();
    this.replies.beginTurn();
    try {
      do {
        this.replies.collect(); // frees places for further requests
        do this.hasBacklog = !this.isClosing && this.isFull();
        while (!this.isClosing && !this.hasBacklog && this.takeFrame());
      } while (this.hasBacklog && this.replies.isDue);
      this.send();
    } catch (error) {
      // Half of a turn's replies may be in the buffer that all connections share: none of it is sent any more.
      this.gone();
      this.session.clients.broken(this, error);
    } finally {
      this.isPumping = false;
    }
  }

  private takeFrame(): boolean {
    const { reader, dispatcher } = this;
    try {
      if (!reader.advance()) return false;
      dispatcher.lookOnce();
      if (this.closeIfTokenEnded()) return false;
      this.frames++;
      const { bytes, start, end } = reader;
      if (end - start > DECODE_INLINE_BYTES) dispatcher.decode(bytes.subarray(start, end));
      else dispatcher.begin({ request: this.session.repeated.parse(bytes, start, end) }, end - start);
      return true;
    } catch (error) {
      if (error instanceof RefusedRequest) {
        dispatcher.begin(error, reader.end - reader.start);
        return true;
      }
      if (!(error instanceof FrameError || error instanceof BadRequest)) throw error;
      this.refuse({ error: BAD_REQUEST, why: error.message });
      return false;
    }
  }

  /** Sends the replies that are due, in order. */
  private send(): void {
    this.replies.send();
    this.session.counters.bytesOut += this.outbox.sentBytes - this.reportedBytes;
    this.reportedBytes = this.outbox.sentBytes;
    this.account();
    this.pauseOrResume();
    this.finishIfDone();
  }

  private finishIfDone(): void {
    const isLast = this.isClosing || this.hasEnded;
    if (!isLast || this.isGone || !this.isDrained) return;
    if (this.isEnding && !this.isClosing) this.sayGoodbye();
    if (this.isDrained) this.wire.finish();
  }

  /** The last frame of a server that stops: a client may send again what it has no reply to. */
  private sayGoodbye(): void {
    this.isClosing = true;
    this.outbox.add(GOODBYE);
    this.outbox.flush();
  }

  /** Whether requests wait unread: too many are under way, or the client does not read its replies. */
  private isFull(): boolean {
    return this.replies.waiting >= this.session.limits.inFlightMax || this.outbox.unsentBytes > UNSENT_BYTES_MAX;
  }

  private pauseOrResume(): void {
    if (this.isGone) return;
    // A connection that waits for its client cannot use the permission to read on.
    const isFull = this.isFull();
    const isOverShare = !isFull && this.bufferedBytes > BUFFERED_SHARE_BYTES && !this.session.budget.mayRead(this);
    const wanted = !this.isClosing && (isFull || isOverShare);
    if (wanted === this.isPaused) return;
    this.isPaused = wanted;
    if (wanted) this.wire.pause();
    else this.wire.resume();
  }

  private account(): void {
    // Frames at the decoder count until it is done with them, even when the connection is gone.
    const own =
      this.reader.bufferedBytes + this.outbox.unsentBytes + this.replies.heldUnits + this.replies.unansweredBytes;
    const bytes = this.dispatcher.decodingBytes + (this.isGone ? 0 : own);
    if (bytes === this.bufferedBytes) return;
    const change = bytes - this.bufferedBytes;
    this.bufferedBytes = bytes;
    this.session.budget.changed(this, change);
  }
}
