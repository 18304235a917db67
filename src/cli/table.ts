/** Rows of texts in columns, for people. What a terminal would obey is escaped in each cell. */
import { oneLine } from "./output.ts";

/** Lines of columns, as wide as their widest cell; the last is not filled. */
export function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows].map((row) => row.map((cell) => oneLine(cell)));
  const widths = header.map((_, column) => Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))));
  return lines
    .map((line) =>
      line
        .map((cell, column) => filled(cell, widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function filled(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
}
