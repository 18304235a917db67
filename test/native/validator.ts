/** The sources of the validator of an open collection, and the library that tests of the store call it in. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { buildProgram } from "../../src/build/program.ts";
import { platformTag } from "../../src/paths.ts";

const ROOT = join(import.meta.dir, "../..");
const FOLDER = "test/native/validate";

/** What native programs are built with. */
export const OPTIONS = { root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! };

/** Relative to the checkout. */
export const VALIDATOR = readdirSync(join(ROOT, FOLDER))
  .filter((name) => name.endsWith(".c"))
  .map((name) => join(FOLDER, name));

/** `ty_validate` for collections that another library opened: it reads what both know the layout of. */
export function buildValidator(tag = OPTIONS.tag): Promise<string> {
  const [first, ...more] = VALIDATOR;
  return buildProgram({ ...OPTIONS, tag }, first!, more, "library");
}
