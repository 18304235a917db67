/**
 * The requests of one client, each from its frame to its reply: who makes it, when it takes effect, and a large one parsed on
 * the decoder's thread. Bytes and the order of replies are the connection's.
 */
import type { NamedToken } from "../tokens/named-token.ts";
import { BAD_REQUEST } from "../wire/protocol.ts";
import type { Caller, Refusal } from "./callers.ts";
import { carryOut } from "./carry-out.ts";
import { Lanes } from "./lanes.ts";
import { changesNothing } from "./operations.ts";
import type { Place, Replies } from "./replies/replies.ts";
import { failure } from "./replies/reply.ts";
import type { Decoded } from "./requests/decoder.ts";
import { BadRequest } from "./requests/parse.ts";
import type { Session } from "./session.ts";

/** The connection that requests come from. */
export interface Requester {
  /** The client is gone: it gets no more replies. */
  readonly isGone: boolean;
  /** Requests are being read: a request that begins now has not waited for others. */
  readonly isPumping: boolean;
  /** The client has shown a token for the first time. */
  authenticated(): void;
  /** Fills the place of a reply, and sends what is due. */
  fill(place: Place, json: string): void;
  /** Sends an error as the last reply, in that place or in a new one, and closes. */
  refuse(refusal: Refusal, place?: Place): void;
  /** The decoder has released a frame. */
  released(): void;
}

export class Dispatcher {
  /** Undefined until the client has authenticated, where it has to. */
  private caller: Caller | undefined;
  /** Bytes of frames that the decoder has. */
  decodingBytes = 0;
  private readonly lanes = new Lanes();
  private readonly reportedLosses: Map<string, number>;
  /** Whether the token was looked up in this turn. */
  private isTokenChecked = false;
  /** A large frame turned out not to be a request: requests after it are not carried out. */
  private isRefused = false;

  constructor(
    private readonly requester: Requester,
    private readonly session: Omit<Session<unknown>, "clients">,
    private readonly replies: Replies,
  ) {
    const { store, callers } = session;
    this.reportedLosses = store.lostByCollection();
    this.caller = callers.needsToken ? undefined : callers.unlimited;
  }

  get isAuthenticated(): boolean {
    return this.caller !== undefined;
  }

  /** The named token that the client has shown. */
  get token(): NamedToken | undefined {
    return this.caller?.token;
  }

  /** A turn of requests begins. */
  beginTurn(): void {
    this.isTokenChecked = false;
  }

  /** Looks at the tokens once in each turn of requests; these may have waited since they arrived. */
  lookOnce(): void {
    if (this.isTokenChecked || !this.caller?.token) return;
    this.isTokenChecked = true;
    this.session.callers.look();
  }

  /** Carries a request out, or refuses it. @param bytes of its frame */
  begin(decoded: Decoded, bytes: number): void {
    if (this.caller && decoded.request.op !== "auth") this.start(decoded, this.caller, bytes);
    else this.authenticate(decoded, bytes);
  }

  /**
   * A large frame: parsed on the decoder's thread while its place is kept. It counts as a write: its op is not known
   * yet.
   */
  decode(body: Buffer): void {
    const place = this.replies.place("decode");
    const caller = this.caller!; // an unauthenticated connection has no frame of that size
    const bytes = body.length;
    const decoding = this.session.decoder.decode(body, () => !this.requester.isGone && !this.isRefused);
    decoding.catch(() => {}); // handled below, in its turn
    this.decodingBytes += bytes;
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
        (json) => this.requester.fill(place, json),
        (error) => {
          if (error instanceof BadRequest) this.requester.refuse({ error: BAD_REQUEST, why: error.message }, place);
          else this.requester.fill(place, failure(error, undefined));
        },
      )
      .finally(() => {
        this.decodingBytes -= bytes;
        this.requester.released();
      });
  }

  /** A request on a connection that has to authenticate, or an `auth` on any. */
  private authenticate(decoded: Decoded, bytes: number): void {
    const answer = this.session.callers.authenticate(decoded.request, this.caller);
    if ("error" in answer) {
      this.requester.refuse(answer);
      return;
    }
    if (!this.caller) this.requester.authenticated();
    this.caller = answer;
    this.start(decoded, answer, bytes);
  }

  /** Carries a request out; one that is answered at once, with none waiting, takes no detour over a promise. */
  private start(decoded: Decoded, caller: Caller, bytes: number): void {
    const { op } = decoded.request;
    const json = changesNothing(decoded.request)
      ? this.lanes.read(() => this.result(decoded, caller))
      : this.lanes.change(() => this.result(decoded, caller));
    if (typeof json === "string" && this.replies.waiting === 0) {
      this.replies.now(op, json);
      return;
    }
    const place = this.replies.place(op, bytes);
    if (typeof json === "string") this.replies.fill(place, json);
    else json.then((text) => this.requester.fill(place, text));
  }

  private result(decoded: Decoded, caller: Caller): string | Promise<string> {
    const { requester, reportedLosses, session } = this;
    // A request that waited for others begins now.
    if (!requester.isPumping && caller.token) session.callers.look();
    const changed = (name: string) => session.unsaved.changed(requester, name, requester.isGone);
    return carryOut(
      decoded,
      { caller, reportedLosses, changed, audit: session.audit, auditEntry: {} },
      session.budget,
      this.isRefused,
    );
  }
}

/** A token is small: an auth large enough for the decoder holds none, and the decoder cannot check it. */
function refuseAuth(decoded: Decoded): Decoded {
  if (decoded.request.op === "auth") throw new BadRequest("an auth of that size");
  return decoded;
}
