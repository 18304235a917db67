/**
 * One socket to a server: requests go out in their order, replies come back in the same, and several may be under way. When it ends it
 * hands back what was not answered; what becomes of that is for `channel.ts` to decide.
 */
import { OSError, PermissionError, type SvcError, TimeoutError } from "../errors.ts";
import { FrameReader } from "../wire/frame.ts";
import { AUTH_FIRST, errorFrom, type Fault, type Reply, UNAUTHORIZED } from "../wire/protocol.ts";
import type { Address } from "./address.ts";
import { encodeRequest } from "./encode.ts";
import { type Peer, readIdentity, WHO, WHO_ID } from "./peer.ts";
import { parseReply } from "./reply.ts";
import { openSocket, type Socket } from "./socket.ts";

/** Called with a reply at once, before anything that came behind it: over which connection it came, and the error that it is. */
export type OnReply = (peer: Peer, failure: SvcError | undefined) => void;

/** A request on its way. */
export interface Call {
  readonly op: string;
  /** Whether it may be sent again although the server may have seen it. */
  readonly isRepeatable: boolean;
  /** Whether it leaves something unsaved in the server. */
  readonly isChange: boolean;
  /** Dropped when it is out and may not go again: where the frame is, the call may be repeated. */
  frame: Buffer | undefined;
  /** Bytes of the frame that the system took on the present connection. */
  handed: number;
  /** Connections that it was given to. */
  sends: number;
  onReply?: OnReply | undefined;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Why a connection is over. */
export interface Ending {
  /** Calls without an answer, in their order. */
  calls: Call[];
  /** A few words for a message. */
  why: string;
  /** The server's word that it wants nothing of this connection; it holds for every call. */
  refusal?: SvcError | undefined;
}

/** What a connection needs to know. */
export interface ConnectionOptions {
  address: Address;
  /** Sent first, where there is one. */
  token?: string | undefined;
  /** For the connection and the authentication together, in milliseconds. */
  timeoutMs: number;
}

/** The connection was lost before the server answered to the token: nothing was applied, and another try may be welcome. */
export class LostBeforeAuth extends OSError {}

/** An open, authenticated connection. */
export class Connection {
  /** What the server behind it said of itself. */
  readonly peer: Peer = {};
  private readonly reader = new FrameReader();
  private readonly outstanding: Call[] = [];
  /** Index of the first outstanding call that is not all out. */
  private unsent = 0;
  private socket: Socket | undefined;
  /** The question who the server is; it belongs to this connection and is never repeated on another. */
  private who: Call | undefined;
  /** An error in the place of the answer to that: should the connection end behind it, it says why. */
  private lastWord: SvcError | undefined;
  private hasAnswered = false;
  private isFlushing = false;
  private isEnded = false;

