/** Rows of texts in columns, for people. What a terminal would obey is escaped in each cell. */
import { oneLine } from "./output.ts";
import { clipped, terminalColumns } from "./width.ts";

/** Columns of space between two. */
export const GAP = 2;
/** A column is not cut to less, as nothing could be read of it. */
const COLUMN_MIN = 6;

/** How a table is made to fit. */
export interface TableOptions {
  /** Columns that a line may have (those of the terminal); undefined: any, as where stdout is not a terminal. */
  readonly columns?: number | undefined;
  /** Columns of the table that are never cut, such as ids to copy. */
  readonly whole?: readonly number[];
}

/**
 * Lines of columns, as wide as their widest cell; the last is not filled. Where they do not fit, the widest are cut,
 * with an ellipsis in each cell that is.
 */
export function tableOf(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableOptions = {},
): string {
  const { columns = terminalColumns(), whole = [] } = options;
  const lines = [header, ...rows].map((row) => row.map((cell) => oneLine(cell)));
  const widths = header.map((_, column) => Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))));
  if (columns !== undefined) narrow(widths, columns - GAP * (header.length - 1), whole);
  return lines
    .map((line) =>
      line
        .map((cell, column) => filled(clipped(cell, widths[column] ?? 0), widths[column] ?? 0))
        .join(" ".repeat(GAP))
        .trimEnd(),
    )
    .join("\n");
}

/** Takes from the widest of the columns that may be cut, until all fit or none can be cut further. */
function narrow(widths: number[], room: number, whole: readonly number[]): void {
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  for (; over > 0; over--) {
    let widest = -1;
    for (const [column, width] of widths.entries()) {
      if (width > Math.max(COLUMN_MIN, widths[widest] ?? 0) && !whole.includes(column)) widest = column;
    }
    if (widest < 0) return;
    widths[widest]! -= 1;
  }
}

function filled(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
}
