/**
 * One socket to a server. Requests go out in order, replies come back in the same order, and several may be under way.
 * When it ends, `channel.ts` decides about the calls without a reply.
 */
import { OSError, PermissionError, type SvcError, TimeoutError } from "../../errors.ts";
import { FrameReader } from "../wire/frame.ts";
import { AUTH_FIRST, CLOSING, errorFrom, type Fault, type Reply, UNAUTHORIZED } from "../wire/protocol.ts";
import type { Address } from "./address.ts";
import { Call } from "./call.ts";
import { deferred } from "./deferred.ts";
import type { Socket } from "./dial.ts";
import { encodeRequest } from "./encode.ts";
import { IDENTITY_FRAME, IDENTITY_ID, type Peer, readIdentity } from "./peer.ts";
import { parseReply } from "./reply.ts";
import { openSocket } from "./socket.ts";
import { LostBeforeAuth, type TlsOptions } from "./tls.ts";

/** Why a connection is over. */
export interface Ending {
  /** Calls without a reply, in order. */
  calls: Call[];
  /** A few words for a message. */
  why: string;
  /** The server has said that it carried none of them out. */
  isUnapplied: boolean;
  /** The error with which the server refused the connection; it holds for every call. */
  refusal?: SvcError | undefined;
}

/** Reads a token from where it is kept; undefined without one. */
export type TokenSource = () => string | undefined | Promise<string | undefined>;

/** How to connect and authenticate. */
export interface ConnectionOptions {
  address: Address;
  /** Sent first, where there is one. A function is called for each connection: a token may be replaced. */
  token?: string | TokenSource | undefined;
  /** For an address with TLS, its files read. */
  tls?: TlsOptions | undefined;
  /** For connecting and authenticating together, in milliseconds. */
  timeoutMs: number;
}

/** An open, authenticated connection. */
export class Connection {
  /** Its server's identity. */
  readonly peer: Peer = {};
  private readonly reader = new FrameReader();
  private readonly outstanding: Call[] = [];
  /** Index of the first outstanding call that is not sent in full. */
  private unsent = 0;
  private socket: Socket | undefined;
  /** The request for the server's identity; never repeated on another connection. */
  private identityCall: Call | undefined;
  /** An error in place of the reply to it; the reason, should the connection end after it. */
  private identityError: SvcError | undefined;
  private hasAnswered = false;
  /** The last sign of life while calls are outstanding. */
  private heardAt = 0;
  private isFlushing = false;
  /** Whether it takes no more calls. */
  isOver = false;

  /**
   * Resolves when requests can be sent.
   * @throws OSError, TimeoutError, PermissionError, RuntimeError (the server has too many connections)
   */
  static async open(options: ConnectionOptions, onEnd: (ending: Ending) => void): Promise<Connection> {
    const { address, tls, timeoutMs } = options;
    const token = typeof options.token === "function" ? await options.token() : options.token;
    let early = undefined as Ending | undefined;
    const connection = new Connection(address, token !== undefined, (ending) => {
      early = ending;
    });
    const began = performance.now();
    const events = {
      data: (chunk: Buffer) => connection.receive(chunk),
      drain: () => connection.flush(),
      close: (why: string, refusal?: SvcError) => connection.lose(why, refusal),
    };
    const socket = await openSocket(address, timeoutMs, events, tls);
    connection.socket = socket;
    if (early) socket.terminate();
    if (early && token !== undefined) throw early.refusal ?? lostBeforeAuth(address, early.why);
    if (token !== undefined) {
      await connection.authenticate(token, Math.max(1, timeoutMs - (performance.now() - began)));
    }
    connection.onEnd = onEnd;
    if (early) onEnd(early);
    return connection;
  }

  private constructor(
    private readonly address: Address,
    private readonly hasToken: boolean,
    private onEnd: (ending: Ending) => void,
  ) {}

  /**
   * Queues a call; calls of one turn of the event loop go out together. Before the first change goes a request for the
   * server's identity: after a reconnect it shows whether that server still has the change.
   */
  send(call: Call): void {
    if (call.isChange && !this.identityCall) {
      const read = (stats: unknown) => {
        this.peer.identity = readIdentity(stats);
      };
      this.identityCall = new Call("stats", IDENTITY_FRAME, read, () => {});
      this.queue(this.identityCall);
    }
    this.queue(call);
  }

  /** How long the server has been silent with calls to answer; 0 without any. */
  get silentMs(): number {
    return this.outstanding.length === 0 ? 0 : performance.now() - this.heardAt;
  }

  /** Ends it, as if it had been lost. */
  giveUp(why: string): void {
    this.lose(why);
  }

  private queue(call: Call): void {
    if (this.outstanding.length === 0) this.heardAt = performance.now();
    call.sentBytes = 0;
    call.isSent = false;
    call.sends++;
    this.outstanding.push(call);
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(() => {
      this.isFlushing = false;
      this.flush();
    });
  }

  /** Drops a call that timed out. If bytes of it are out, replies no longer match, and the connection ends. */
  abandon(call: Call): boolean {
    const at = this.outstanding.indexOf(call);
    if (at < 0) return false;
    this.outstanding.splice(at, 1);
    if (at < this.unsent) this.unsent--;
    if (call.sentBytes > 0) this.lose("a request took too long");
    return true;
  }

