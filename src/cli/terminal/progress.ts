/**
 * How far a long work is, on stderr: one line that is drawn over on a terminal, a line every few seconds elsewhere, and
 * nothing of a work that is short.
 */
import { isTerminal, note, oneLine, redraw } from "./output.ts";

/** Ten times a second is smooth; more would cost the work it reports on. */
const REDRAW_MS = 100;
/** Between two lines where none can be drawn over, and before the first. */
const LINE_MS = 5000;
/** A rate says little before. */
const RATED_AFTER_MS = 1000;
/** The rate is the mean of about so long: time left that jumps with every batch is not believed. */
const MEAN_MS = 8000;
/** Shorter spans are measured together. */
const SPAN_MS = 200;

/** Columns of a terminal that does not report its width. */
const COLUMNS = 80;
/** Columns of a bar, which is shown where there is room beside everything else. */
const BAR_MIN = 10;
const BAR_MAX = 30;

/** Columns of a label that still says something. */
const LABEL_MIN = 4;

/** How far a work is. */
export interface Work {
  readonly done: number;
  /** The total in the same unit; absent or 0 if it is not known. */
  readonly total?: number | undefined;
  /** `bytes`, which are shown as MB, or a noun in the plural; absent: only the share is shown. */
  readonly unit?: string | undefined;
  /** What is being done; absent: what the progress was started with. With another one a new work begins. */
  readonly label?: string | undefined;
  /** What else is to be said, as in "1,000 rows". */
  readonly also?: string | undefined;
}

export interface Progress {
  /** Takes how far the work is. Cheap to call often. */
  update(work: Work): void;
  /** Removes the line. Call it before printing anything else. */
  end(): void;
}

/** What a test replaces. */
export interface ProgressOutput {
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Width of the terminal; undefined where none can be drawn on. */
  readonly columns?: () => number | undefined;
  readonly draw?: (line: string) => void;
  readonly say?: (line: string) => void;
}

/** Whether stderr is a terminal on which a line may be drawn over. */
function canRedraw(): boolean {
  return isTerminal(2) && process.env.TERM !== "dumb" && !process.env.CI;
}

/** Starts to report on a work. */
export function startProgress(label: string, output: ProgressOutput = {}): Progress {
  const drawn = canRedraw();
  const { now = () => performance.now(), draw = redraw, say = note } = output;
  const { columns = () => (drawn ? process.stderr.columns || COLUMNS : undefined) } = output;
  const words = new ProgressWords(label);
  let last = Number.NEGATIVE_INFINITY;
  let isDrawn = false;
  let shown: string | undefined;
  let said = now();
  return {
    update(work) {
      const at = now();
      words.note(work, at);
      const width = columns();
      if (width !== undefined) {
        if (at - last < REDRAW_MS && work.label === shown) return;
        last = at;
        shown = work.label;
        isDrawn = true;
        draw(words.line(width, at));
      } else if (at - said >= LINE_MS) {
        said = at;
        say(words.line(Number.POSITIVE_INFINITY, at));
      }
    },
    end() {
      if (isDrawn) draw("");
      isDrawn = false;
      last = Number.NEGATIVE_INFINITY;
    },
  };
}

/** The words about one work. */
export class ProgressWords {
  private work: Work | undefined;
  private since = 0;
  private measuredAt = 0;
  private measured = 0;
  /** Exponential mean of the rate, in units a millisecond, and how much of it is measured: it begins with nothing. */
  private mean = 0;
  private weight = 0;

  constructor(private readonly label: string) {}

  /** Takes how far the work is. @param now milliseconds of a clock that never goes back */
  note(work: Work, now: number): void {
    const isAnother = this.work === undefined || this.work.label !== work.label || work.done < this.work.done;
    if (isAnother) this.begin(work, now);
    this.work = work;
    this.measure(work.done, now);
  }

  /** Another work, or one that goes on from where it was left: what is done already took none of this time. */
  private begin({ done }: Work, now: number): void {
    this.since = now;
    this.measuredAt = now;
    this.measured = done;
    this.mean = 0;
    this.weight = 0;
  }

