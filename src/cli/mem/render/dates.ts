/** Times in words, in the time zone of this machine: that of the person who reads them. */

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** "today 14:05", "yesterday 09:12", "3 November", and in another year "3 November 2025". @param ms since 1970 */
export function inWords(ms: number, now = Date.now()): string {
  const [time, today] = [new Date(ms), new Date(now)];
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  if (isSameDay(time, today)) return `today ${clock}`;
  // By the calendar: a day in which the clocks change does not have 24 hours.
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (isSameDay(time, yesterday)) return `yesterday ${clock}`;
  const day = `${time.getDate()} ${MONTHS[time.getMonth()]}`;
  return time.getFullYear() === today.getFullYear() ? day : `${day} ${time.getFullYear()}`;
}

function isSameDay(a: Date, b: Date): boolean {
  return a.getFullYear() === b.getFullYear() && a.getMonth() === b.getMonth() && a.getDate() === b.getDate();
}

function two(part: number): string {
  return String(part).padStart(2, "0");
}
