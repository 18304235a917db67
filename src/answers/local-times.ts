/** Times for people, in this machine's time zone. */
import { localTime } from "../../ffi/system/calls.ts";

const two = (part: number) => String(part).padStart(2, "0");

/** The day of a time, as ISO 8601: `2026-11-29`. @param time in milliseconds since 1970 */
export function dayOf(time: number): string {
  const { year, month, day } = localTime(time);
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

/** The minute of a time with its offset, as `readTime` takes it: `2026-11-29 14:05+01:00`. */
export function minuteOf(time: number): string {
  const { hour, minute, ahead } = localTime(time);
  const part = Math.trunc(Math.abs(ahead));
  const zone = part === 0 ? "Z" : `${ahead < 0 ? "-" : "+"}${two(Math.trunc(part / 60))}:${two(part % 60)}`;
  return `${dayOf(time)} ${two(hour)}:${two(minute)}${zone}`;
}
