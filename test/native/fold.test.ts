/**
 * The tables by which letters fold are what their script makes: tokens and vectors that are stored depend on each
 * entry.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { foldHeaders, UNICODE } from "../../src/build/fold.ts";

const known = process.versions.unicode === UNICODE;
const why = known
  ? ""
  : ` (left out: this runtime has Unicode ${process.versions.unicode}, the script is for ${UNICODE})`;

test.skipIf(!known)(`fold_table.h and fold_forms.h are what src/build/fold.ts makes${why}`, () => {
  for (const [file, text] of Object.entries(foldHeaders())) {
    // Not toEqual: its report of a difference would be all of the table.
    expect(text === readFileSync(join(import.meta.dir, "../../ffi/ame_kernel/text", file), "utf8")).toBe(true);
  }
});
