/** One line of progress on stderr, for a person who waits; nothing where stderr is no terminal. */
import { isTerminal, redraw } from "./output.ts";

/** Ten times a second is smooth; more would cost the work it reports on. */
const REDRAW_MS = 100;

/** Of a terminal that does not say how wide it is. */
const COLUMNS = 80;

export interface Progress {
  /** Says how far the work is; `total` only where it is known. Cheap to call often. */
  update(done: number, total?: number, message?: string): void;
  /** Draws a line that is made for so many columns, as often as it may be drawn. */
  draw(lineFor: (columns: number) => string): void;
  /** Removes the line. Call it before printing anything else. */
  end(): void;
}

/** Whether stderr is a terminal on which a line may be drawn over. */
export function canRedraw(): boolean {
  return isTerminal(2) && process.env.TERM !== "dumb" && !process.env.CI;
}

/** Starts a line of progress; it draws nothing where stderr is no terminal. */
export function startProgress(label: string): Progress {
  if (!canRedraw()) return { update() {}, draw() {}, end() {} };
  let drawn = 0;
  const draw = (lineFor: (columns: number) => string) => {
    const now = performance.now();
    if (drawn > 0 && now - drawn < REDRAW_MS) return;
    drawn = now;
    redraw(lineFor(process.stderr.columns || COLUMNS));
  };
  return {
    update(done, total, message) {
      draw(() => `${label}: ${message ?? amount(done, total)}`);
    },
    draw,
    end() {
      if (drawn > 0) redraw("");
      drawn = 0;
    },
  };
}

function amount(done: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return String(done);
  return `${Math.floor((100 * done) / total)} % (${done} of ${total})`;
}

/** As many of the parts, joined by commas, as fit into so many columns: at least the beginning of the first. */
export function fitted(parts: readonly string[], columns: number): string {
  let count = parts.length;
  while (count > 1 && !fits(parts.slice(0, count), columns)) count--;
  return parts
    .slice(0, count)
    .join(", ")
    .slice(0, Math.max(0, columns - 1));
}

/** Whether all parts fit. The last column stays free: some terminals begin a new line there. */
export function fits(parts: readonly string[], columns: number): boolean {
  return parts.join(", ").length < columns;
}
