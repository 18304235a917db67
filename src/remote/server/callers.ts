/**
 * Who a connection is. The one token of a server and, on a Unix socket, every process that can open it may do everything;
 * a named token may do what its rights allow, in a view of the store that has nothing else.
 */
import type { LocalCollection } from "../../api/local-collection.ts";
import type { LocalStore } from "../../api/local-store.ts";
import { PermissionError } from "../../errors.ts";
import type { NamedToken } from "../tokens/named-token.ts";
import type { NamedTokens } from "../tokens/named-tokens.ts";
import { allowanceOf, isLimited, mayOnlyRead } from "../tokens/rights.ts";
import { isNamedTokenText } from "../tokens/token-text.ts";
import { AUTH_FIRST, type Request, UNAUTHORIZED } from "../wire/protocol.ts";
import { ToolRunner } from "./call-tool.ts";
import type { PutSize } from "./requests/put.ts";
import type { AccessToken } from "./token.ts";

/** The collections that a caller may use. */
export interface CallerStore {
  collections(): Promise<string[]>;
  createCollection(name: string, options: Parameters<LocalStore["createCollection"]>[1]): Promise<LocalCollection>;
  collection(name: string): LocalCollection;
  handle(name: string): LocalCollection;
}

/** The server's own numbers, as far as a caller may see them. */
export type ServerStats = (view: StatsView) => Record<string, unknown>;

/** What a caller may see of the server's numbers. */
interface StatsView {
  /** Only numbers about these collections: others would show what others do. Absent: all. */
  readonly allows?: ((name: string) => boolean) | undefined;
  /** Who uses the server, and its process. */
  readonly seesPeople: boolean;
}

/** What a connection may use. */
export class Caller {
  constructor(
    readonly store: CallerStore,
    readonly tools: ToolRunner,
    readonly serverStats: () => Record<string, unknown>,
    /** Its name in the history; undefined where it has none. */
    readonly author: string | undefined,
    readonly token?: NamedToken,
  ) {}

  /**
   * @param changes whether the request would change something
   * @throws PermissionError where a request may not be carried out
   */
  requireRight(changes: boolean): void {
    const { token } = this;
    if (token === undefined) return;
    token.used();
    if (token.ended !== undefined)
      throw new PermissionError(`the token ${token.ended}; nothing was changed`, "unauthorized");
    if (changes && token.record.readOnly) throw mayOnlyRead();
  }

  /**
   * Puts rows, which count against what the token may store.
   * @throws PermissionError where they are too many; what `put` throws, and they are not counted then
   */
  async charged<T>({ rows, bytes }: PutSize, put: () => Promise<T>): Promise<T> {
    const charge = this.token?.charge(rows, bytes);
    try {
      const result = await put();
      charge?.keep();
      return result;
    } catch (error) {
      charge?.takeBack();
      throw error;
    }
  }
}

/** Why a connection is refused: what the client gets, and what the log says. */
export interface Refusal {
  readonly error: string;
  readonly why: string;
  /** It may have been a guess at a token. */
  readonly isGuess?: true;
}

export interface CallersOptions {
  readonly store: LocalStore;
  readonly serverStats: ServerStats;
  /** The one token of the server. */
  readonly token: AccessToken | undefined;
  readonly named: NamedTokens;
  /** Whether a connection may do nothing without a token. */
  readonly needsToken: boolean;
  /** The author of changes by connections without a named token. */
  readonly author: string | undefined;
}

/** All callers of one server. */
export class Callers {
  /** The caller of a connection that needs no token, or has the one token. */
  readonly unlimited: Caller;
  private readonly byToken = new WeakMap<NamedToken, Caller>();

  constructor(private readonly options: CallersOptions) {
    const { store, serverStats, author } = options;
    this.unlimited = new Caller(
      store,
      new ToolRunner(store, store.kernel),
      () => serverStats({ seesPeople: true }),
      author,
    );
  }

  get needsToken(): boolean {
    return this.options.needsToken;
  }

  /** Named tokens as they are now: revoked and expired ones are over after this. */
  look(): void {
    this.options.named.look();
  }

  /**
   * Checks an `auth`, or the request that came in its place.
   * @param current the caller of the connection so far
   */
  authenticate({ op, args }: Request, current: Caller | undefined): Caller | Refusal {
    if (op !== "auth") return { error: AUTH_FIRST, why: "it sent another request before auth" };
    const { token, named, needsToken } = this.options;
    const given = args && typeof args === "object" ? args.token : undefined;
    const text = typeof given === "string" ? given : "";
    named.look();
    const found = named.find(text);
    const isOne = token?.matches(given) === true;
    if (isOne) return this.unlimited;
    if (found !== undefined) return this.of(found);
    // On a Unix socket any other token will do, as without named tokens; a named one that is over must not become that.
    if (!needsToken && current?.token === undefined && !isNamedTokenText(text)) return this.unlimited;
    return { error: UNAUTHORIZED, why: named.why(text), isGuess: true };
  }

  private of(token: NamedToken): Caller {
    const known = this.byToken.get(token);
    if (known) return known;
    const { store, serverStats } = this.options;
    const { record } = token;
    const allowance = { ...allowanceOf(record), chargeCollection: () => token.chargeCollection() };
    const view = store.limited(allowance);
    const isWhole = !isLimited(record);
    const stats = () =>
      serverStats({ allows: isWhole ? undefined : allowance.allows, seesPeople: isWhole && !record.readOnly });
    const caller = new Caller(view, new ToolRunner(view, store.kernel), stats, record.name, token);
    this.byToken.set(token, caller);
    return caller;
  }
}
