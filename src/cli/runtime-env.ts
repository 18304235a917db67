/** `svc runtime env`: what a shell evaluates to have the Python client on its Python path. */
import { lstatSync } from "node:fs";
import { checkStoredLicense } from "../account/license-check.ts";
import { runtimePaths, svcHome } from "../paths.ts";
import { requirePlatform } from "../runtime/signed.ts";
import { verifyInstalled } from "../runtime/verify.ts";
import { command } from "./command.ts";
import { note, print, printJson } from "./output.ts";

export default command({
  details: "Prints nothing, and exits with 0, where there is no verified install or it brings no Python client.",
  examples: ['eval "$(svc runtime env)"', "svc runtime env --json"],
  args: { json: { type: "boolean", description: "print one JSON object" } },
  async run({ args, env }) {
    const home = svcHome(env);
    const { pysite } = runtimePaths(home, requirePlatform());
    // Looked at first: without it there is nothing to say, verified or not.
    const present = lstatSync(pysite, { throwIfNoEntry: false })?.isDirectory() ?? false;
    const report = present
      ? await verifyInstalled({ home, env, checkLicense: () => checkStoredLicense(home, env) })
      : undefined;
    const active = report?.ok ? pysite : null;
    if (args.json) return printJson({ pysite: active });
    if (active !== null) print(exportLine(active));
    else if (report)
      note("the runtime is not verified, so nothing is put on the Python path: see 'svc runtime verify'");
  },
});

/** Prepends the folder, in any POSIX shell. Without PYTHONPATH no empty entry, which would mean the current folder. */
export function exportLine(pysite: string): string {
  const quoted = /^[\w@%+=:,./-]+$/.test(pysite) ? pysite : `'${pysite.replaceAll("'", "'\\''")}'`;
  return `export PYTHONPATH=${quoted}"\${PYTHONPATH:+:$PYTHONPATH}"`;
}
