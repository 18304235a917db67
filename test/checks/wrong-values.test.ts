/**
 * The table of wrong values, sent through every transport that can carry them: one type, one sentence, and nothing is
 * written.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DOORS, type Door, missing } from "./doors.ts";
import { ARGUMENTS, excluded, expected, type Kind, TRANSPORTS, WRONG_VALUES } from "./wrong-values.ts";

const TIMEOUT_MS = 120_000;

describe.each(DOORS)("%s (%s)", (transport, _, open) => {
  const lack = missing(transport);
  let door: Door;
  beforeAll(async () => {
    if (!lack) door = await open();
  }, TIMEOUT_MS);
  afterAll(() => door?.close());

  for (const kind of Object.keys(ARGUMENTS) as Kind[]) {
    const rows = WRONG_VALUES.filter((row) => row.kind === kind && excluded(transport, row) === undefined);
    if (rows.length === 0) continue;
    test.skipIf(lack !== undefined)(
      `${rows.length} wrong values of ${kind}${lack ? `: ${lack}` : ""}`,
      async () => {
        const before = await door.look();
        const said: string[] = [];
        for (const row of rows) said.push(await door.send(row));
        expect(said).toEqual(rows.map((row) => expected(transport, row)));
        expect(await door.look()).toEqual(before);
      },
      TIMEOUT_MS,
    );
  }
});

test("every row goes through at least one transport, and every kind has rows for each that takes it", () => {
  for (const row of WRONG_VALUES) {
    expect(TRANSPORTS.filter((transport) => excluded(transport, row) === undefined)).not.toBeEmpty();
  }
  for (const [kind, names] of Object.entries(ARGUMENTS)) {
    for (const transport of TRANSPORTS) {
      const rows = WRONG_VALUES.filter((row) => row.kind === kind && excluded(transport, row) === undefined);
      expect([kind, transport, rows.length > 0]).toEqual([kind, transport, names[transport as never] !== undefined]);
    }
  }
});
