/** Numbers and sizes as pages show them. */
import { expect, test } from "bun:test";
import { counted, sized } from "../../src/ui/pages/amounts.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1000, "1 KB"],
  [86_200, "87 KB"],
  [999_000, "999 KB"],
  [999_001, "1.0 MB"],
  [16_500_000, "16.5 MB"],
  [3_400_000_000, "3.4 GB"],
])("%d bytes are %s", (bytes, text) => {
  expect(sized(bytes)).toBe(text);
});

test("one is counted in the singular", () => {
  expect([counted(1, "row"), counted(12_345, "row")]).toEqual(["1 row", "12,345 rows"]);
});
