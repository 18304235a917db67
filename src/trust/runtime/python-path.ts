/**
 * How Python finds the client of a verified install, and where it keeps that client's bytecode.
 *
 * Python runs bytecode from a folder `__pycache__` beside the source, where the time and size in it are the source's or
 * where it says that it is not to be compared: no file that was verified has to change for other code to run. `-B` and
 * PYTHONDONTWRITEBYTECODE stop writing only, `--check-hash-based-pycs` looks at one kind of bytecode only.
 * PYTHONPYCACHEPREFIX (Python 3.8) names another folder for both, reading and writing, of all modules: the first start
 * of a Python with it compiles its own library once more (0.2 s). Where it is not set, the signed bundle has an empty
 * file in the place of each `__pycache__`, with which Python goes without.
 */
import { chmodSync, lstatSync } from "node:fs";
import { isAbsolute } from "node:path";
import { diskError, makeDirectory } from "../../durable.ts";
import { PermissionError, ValueError } from "../../errors.ts";
import { bytecodePath, type Env } from "../../paths.ts";
import { permissionFaults, requireClosed } from "../account/permissions.ts";

/** The name of Python's folder of bytecode beside sources; the bundle has empty files that are called so. */
export const PYCACHE = "__pycache__";

/**
 * The folder for bytecode: the user's own, else one below SVC_HOME, which is made where that is possible. In one that
 * is not there Python finds nothing either.
 *
 * @throws PermissionError where other users can write to it; ValueError where the user's is not an absolute path,,
 *   and so another folder in every working directory
 */
export function bytecodeFolder(home: string, env: Env): string {
  const own = bytecodePath(home);
  const given = env.PYTHONPYCACHEPREFIX;
  if (given && given !== own) {
    if (!isAbsolute(given))
      throw new ValueError("PYTHONPYCACHEPREFIX is not an absolute path: set it to one, or unset it");
    if (permissionFaults(given, []).length > 0) {
      throw new PermissionError(
        "others can write to the folder in PYTHONPYCACHEPREFIX, or to one above it: close it to them, or unset the variable",
      );
    }
    return given;
  }
  requireClosed(home, [own]);
  try {
    makeDirectory(own);
    // Python makes folders in it as its umask says, perhaps open to all: no other user may come that far.
    if (lstatSync(own).mode & 0o077) chmodSync(own, 0o700);
  } catch (error) {
    if (lstatSync(own, { throwIfNoEntry: false })) throw diskError(error, "close", own);
  }
  return own;
}

/**
 * Refuses a folder that cannot be on PYTHONPATH, where a colon ends a path, or in a line that a shell evaluates.
 * @throws ValueError
 */
export function checkPythonPath(pysite: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern looks for them
  if (!/[:\x00-\x1f\x7f]/.test(pysite)) return;
  throw new ValueError(
    "SVC_HOME has a colon or a control character in its path, which PYTHONPATH cannot hold: move it",
  );
}
