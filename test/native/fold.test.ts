/**
 * The tables by which letters fold follow from Unicode: stored tokens and vectors depend on each entry.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { foldHeaders, UNICODE } from "./fold-tables.ts";

/** Rows of braces in a header, each entry as the character that it names. */
function lettersOf(header: string, table: string): string[][] {
  const body = header.slice(header.indexOf(`${table}[`));
  const rows = body.slice(body.indexOf("{") + 1, body.indexOf("};")).matchAll(/\{([^{}]+)\}/g);
  return [...rows].map(([, row]) =>
    row!.split(",").map((entry) => {
      const [, letter, code] = /^\s*(?:'(.)'|(0x[0-9a-f]+))\s*$/.exec(entry)!;
      return letter ?? String.fromCodePoint(Number(code));
    }),
  );
}

test("letters with tones are those that Unicode composes of the same marks", () => {
  const rows = lettersOf(
    readFileSync(join(import.meta.dir, "../../ffi/ame_kernel/text/tones.h"), "utf8"),
    "tone_letters",
  );
  const tones = ["", "\u0300", "\u0301", "\u0309", "\u0303", "\u0323"];
  expect(rows.map(([plain]) => plain).join("")).toBe("aăâeêioôơuưy");
  for (const row of rows) expect(row).toEqual(tones.map((tone) => `${row[0]}${tone}`.normalize("NFC")));
});

const known = process.versions.unicode === UNICODE;
const why = known
  ? ""
  : ` (left out: this runtime has Unicode ${process.versions.unicode}, the script is for ${UNICODE})`;

test.skipIf(!known)(`fold_table.h and fold_forms.h follow from Unicode 14${why}`, () => {
  for (const [file, text] of Object.entries(foldHeaders())) {
    // Not toEqual: its report of a difference would be all of the table.
    expect(text === readFileSync(join(import.meta.dir, "../../ffi/ame_kernel/text", file), "utf8")).toBe(true);
  }
});
