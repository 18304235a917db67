/** How long something is valid, as people write it. */
import { ValueError } from "../errors.ts";
import { shown } from "./kinds.ts";

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const LEAST = UNITS.m!;
/** Ten years, and the leap days in them. */
const MOST = 3653 * UNITS.d!;

/**
 * Milliseconds of a whole number with one unit: `30m`, `12h`, `7d`, `2w`.
 * @throws ValueError for another text, and beyond ten years
 */
export function readDuration(text: string, name: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9})([mhdw])$/.exec(text.trim()) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? 0);
  if (ms >= LEAST && ms <= MOST) return ms;
  throw new ValueError(`${name} is ${shown(text)}: give minutes, hours, days or weeks, such as 30m, 12h, 7d or 2w`);
}