  /** Closes it in good order. Nothing may be outstanding. */
  end(): void {
    this.isOver = true;
    this.socket?.end();
  }

  private async authenticate(token: string, timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = deferred<unknown>();
    this.onEnd = ({ why, refusal }) => reject(refusal ?? lostBeforeAuth(this.address, why));
    const timer = setTimeout(() => {
      reject(
        new TimeoutError(
          `${this.address.text} did not answer 'auth' in time; is it a \`svc serve\`, and not overloaded?`,
        ),
      );
      this.lose("no answer to 'auth'");
    }, timeoutMs);
    const frame = encodeRequest("auth", undefined, { token });
    this.send(new Call("auth", frame, resolve, reject));
    try {
      await promise;
    } catch (error) {
      this.lose("it was not accepted");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Writes as much as the system takes; `drain` continues. */
  private flush(): void {
    while (!this.isOver && this.unsent < this.outstanding.length) {
      const bytes = this.nextBytes();
      const taken = this.socket!.write(bytes);
      if (taken > 0) this.count(taken);
      if (taken < bytes.length) return;
    }
  }

  /** The rest of a frame, or several small frames as one. */
  private nextBytes(): Buffer {
    const first = this.outstanding[this.unsent]!;
    const rest = first.frame.subarray(first.sentBytes);
    const parts = [rest];
    let size = rest.length;
    for (let i = this.unsent + 1; i < this.outstanding.length; i++) {
      const frame = this.outstanding[i]!.frame;
      size += frame.length;
      if (size > WRITE_BYTES) break;
      parts.push(frame);
    }
    return parts.length === 1 ? rest : Buffer.concat(parts);
  }

  private count(taken: number): void {
    let left = taken;
    while (left > 0) {
      const call = this.outstanding[this.unsent]!;
      const part = Math.min(left, call.frame.length - call.sentBytes);
      call.sentBytes += part;
      left -= part;
      if (call.sentBytes < call.frame.length) return;
      this.unsent++;
      call.isSent = true;
    }
  }

  private receive(chunk: Buffer): void {
    this.heardAt = performance.now();
    try {
      this.reader.push(chunk);
      for (let body = this.reader.next(); body && !this.isOver; body = this.reader.next())
        this.accept(parseReply(body));
    } catch (error) {
      const call = this.unsent > 0 ? this.shift() : undefined;
      const context = call ? `answered '${call.op}' with` : "sent";
      const failure = new OSError(
        `${this.address.text} ${context} something that is not a reply (${(error as Error).message}); ` +
          "is it a `svc serve` of this version?",
      );
      call?.reject(failure);
      this.lose("it sent something that is not a reply", this.hasAnswered || call ? undefined : failure);
    }
  }

  private accept(reply: Reply): void {
    if (!reply.ok && reply.code === CLOSING) {
      this.lose("the server ended", undefined, true);
      return;
    }
    const failure = reply.ok ? undefined : this.toError(reply);
    if (this.unsent === 0) {
      this.acceptUnrequested(failure);
      return;
    }
    const call = this.shift();
    this.hasAnswered = true;
    this.identityError = call === this.identityCall && reply.id !== IDENTITY_ID ? failure : undefined;
    call.onReply?.(this.peer, failure);
    if (reply.ok) call.resolve(reply.result);
    else call.reject(failure!);
    // The server closes the connection after this reply and applies nothing that follows.
    if (!reply.ok && reply.error.startsWith(UNAUTHORIZED)) this.lose("it was not accepted", failure);
  }

  /** A reply without a complete request: a server over a limit of connections or bytes refuses before it reads. */
  private acceptUnrequested(failure: SvcError | undefined): void {
    const begun = this.outstanding[0];
    if (failure && begun && begun.sentBytes > 0) this.outstanding.shift()!.reject(failure);
    this.lose("it sent a reply to nothing", this.hasAnswered ? undefined : failure);
  }

  private toError(fault: Fault): SvcError {
    if (fault.error === AUTH_FIRST && !this.hasToken) {
      return new PermissionError(
        `${this.address.text} requires a token: a program passes { token } to connect, svc takes --token-file or SVC_ACCESS_TOKEN`,
        "unauthorized",
      );
    }
    return errorFrom(fault);
  }

  private shift(): Call {
    this.unsent--;
    return this.outstanding.shift()!;
  }

  private lose(why: string, refusal?: SvcError, isUnapplied = false): void {
    if (this.isOver) return;
    this.isOver = true;
    this.socket?.terminate();
    this.unsent = 0;
    const calls = this.outstanding.splice(0).filter((call) => call !== this.identityCall);
    this.onEnd({ calls, why, isUnapplied, refusal: refusal ?? this.identityError });
  }
}

/** Small frames are put together up to this many bytes: one write instead of many. */
const WRITE_BYTES = 64 * 1024;

function lostBeforeAuth(address: Address, why: string): LostBeforeAuth {
  // TLS 1.3 ends the handshake for the client before the server has checked its certificate.
  const hint = address.kind === "tcp" && address.tls ? CERTIFICATE_HINT : "";
  return new LostBeforeAuth(`${address.text} closed the connection before it answered 'auth' (${why})${hint}`);
}

const CERTIFICATE_HINT =
  "; a server with --client-ca closes it where the client's certificate (tls.cert, --tls-cert) is not one of its authority's";
