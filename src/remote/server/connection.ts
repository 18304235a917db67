/**
 * One client: bytes to requests, results to replies in order, and the bounds that keep one client from harming others.
 * Its socket is a `Wire`, its clock the calls of `check`, about one a second.
 */
import { BUFFERED_SHARE_BYTES, FRAME_BYTES_MAX, UNAUTHENTICATED_BYTES_MAX, UNSENT_BYTES_MAX } from "../../limits.ts";
import type { NamedToken } from "../tokens/named-token.ts";
import { FrameError, FrameReader } from "../wire/frame.ts";
import { BAD_REQUEST, CLOSING, UNAUTHORIZED } from "../wire/protocol.ts";
import type { Caller, Refusal } from "./callers.ts";
import { carryOut } from "./carry-out.ts";
import { Lanes } from "./lanes.ts";
import { changesNothing } from "./operations.ts";
import { Outbox, type Sink } from "./outbox.ts";
import { type Place, Replies } from "./replies.ts";
import { failure } from "./reply.ts";
import { DECODE_INLINE_BYTES, type Decoded } from "./requests/decoder.ts";
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

export class Connection {
  /** Undefined until it has authenticated, where it has to. */
  private caller: Caller | undefined;
  private readonly watch: Watch;
  private readonly reader: FrameReader;
  private readonly outbox: Outbox;
  private readonly lanes = new Lanes();
  private readonly reportedLosses: Map<string, number>;
  private readonly replies: Replies;
  private frames = 0;
  /** Bytes of frames that the decoder has. */
  private decoding = 0;
  /** Bytes held for this connection, as the session counts them. */
  bufferedBytes = 0;
  private reportedBytes = 0;
  private isPaused = false;
  private isPumping = false;
  /** Whether the token was looked up since the pump began. */
  private isTokenChecked = false;
  /** No further request is read: the reply that closes the connection is being sent. */
  private isClosing = false;
  /** The client sends nothing more; its requests are still answered. */
  private hasEnded = false;
  /** The server accepts no more requests. */
  private isEnding = false;
  /** Whether a request that has arrived in full may wait unread. */
  private hasBacklog = false;
  /** A large frame turned out not to be a request: requests after it are not carried out. */
  private isRefused = false;
  private isGone = false;
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
    const { store, callers } = session;
    this.reportedLosses = store.lostByCollection();
    this.caller = callers.needsToken ? undefined : callers.unlimited;
    this.reader = new FrameReader(this.caller ? FRAME_BYTES_MAX : UNAUTHENTICATED_BYTES_MAX);
  }

  /** Whether every request is answered and the replies are handed to the kernel. */
  get isDrained(): boolean {
    return !this.hasBacklog && this.replies.waiting === 0 && this.outbox.unsentBytes === 0;
  }

  /** The named token that the client has shown. */
  get token(): NamedToken | undefined {
    return this.caller?.token;
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
      isAuthenticated: this.caller !== undefined,
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
    const why = this.caller?.token?.ended;
    if (why !== undefined && !this.isGone) this.refuse({ error: UNAUTHORIZED, why: `its token ${why}` });
    return why !== undefined;
  }

  /** Resumes reading where the budget was the reason for a pause. */
  wake(): void {
    if (this.isPaused) this.pump();
  }

  // -------------------------------------------------------------------------------------------------------------------

  /** Reads requests as long as there is room for them, then sends the replies that are due. */
  private pump(): void {
    if (this.isPumping || this.isGone) return;
    this.isPumping = true;
    this.isTokenChecked = false;
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
    const { reader } = this;
    try {
      if (!reader.advance()) return false;
      this.lookOnce();
      if (this.closeIfTokenEnded()) return false;
      this.frames++;
      if (reader.end - reader.start > DECODE_INLINE_BYTES) {
        this.decode(reader.bytes.subarray(reader.start, reader.end));
        return true;
      }
      this.begin({ request: this.session.repeated.parse(reader.bytes, reader.start, reader.end) });
      return true;
    } catch (error) {
      if (error instanceof RefusedRequest) {
        this.begin(error);
        return true;
      }
      if (!(error instanceof FrameError || error instanceof BadRequest)) throw error;
      this.refuse({ error: BAD_REQUEST, why: error.message });
      return false;
    }
  }

  /** Looks at the tokens once in each turn of requests; these may have waited since they arrived. */
  private lookOnce(): void {
    if (this.isTokenChecked || !this.caller?.token) return;
    this.isTokenChecked = true;
    this.session.callers.look();
  }

  private begin(decoded: Decoded): void {
    if (this.caller && decoded.request.op !== "auth") this.start(decoded, this.caller);
    else this.authenticate(decoded);
  }

  /**
   * A large frame: parsed on the decoder's thread while its place is kept. It counts as a write: its op is not known
   * yet.
   */
  private decode(body: Buffer): void {
    const place = this.replies.place("decode");
    const caller = this.caller!; // an unauthenticated connection has no frame of that size
    const bytes = body.length;
    const decoding = this.session.decoder.decode(body, () => !this.isGone && !this.isRefused);
    decoding.catch(() => {}); // handled below, in its turn
    this.decoding += bytes;
    this.lanes
      .change(async () => {
        const decoded = await decoding.then(refuseAuth).catch((error) => {
          // Before the next request in order starts.
          this.isRefused ||= error instanceof BadRequest;
          throw error;
        });
        place.op = decoded.request.op;
        return this.result(decoded, caller);
      })
      .then(
        (json) => this.fill(place, json),
        (error) => {
          if (error instanceof BadRequest) this.refuse({ error: BAD_REQUEST, why: error.message }, place);
          else this.fill(place, failure(error, undefined));
        },
      )
      .finally(() => {
        this.decoding -= bytes;
        this.account();
        this.pump();
      });
  }

  /** A request on a connection that has to authenticate, or an `auth` on any. */
  private authenticate(decoded: Decoded): void {
    const answer = this.session.callers.authenticate(decoded.request, this.caller);
    if ("error" in answer) {
      this.refuse(answer);
      return;
    }
    if (!this.caller) {
      this.reader.bytesMax = FRAME_BYTES_MAX;
      this.session.clients.authenticated(this);
    }
    this.caller = answer;
    this.start(decoded, answer);
  }

  /** Carries a request out; one that is answered at once, with none waiting, takes no detour over a promise. */
  private start(decoded: Decoded, caller: Caller): void {
    const { op } = decoded.request;
    const json = changesNothing(decoded.request)
      ? this.lanes.read(() => this.result(decoded, caller))
      : this.lanes.change(() => this.result(decoded, caller));
    if (typeof json === "string" && this.replies.waiting === 0) {
      this.replies.now(op, json);
      return;
    }
    const place = this.replies.place(op, this.reader.end - this.reader.start);
    if (typeof json === "string") this.replies.fill(place, json);
    else json.then((text) => this.fill(place, text));
  }

  private result(decoded: Decoded, caller: Caller): string | Promise<string> {
    const { reportedLosses } = this;
    // A request that waited for others begins now.
    if (!this.isPumping && caller.token) this.session.callers.look();
    const changed = (name: string) => this.session.unsaved.changed(this, name, this.isGone);
    return carryOut(
      decoded,
      { caller, reportedLosses, changed, audit: this.session.audit, auditEntry: {} },
      this.session.budget,
      this.isRefused,
    );
  }

  private fill(place: Place, json: string): void {
    if (this.isGone) return;
    this.replies.fill(place, json);
    this.pump(); // no effect while pump runs: it sends at its end
  }

  /** Sends an error as the last reply and closes. Earlier requests are still answered. */
  private refuse(refusal: Refusal, own?: Place): void {
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
    const bytes = this.decoding + (this.isGone ? 0 : own);
    if (bytes === this.bufferedBytes) return;
    const change = bytes - this.bufferedBytes;
    this.bufferedBytes = bytes;
    this.session.budget.changed(this, change);
  }
}

/** A token is small: an auth large enough for the decoder holds none, and the decoder cannot check it. */
function refuseAuth(decoded: Decoded): Decoded {
  if (decoded.request.op === "auth") throw new BadRequest("an auth of that size");
  return decoded;
}
