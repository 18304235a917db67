/** What a person types when several clients are found. */
import { expect, test } from "bun:test";
import { numbered } from "../../../src/cli/mcp/consent.ts";
import { CLIENTS } from "../../../src/clients/clients.ts";

const three = CLIENTS.slice(0, 3);
const ids = (line: string) => {
  const chosen = numbered(three, line);
  return typeof chosen === "string" ? chosen : chosen.map(({ id }) => id);
};

test("numbers, ids, all and none", () => {
  const all = three.map(({ id }) => id);
  for (const line of ["", "  ", "all", "Y", "yes", "1 2 3", "3,2,1", "1 1 2 3"])
    expect([line, ids(line)]).toEqual([line, all]);
  for (const line of ["n", "No", "none", "q"]) expect([line, ids(line)]).toEqual([line, []]);
  expect(ids("1 3")).toEqual(["claude-code", "cursor"]);
  expect(ids(" 3, 1 ")).toEqual(["claude-code", "cursor"]);
  expect(ids("cursor")).toEqual(["cursor"]);
  expect(ids("Cursor 1")).toEqual(["claude-code", "cursor"]);
});

test("anything else is a sentence, and chooses nothing", () => {
  for (const word of ["0", "4", "-1", "1.5", "x", "1-3", "99999999999999999999", "n1"])
    expect(ids(`1 ${word}`)).toBe(`'${word}' is not one of the numbers from 1 to 3`);
  expect(ids("no yes")).toContain("'no' is not one of the numbers");
});
