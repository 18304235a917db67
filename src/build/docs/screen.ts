/** A terminal without a window: programs run on a pseudo-terminal, and what they show is read cell by cell. */
import { Terminal } from "@xterm/headless";

/** A piece of a line in one style. */
export interface Run {
  /** The column that it begins at, from 0. */
  readonly column: number;
  /** Columns that it takes. */
  readonly width: number;
  readonly text: string;
  /** Words of CSS classes: `b` bold, `d` dim, `c1` to `c15` a colour of the palette. */
  readonly style: string;
}

/** Lines from the top, without empty ones at the end. */
export type Picture = readonly (readonly Run[])[];

export class Screen {
  readonly #terminal: Terminal;

  constructor(
    readonly columns: number,
    readonly rows: number,
  ) {
    this.#terminal = new Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 0 });
  }

  /** Shows text as a program's output. */
  write(text: string): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(text, resolve));
  }

  /**
   * Runs a program to its end.
   * @param seen called after each piece of its output, which `shown` may change before it is shown
   */
  async run(
    command: readonly string[],
    { env, cwd }: { env: Record<string, string>; cwd: string },
    { shown, seen }: { shown: (text: string) => string; seen: () => void },
  ): Promise<number> {
    const decoder = new TextDecoder();
    let last: Promise<void> = Promise.resolve();
    const child = Bun.spawn([...command], {
      env,
      cwd,
      terminal: {
        cols: this.columns,
        rows: this.rows,
        data: (_, bytes) => {
          const text = shown(decoder.decode(bytes, { stream: true }));
          last = last.then(() => this.write(text)).then(seen);
        },
      },
    });
    const code = await child.exited;
    child.terminal!.close();
    // What was written right before the exit is handed over in the next turns of the event loop.
    await Bun.sleep(20);
    await last;
    return code;
  }

  picture(): Picture {
    const lines: Run[][] = [];
    for (let y = 0; y < this.rows; y++) lines.push(this.#line(y));
    while (lines.at(-1)?.length === 0) lines.pop();
    return lines;
  }

  #line(y: number): Run[] {
    const line = this.#terminal.buffer.active.getLine(y)!;
    const runs: { column: number; width: number; text: string; style: string }[] = [];
    for (let x = 0; x < this.columns; x++) {
      const cell = line.getCell(x)!;
      const width = cell.getWidth();
      if (width === 0) continue;
      const style = styleOf(cell);
      const last = runs.at(-1);
      const text = cell.getChars() || " ";
      if (last && last.style === style && last.column + last.width === x) {
        last.text += text;
        last.width += width;
      } else runs.push({ column: x, width, text, style });
    }
    return runs.flatMap(withoutGaps);
  }
}

/** Spaces around words are their places: a picture would draw several as one. */
function withoutGaps(run: Run): Run[] {
  // A wide character takes two columns; beside one, the run stays whole.
  if (run.width !== run.text.length) return run.text.trim() === "" ? [] : [run];
  return [...run.text.matchAll(/\S+(?: \S+)*/g)].map(({ 0: text, index }) => {
    return { ...run, column: run.column + index, width: text.length, text };
  });
}

function styleOf(cell: { isBold(): number; isDim(): number; isFgPalette(): boolean; getFgColor(): number }): string {
  const words = [cell.isBold() ? "b" : "", cell.isDim() ? "d" : ""];
  if (cell.isFgPalette()) words.push(`c${cell.getFgColor()}`);
  return words.filter(Boolean).join(" ");
}
