/** Text in pages: what others chose, times, errors and what was done. */

/** Text as HTML, within an element or a quoted attribute. */
export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign);
}

/**
 * Text that others chose, as HTML. Its direction ends with it (`bdi`), and what would not be seen is: a character that
 * reverses what follows, or makes two names look the same, stands as its number.
 */
export function isolated(text: string): string {
  return `<bdi>${escaped(visible(text))}</bdi>`;
}

/** Control and format characters, and what takes no room, as U+ and their number. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu, numbered);
}

/**
 * The same of a text of several lines: its line breaks and tabs stay, and what joins two characters of one emoji, or of a
 * word in a script that needs it.
 */
export function visibleLines(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .split(JOINED)
    .map((part, at) => (at % 2 === 1 ? part : part.replace(/[^\n\t]+/g, visible)))
    .join("");
}

/** ZERO WIDTH NON-JOINER and JOINER where they belong: in a Latin word they would only hide a difference. */
const JOINED =
  /((?<=[[\p{L}\p{M}]--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]])[\u200c\u200d](?=[[\p{L}\p{M}]--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]])|(?<=[\p{Extended_Pictographic}\p{EMod}\ufe0f])\u200d(?=\p{Extended_Pictographic}))/v;

function numbered(sign: string): string {
  return `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;
}

const UNITS: readonly [name: string, ms: number][] = [
  ["year", 365 * 86_400_000],
  ["month", 30 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** How far a time is from now, in the largest unit that fits: "3 days ago", "in 27 days", "less than a minute ago". */
export function distance(at: number, now: number): string {
  const apart = Math.abs(now - at);
  const said = (length: string) => (at > now ? `in ${length}` : `${length} ago`);
  const [name, ms] = UNITS.find(([, ms]) => apart >= ms) ?? [];
  if (name === undefined || ms === undefined) return said("less than a minute");
  // What was made to last seven days ends in seven days, a moment later too.
  const count = at > now ? Math.round(apart / ms) : Math.floor(apart / ms);
  return said(count === 1 ? `${name === "hour" ? "an" : "a"} ${name}` : `${count} ${name}s`);
}

/** A time as HTML: in words, and as UTC, as the server does not know the reader's zone. */
export function moment(at: number, now: number): string {
  const utc = new Date(at).toISOString();
  const written = `${utc.slice(0, 10)} ${utc.slice(11, 16)} UTC`;
  return `<time datetime="${utc}">${distance(at, now)} <span class="utc">${written}</span></time>`;
}

/** What went wrong, announced at once; it may quote what was typed. Fields name it with `aria-describedby="problem"`. */
export function alert(problem: string): string {
  return `<p class="alert" role="alert" id="problem">${escaped(visible(problem))}</p>`;
}

/** What was done. */
export function status(said: string): string {
  return `<p class="done" role="status">${escaped(visible(said))}</p>`;
}
