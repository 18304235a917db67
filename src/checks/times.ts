/** Points in time from callers and as they are shown, and lists bounded by them. */
import { ValueError } from "../errors.ts";
import { STORED_TIME_MAX } from "../limits.ts";
import { describe, optional, shown, wrongType } from "./kinds.ts";
import { POSITIVE, readNumber } from "./numbers.ts";

/** Which rows to list by when they were updated, in milliseconds since 1970. */
export interface Times {
  /** From this time on. */
  since?: number | undefined;
  /** Before this time. */
  until?: number | undefined;
  /** So many, the last updated first. */
  newest?: number | undefined;
}

/** The largest time that a Date holds, in either direction. */
const TIME_MAX = 8.64e15;

const REMEDY = 'give milliseconds since 1970, or ISO 8601 as in "2026-11-22" or "2026-11-22T14:30:00Z"';
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * Milliseconds since 1970 from a whole number of them, or from a date or date with time of ISO 8601; without a time
 * zone it is in UTC, so that it means the same on every machine.
 * @throws TypeError for what is neither number nor string; ValueError for one that is not a time
 */
export function readTime(value: unknown, name: string): number {
  if (typeof value !== "number" && typeof value !== "string") {
    throw wrongType(name, "milliseconds since 1970 or an ISO 8601 string", value);
  }
  const time = typeof value === "string" ? parseTime(value) : value;
  if (time !== undefined && Number.isInteger(time) && Math.abs(time) <= TIME_MAX) return time;
  throw new ValueError(`${name} is ${describe(value)}, which is not a time: ${REMEDY}`);
}

/** The time that an ISO 8601 string says; undefined for another string, or a day or hour that does not exist. */
export function parseTime(text: string): number | undefined {
  const [, day, minute = "00:00", second = "00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  const local = `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const time = Date.parse(local);
  // A day that the month lacks would become one of the next month.
  if (Number.isNaN(time) || new Date(time).toISOString() !== local) return undefined;
  const [, sign, hours, minutes = "00"] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (hours === undefined) return time;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return time - Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** Checks a time that a row is to have. @param row its place, for the message @throws ValueError */
export function checkStoredTime(time: number | undefined, name: string, row?: number): void {
  if (time === undefined || (Number.isInteger(time) && time >= 0 && time <= STORED_TIME_MAX)) return;
  const which = row === undefined ? name : `${name} of row ${row}`;
  throw new ValueError(`${which} is ${time}: give whole milliseconds since 1970, from 0 to ${STORED_TIME_MAX}`);
}

/**
 * Checks what bounds a list by time, as far as it is given.
 * @throws ValueError for an invalid time, `since` after `until`, or `newest` with `after`
 */
export function checkTimes(given: Times & { after?: unknown }): void {
  const { since, until, newest, after } = given;
  if (since !== undefined && until !== undefined && since > until) {
    const at = (time: number) => shown(new Date(time).toISOString());
    throw new ValueError(`since (${at(since)}) is after until (${at(until)}): swap them, or leave one out`);
  }
  if (newest !== undefined && after !== undefined) {
    throw new ValueError(
      "newest and after exclude each other, as after continues in the order of insertion: leave one out",
    );
  }
}

/** The same of values that were not read yet: null and undefined are left out. @throws also TypeError */
export function readTimes(given: { since?: unknown; until?: unknown; newest?: unknown; after?: unknown }): Times {
  const times = {
    since: optional(given.since, "since", readTime),
    until: optional(given.until, "until", readTime),
    newest: optional(given.newest, "newest", (value, name) => readNumber(value, name, POSITIVE)),
  };
  checkTimes({ ...times, after: given.after ?? undefined });
  return times;
}
