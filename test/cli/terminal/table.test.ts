/** Tables fit the columns that there are. */
import { expect, test } from "bun:test";
import { tableOf } from "../../../src/cli/terminal/table.ts";

const HEADER = ["ID", "NAME", "STATE"];
const ROWS = [
  ["0c7e46ad8b1f4f6f9d0d6c3c0b6a9e11", "laptop of Ada Lovelace, who wrote the first program", "allowed"],
  ["1", "名前名前名前名前名前名前名前名前名前名前名前名前", "revoked since long ago, for a reason"],
];

test("all cells where there is room, or no terminal", () => {
  for (const columns of [undefined, 200]) {
    const table = tableOf(HEADER, ROWS, { columns });
    expect(table).not.toContain("…");
    for (const cell of ROWS.flat()) expect(table).toContain(cell);
  }
});

test.each([60, 80, 100])("in %p columns the widest cells are cut", (columns) => {
  const table = tableOf(HEADER, ROWS, { columns, whole: [0] });
  for (const line of table.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
  expect(table).toContain(ROWS[0]![0]!);
  expect(table).toContain("…");
});

test("a column is not cut to nothing, and columns to copy are not cut at all", () => {
  const table = tableOf(HEADER, ROWS, { columns: 20, whole: [0] });
  expect(table).toContain(ROWS[0]![0]!);
  expect(table).toContain("lapto…");
});

test("a line break or an escape in a cell takes no line of its own", () => {
  expect(tableOf(["A", "B"], [["a\nb", "\x1b[1A"]], { columns: 80 })).toBe("A    B\na b  \\x1b[1A");
});
