/**
 * Who is signed in to the administrator's pages. Sessions are in memory only: a restart ends them all, and a copy of the
 * ledger has none.
 */
import { randomBytes } from "node:crypto";

/** Milliseconds without a request after which a session ends, and after which it ends in any case. */
const SESSION_IDLE_MS = 3_600_000;
const SESSION_MS_MAX = 8 * 3_600_000;
/** Sessions of one administrator: one more ends the oldest. */
const SESSIONS_OF_ONE_MAX = 20;
/** How long the key that was just made is shown again to a reload. */
export const KEY_SHOWN_MS = 300_000;
/** Forms of a session whose outcome is remembered. */
const OUTCOMES_MAX = 100;

/** A key that was made, for the page that shows it. */
export interface MadeKey {
  readonly id: string;
  readonly key: string;
  readonly madeAt: number;
}

export interface Session {
  /** 256 random bits, made at the sign-in: never one that the browser brought along. */
  readonly id: string;
  readonly name: string;
  /** When the administrator was added: another one of the same name later is another person. */
  readonly addedAt: number;
  readonly startedAt: number;
  seenAt: number;
  /** What to say on the next view of a page, by its path. */
  readonly said: Map<string, string>;
  /** Keys made by forms of this session, by the form: a form that is sent twice makes one. */
  readonly made: Map<string, MadeKey>;
}

export class Sessions {
  readonly #byId = new Map<string, Session>();

  /** Starts a session. */
  start(name: string, addedAt: number, now: number): Session {
    for (const [id, session] of this.#byId) if (isOver(session, now)) this.#byId.delete(id);
    const own = [...this.#byId.values()].filter((session) => session.name === name);
    for (const { id } of own.slice(0, Math.max(0, own.length - SESSIONS_OF_ONE_MAX + 1))) this.#byId.delete(id);
    const id = randomBytes(32).toString("base64url");
    const session = { id, name, addedAt, startedAt: now, seenAt: now, said: new Map(), made: new Map() };
    this.#byId.set(id, session);
    return session;
  }

  /**
   * The session with this id, which goes on with it.
   * @param addedAt when an administrator of a name was added, if there still is one: a command of another process may
   * have removed them
   */
  of(id: string, addedAt: (name: string) => number | undefined, now: number): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    if (isOver(session, now) || addedAt(session.name) !== session.addedAt) {
      this.#byId.delete(id);
      return undefined;
    }
    session.seenAt = now;
    for (const [form, { madeAt }] of session.made) {
      if (now - madeAt > KEY_SHOWN_MS) session.made.set(form, { ...session.made.get(form)!, key: "" });
    }
    return session;
  }

  end(id: string): void {
    this.#byId.delete(id);
  }
}

/** Remembers what a form made; beyond a hundred the oldest is forgotten. */
export function remember(session: Session, form: string, made: MadeKey): void {
  session.made.set(form, made);
  const [oldest] = session.made.keys();
  if (session.made.size > OUTCOMES_MAX && oldest !== undefined) session.made.delete(oldest);
}

/** A clock that went back by more than a minute ends a session too: it would last longer than was said. */
function isOver(session: Session, now: number): boolean {
  const { startedAt, seenAt } = session;
  return now - seenAt > SESSION_IDLE_MS || now - startedAt > SESSION_MS_MAX || now < startedAt - 60_000;
}