  /** Resolves when requests can be sent. @throws OSError, TimeoutError, PermissionError, RuntimeError (the server has too many connections) */
  static async open(options: ConnectionOptions, onEnd: (ending: Ending) => void): Promise<Connection> {
    const { address, token, timeoutMs } = options;
    let early = undefined as Ending | undefined;
    const connection = new Connection(address, token !== undefined, (ending) => {
      early = ending;
    });
    const began = performance.now();
    const socket = await openSocket(address, timeoutMs, {
      data: (chunk) => connection.receive(chunk),
      drain: () => connection.flush(),
      close: (why) => connection.lose(why),
    });
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

  /** Whether it can take no more calls. */
  get isOver(): boolean {
    return this.isEnded;
  }

  /**
   * Queues a call. What is queued in one turn of the event loop goes out together. In front of the first change goes the question who the
   * server is, without which nobody could tell later whether it is still the one that has the change.
   */
  send(call: Call): void {
    if (call.isChange && !this.who) {
      this.who = {
        op: "stats",
        isRepeatable: true,
        isChange: false,
        frame: WHO,
        handed: 0,
        sends: 0,
        resolve: (stats) => {
          this.peer.identity = readIdentity(stats);
        },
        reject: () => {},
      };
      this.queue(this.who);
    }
    this.queue(call);
  }

  private queue(call: Call): void {
    call.handed = 0;
    call.sends++;
    this.outstanding.push(call);
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(() => {
      this.isFlushing = false;
      this.flush();
    });
  }

  /** Forgets a call whose caller waits no longer. Where bytes of it are out the replies are out of step, and the connection ends. */
  abandon(call: Call): boolean {
    const at = this.outstanding.indexOf(call);
    if (at < 0) return false;
    this.outstanding.splice(at, 1);
    if (at < this.unsent) this.unsent--;
    if (call.handed > 0) this.lose("a request took too long");
    return true;
  }

  /** Ends it in good order. Nothing must be outstanding. */
  end(): void {
    this.isEnded = true;
    this.socket?.end();
  }

  private async authenticate(token: string, timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
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
    this.send({ op: "auth", isRepeatable: false, isChange: false, frame, handed: 0, sends: 0, resolve, reject });
    try {
      await promise;
    } catch (error) {
      this.lose("it was not accepted");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Hands the system as much as it takes; `drain` goes on. */
  private flush(): void {
    while (!this.isEnded && this.unsent < this.outstanding.length) {
      const bytes = this.nextBytes();
      const taken = this.socket!.write(bytes);
      if (taken > 0) this.count(taken);
      if (taken < bytes.length) return;
    }
  }

  /** What goes out next: the rest of a frame, or several small frames as one. */
  private nextBytes(): Buffer {
    const first = this.outstanding[this.unsent]!;
    const rest = first.frame!.subarray(first.handed);
    const parts = [rest];
    let size = rest.length;
    for (let i = this.unsent + 1; i < this.outstanding.length; i++) {
      const frame = this.outstanding[i]!.frame!;
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
      const part = Math.min(left, call.frame!.length - call.handed);
      call.handed += part;
      left -= part;
      if (call.handed < call.frame!.length) return;
      this.unsent++;
      if (!call.isRepeatable) call.frame = undefined;
    }
  }

  private receive(chunk: Buffer): void {
    try {
      this.reader.push(chunk);
      for (let body = this.reader.next(); body && !this.isEnded; body = this.reader.next())
        this.accept(parseReply(body));
    } catch (error) {
      const call = this.unsent > 0 ? this.shift() : undefined;
      const asked = call ? `answered '${call.op}' with` : "sent";
      const failure = new OSError(
        `${this.address.text} ${asked} something that is no reply (${(error as Error).message}); is it a \`svc serve\` of this version?`,
      );
      call?.reject(failure);
      this.lose("it sent something that is no reply", this.hasAnswered || call ? undefined : failure);
    }
  }

  private accept(reply: Reply): void {
    const failure = reply.ok ? undefined : this.toError(reply);
    if (this.unsent === 0) {
      this.acceptUnasked(failure);
      return;
    }
    const call = this.shift();
    this.hasAnswered = true;
    this.lastWord = call === this.who && reply.id !== WHO_ID ? failure : undefined;
    call.onReply?.(this.peer, failure);
    if (reply.ok) call.resolve(reply.result);
    else call.reject(failure!);
    // The server closes behind this one and applies nothing that follows.
    if (!reply.ok && reply.error.startsWith(UNAUTHORIZED)) this.lose("it was not accepted", failure);
  }

  /** Nobody asked, or the question is not all out: a server that wants no more connections, or no such frame, says so before it reads. */
  private acceptUnasked(failure: SvcError | undefined): void {
    const begun = this.outstanding[0];
    if (failure && begun && begun.handed > 0) this.outstanding.shift()!.reject(failure);
    this.lose("it sent a reply to nothing", this.hasAnswered ? undefined : failure);
  }

  private toError(fault: Fault): SvcError {
    if (fault.error === AUTH_FIRST && !this.hasToken) {
      return new PermissionError(`${this.address.text} wants a token: give it to connect as { token }`, "unauthorized");
    }
    return errorFrom(fault);
  }

  private shift(): Call {
    this.unsent--;
    return this.outstanding.shift()!;
  }

  private lose(why: string, refusal?: SvcError): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.socket?.terminate();
    this.unsent = 0;
    const calls = this.outstanding.splice(0).filter((call) => call !== this.who);
    this.onEnd({ calls, why, refusal: refusal ?? this.lastWord });
  }
}

// ---------------------------------------------------------------------------------------------------------------------

/** Small frames are put together up to this many bytes: one write instead of many. */
const WRITE_BYTES = 64 * 1024;

function lostBeforeAuth({ text }: Address, why: string): LostBeforeAuth {
  return new LostBeforeAuth(`${text} closed the connection before it answered 'auth' (${why})`);
}