  private measure(done: number, now: number): void {
    const span = now - this.measuredAt;
    if (span < SPAN_MS) return;
    const share = 1 - Math.exp(-span / MEAN_MS);
    this.mean += share * ((done - this.measured) / span - this.mean);
    this.weight += share * (1 - this.weight);
    this.measuredAt = now;
    this.measured = done;
  }

  /** The line, in less than so many columns: of what does not fit, the first that is left out says least. */
  line(columns: number, now: number): string {
    const { done, unit, also, ...work } = this.work ?? { done: 0 };
    const label = oneLine(work.label ?? this.label);
    const total = work.total || undefined;
    const share = total === undefined ? undefined : Math.min(1, Math.max(0, done / total));
    const rate = this.rate(now);
    const msLeft = rate === undefined || total === undefined || done >= total ? undefined : (total - done) / rate;
    const percent = share === undefined ? undefined : `${Math.floor(100 * share)} %`;
    const amount = amountOf(done, total, unit);
    const speed = rate === undefined || unit === undefined ? undefined : rateOf(rate, unit);
    const end = msLeft === undefined ? undefined : `${duration(msLeft)} left`;
    const room = columns - 1; // some terminals begin a new line in the last column
    const short = amount?.replace(" of ", "/");
    for (const parts of [
      [percent, also, amount, speed, end],
      [percent, amount, speed, end],
      [percent, short, speed, end],
      [percent, short, end],
      [percent, end],
    ]) {
      const said = joined(parts);
      const line = said === "" ? label : `${label}: ${said}`;
      if (Bun.stringWidth(line) <= room) return share === undefined ? line : withBar(label, said, share, room);
    }
    const said = joined([percent, end]);
    const left = room - Bun.stringWidth(said) - 3;
    return left < LABEL_MIN ? fitted(said || label, room) : `${fitted(label, left)}…: ${said}`;
  }

  /** Units a millisecond, above 0; undefined where it is not known yet. */
  private rate(now: number): number | undefined {
    if (now - this.since < RATED_AFTER_MS || this.weight === 0) return undefined;
    const rate = this.mean / this.weight;
    return rate > 0 && Number.isFinite(rate) ? rate : undefined;
  }
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(", ");
}

/** On a terminal that is wide enough. */
function withBar(label: string, said: string, share: number, room: number): string {
  const line = `${label}: ${said}`;
  const width = Math.min(BAR_MAX, room - Bun.stringWidth(line) - 3);
  if (width < BAR_MIN || !Number.isFinite(room)) return line;
  const filled = Math.floor(width * share);
  return `${label}: [${"=".repeat(filled)}${" ".repeat(width - filled)}] ${said}`;
}

/** As much of a line as fits into so many columns. */
function fitted(line: string, room: number): string {
  let text = line;
  while (Bun.stringWidth(text) > room && text !== "") text = text.slice(0, -1);
  return text.toWellFormed();
}

function amountOf(done: number, total: number | undefined, unit: string | undefined): string | undefined {
  if (unit === "bytes") return total ? `${megabytes(done)} of ${megabytes(total)} MB` : `${megabytes(done)} MB`;
  if (unit === undefined) return total || done === 0 ? undefined : grouped(done);
  return total ? `${grouped(done)} of ${grouped(total)} ${unit}` : `${grouped(done)} ${unit}`;
}

function rateOf(rate: number, unit: string): string {
  return unit === "bytes" ? `${megabytes(1e3 * rate)} MB/s` : `${grouped(Math.round(1e3 * rate))} ${unit}/s`;
}

/** In MB, with one digit after the point. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** A number with commas between thousands. */
export function grouped(count: number): string {
  return String(Math.floor(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** In words, of the largest unit that is there: about right is enough for a person who waits. @param ms at least 0 */
export function duration(ms: number): string {
  const count = ms / 1e3;
  if (count < 90) return `${Math.max(1, Math.round(count))} s`;
  if (count < 90 * 60) return `${Math.round(count / 60)} min`;
  return count < 48 * 3600 ? `${Math.round(count / 3600)} h` : "days";
}
