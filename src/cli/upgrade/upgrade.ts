/** `svc upgrade`: a newer release in the place of this executable. */
import { buildInfo } from "../../build-info.ts";
import { listed } from "../../checks/kinds.ts";
import { errorMessage } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { fetchRelease, releaseHost } from "../../trust/release/host.ts";
import { releaseAnchors } from "../../trust/runtime/anchor.ts";
import { VERSION } from "../../trust/runtime/bundle-manifest.ts";
import { ownExecutable, ownExecutableOrNone } from "../mcp/entry.ts";
import { command, EXIT, JSON_FLAG, string, UsageError } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { install, type Outcome, rollBack } from "./install.ts";
import { requireOwnFile } from "./owner.ts";

export default command({
  details:
    "Downloads the newest release, or the one that --version names, and puts it in the place of this executable. First it\n" +
    "verifies the release's signature, checks size and SHA-256 of what it downloaded, and has the new file sign in, install its\n" +
    "runtime and verify it in an empty folder. After a failure of these steps this executable stays. Running processes go on\n" +
    "with the old file until they are started again. At last the new svc replaces the native runtime of this machine's login.\n" +
    "If that fails, the new svc stays, and the message has the command that installs the runtime.\n\n" +
    "The old file is kept beside the new one: --rollback puts it back. A release can name the lowest version that may be\n" +
    "installed after it; neither --version nor --rollback goes below it.\n\n" +
    "Releases come from the project's page. SVC_BASE_URL names a mirror, with the same folders. A svc that a package manager has\n" +
    "installed is upgraded by that one. svc never looks for a newer release by itself.",
  examples: ["svc upgrade", "svc upgrade --check", "svc upgrade --version 1.2.3", "svc upgrade --rollback"],
  args: {
    version: string("VERSION", "the version to install (the newest one)"),
    check: { type: "boolean", description: "say what the newest release is, and install nothing" },
    rollback: { type: "boolean", description: "go back to the file that the last upgrade replaced" },
    json: JSON_FLAG,
  },
  async run({ args, env, signal }) {
    const version = versionIn(args);
    if (args.check) {
      await check(env, signal, args.json ?? false);
      return EXIT.done;
    }
    const options = { executable: ownExecutable(), env, signal };
    const outcome = args.rollback ? await rollBack(options) : await install({ ...options, version });
    if (args.json) printJson(outcome);
    else show(outcome, version !== undefined);
    return outcome.runtime?.ok === false ? EXIT.failed : EXIT.done;
  },
});

/** @throws UsageError for flags that do not go together, and for what is not a version */
function versionIn(args: { version?: string; check?: boolean; rollback?: boolean }): string | undefined {
  const given = (["version", "check", "rollback"] as const).filter((name) => args[name]);
  if (given.length > 1) throw new UsageError(`--${given[0]} and --${given[1]} do not go together`);
  const version = args.version?.replace(/^v/, "");
  if (version !== undefined && !VERSION.test(version))
    throw new UsageError(`--version must be a version such as 1.2.3, got '${oneLine(args.version ?? "")}'`);
  return version;
}

/** Prints what the newest release is. Nothing is recorded: the answer is for a person. */
async function check(env: Env, signal: AbortSignal, isJson: boolean): Promise<void> {
  svcHome(env);
  const base = releaseHost(env);
  const { manifest } = await fetchRelease(base, undefined, releaseAnchors(env), { signal });
  const { version, release, created, floor } = manifest;
  const own = buildInfo();
  const order = Bun.semver.order(version, own.version);
  if (isJson) {
    const newest = { version, release, created, floor, platforms: Object.keys(manifest.platforms) };
    return printJson({ version: own.version, release: own.release, newest, newer: order > 0, source: base });
  }
  if (order > 0)
    print(fit(`svc ${version} is the newest release, and this is ${own.version}: ${remedyFor(ownExecutableOrNone())}`));
  else if (order === 0) print(fit(`svc ${version} is the newest release, and this is it`));
  else print(fit(`svc ${version} is the newest release, and this is a later one, ${own.version}`));
}

/** What installs a newer release: the command of the package manager that owns the executable, where 'svc upgrade' refuses. */
export function remedyFor(executable: string | undefined): string {
  try {
    if (executable !== undefined) requireOwnFile(executable);
    return "'svc upgrade' installs it";
  } catch (error) {
    return errorMessage(error);
  }
}

/** Prints what an upgrade came to. */
function show({ from, to, changed, runtime, running, clients }: Outcome, isNamed: boolean): void {
  if (!changed) {
    print(
      fit(isNamed ? `this is svc ${to.version} already` : `svc ${to.version} is the newest release, and this is it`),
    );
    return;
  }
  print(fit(`installed svc ${to.version} in the place of ${from.version}; 'svc upgrade --rollback' goes back`));
  if (runtime?.ok) print(fit(`installed its native runtime (release ${runtime.release})`));
  if (runtime?.ok === false) note(`its native runtime is not installed yet: ${oneLine(runtime.problem)}`);
  if (running.length === 0) return;
  const processes = running.map(({ pid, command }) => `${command} (${pid})`);
  note(`still the old file until they are started again: ${listed(processes, "and")}`);
  if (clients.length > 0) note(`${listed(clients, "and")} start svc: they take the new one at their next start`);
  const server = running.find(({ command }) => command === "svc serve");
  if (server) note(`'kill -USR2 ${server.pid}' restarts svc serve without an error for its clients`);
}
