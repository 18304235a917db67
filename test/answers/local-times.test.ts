/** Times as a clock of this machine shows them, which is not asked through the engine's dates. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { readTime } from "../../src/checks/times.ts";

const TIMES = [
  0,
  1_700_000_000_000,
  Date.UTC(2026, 2, 29, 0, 59), // the minute before clocks in Europe go ahead
  Date.UTC(2026, 2, 29, 1, 0),
  Date.UTC(2026, 10, 29, 20, 15),
  253_402_300_799_000 - 86_400_000,
];

/** What a process in a time zone prints: of each time its day, its minute, and what the engine's own dates say. */
function shownIn(zone: string): [day: string, minute: string, engine: string][] {
  const script = `
    import { dayOf, minuteOf } from "./src/answers/local-times.ts";
    const engine = (time) => new Date(time - new Date(time).getTimezoneOffset() * 60000).toISOString();
    console.log(JSON.stringify(${JSON.stringify(TIMES)}.map((time) => [dayOf(time), minuteOf(time), engine(time)])));`;
  const env = { ...process.env, TZ: zone };
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { cwd: join(import.meta.dir, "../.."), env });
  return JSON.parse(stdout.toString());
}

test.each(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati"])("in %s", (zone) => {
  for (const [i, [day, minute, engine]] of shownIn(zone).entries()) {
    expect(day).toBe(engine.slice(0, 10));
    expect(minute.slice(0, 16)).toBe(engine.slice(0, 16).replace("T", " "));
    expect(readTime(minute, "since")).toBe(Math.floor(TIMES[i]! / 60_000) * 60_000);
  }
});

test("the offset has a sign and minutes, and is Z in UTC", () => {
  expect(shownIn("Asia/Kolkata")[4]![1]).toBe("2026-11-30 01:45+05:30");
  expect(shownIn("America/St_Johns")[4]![1]).toBe("2026-11-29 16:45-03:30");
  expect(shownIn("UTC")[4]![1]).toBe("2026-11-29 20:15Z");
});
