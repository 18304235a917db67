/** `svc runtime env`: what a shell evaluates to have the Python client on its Python path. */
import { lstatSync } from "node:fs";
import { errorMessage } from "../../errors.ts";
import { type Env, runtimePaths, svcHome } from "../../paths.ts";
import { shellWord } from "../../shell-word.ts";
import { checkStoredLicense } from "../../trust/account/license/license-check.ts";
import { bytecodeFolder, checkPythonPath } from "../../trust/runtime/python-path.ts";
import { requirePlatform } from "../../trust/runtime/signed.ts";
import { verifyInstalled } from "../../trust/runtime/verify.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";

export default command({
  details:
    "Sets PYTHONPATH. It also sets PYTHONPYCACHEPREFIX, unless it is set already: Python then reads bytecode only\n" +
    "from a folder that only you can write, never from next to the verified files.\n\n" +
    "If there is no verified install, or it has no Python client, it prints nothing and exits with 0.",
  examples: ['eval "$(svc runtime env)"', "svc runtime env --json"],
  args: { json: JSON_FLAG },
  async run({ args, env }) {
    const home = svcHome(env);
    const { pysite } = runtimePaths(home, requirePlatform());
    // Looked at first: without it there is nothing to say, verified or not.
    const present = lstatSync(pysite, { throwIfNoEntry: false })?.isDirectory() ?? false;
    const found = present ? await verifiedPath(home, env, pysite) : null;
    if (args.json) {
      const { bytecode = null, problem } = found ?? {};
      return printJson({ pysite: found && !problem ? pysite : null, pycache_prefix: bytecode });
    }
    if (found?.problem) note(`${oneLine(found.problem)}; nothing is put on the Python path`);
    else if (found) print(exportLine(pysite, env.PYTHONPYCACHEPREFIX ? undefined : found.bytecode));
  },
});

/** The folder for bytecode of a Python that imports from a verified `pysite`, or why it may not. */
async function verifiedPath(home: string, env: Env, pysite: string): Promise<{ bytecode?: string; problem?: string }> {
  const report = await verifyInstalled({ home, env, checkLicense: () => checkStoredLicense(home, env) });
  if (!report.ok) return { problem: "the runtime is not verified, see 'svc runtime verify'" };
  try {
    checkPythonPath(pysite);
    return { bytecode: bytecodeFolder(home, env) };
  } catch (error) {
    return { problem: errorMessage(error) };
  }
}

/**
 * Prepends the folder to PYTHONPATH, in any POSIX shell, and sets the folder for bytecode where one is given. Without
 * PYTHONPATH no empty entry, which would mean the current folder.
 */
export function exportLine(pysite: string, bytecode?: string): string {
  const prefix = bytecode === undefined ? "" : ` PYTHONPYCACHEPREFIX=${shellWord(bytecode)}`;
  return `export PYTHONPATH=${shellWord(pysite)}"\${PYTHONPATH:+:$PYTHONPATH}"${prefix}`;
}
