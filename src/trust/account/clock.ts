/**
 * The latest time this machine has seen, so that a clock set back is noticed, and one that jumped ahead by more than a
 * year. It only causes a warning: a dead battery or a restored snapshot must never lock users out of their own data.
 */
import { readCapped, writeDurable } from "../../durable.ts";
import { attempt } from "../../errors.ts";
import { accountPaths } from "../../paths.ts";

/** A reading of the clock against its high-water mark, in seconds since 1970. */
export interface ClockReading {
  readonly now: number;
  /** The latest time seen, never before `now`. A licence's beginning is compared with this one. */
  readonly latest: number;
  /** The mark, where the clock is more than a year ahead of it; the mark stays then, until a login confirms the clock. */
  readonly aheadOf?: number;
  /** Where the clock may be wrong, in either direction: nothing is renewed by it. */
  readonly warning?: string;
}

/** A step back by less is a time zone, a leap or a correction by NTP, and causes no warning. */
const BACK_SECONDS_MAX = 24 * 3600;
/** A machine that was off for longer has to be logged in again, where its licence ended meanwhile. */
const AHEAD_SECONDS_MAX = 366 * 24 * 3600;
/** The mark moves once an hour, so that most tool calls need no sync. */
const MARK_STEP_SECONDS = 3600;

/**
 * Reads the clock and moves the mark forward. Never fails: without a readable mark `latest` is `now`.
 * @param moves false: the mark stays, as nothing may be written
 */
export function readClock(home: string, now: number = Date.now() / 1000, moves = true): ClockReading {
  const mark = readMark(home);
  if (mark !== undefined && now > mark + AHEAD_SECONDS_MAX) {
    const seen = `the clock says ${minute(now)}, more than a year after the latest time seen here, ${minute(mark)}`;
    return { now, latest: now, aheadOf: mark, warning: `${seen}: set it, or run 'svc login' if it is right` };
  }
  if (moves && (mark === undefined || now >= mark + MARK_STEP_SECONDS)) writeMark(home, now);
  if (mark === undefined || now >= mark - BACK_SECONDS_MAX) return { now, latest: Math.max(now, mark ?? now) };
  const days = Math.floor((mark - now) / 86_400);
  const span = `${days} ${days === 1 ? "day" : "days"}`;
  const warning = `the clock is ${span} behind the latest time seen here: set it, or run 'svc login' if it is right`;
  return { now, latest: mark, warning };
}

/** Sets the mark to the present time, backwards too: a login confirms the clock. */
export function resetClock(home: string, now: number = Date.now() / 1000): void {
  writeMark(home, now);
}

/** A time for people, in UTC, as `2026-11-23 06:25`. */
export function minute(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString().slice(0, 16).replace("T", " ");
}

function readMark(home: string): number | undefined {
  const text = new TextDecoder().decode(attempt(() => readCapped(accountPaths(home).clock, 32))).trim();
  return /^[0-9]{1,12}$/.test(text) ? Number(text) : undefined;
}

function writeMark(home: string, now: number): void {
  // SVC_HOME may be read-only; the mark only serves a warning.
  attempt(() => writeDurable(accountPaths(home).clock, `${Math.floor(now)}\n`, 0o600));
}
