/** The executable's entry. */
import "./cli/terminal/environment.ts";

const words = process.argv.slice(2);
if (process.platform === "darwin") (await import("../ffi/system/calls.ts")).silenceCrashReports();
const isVersion = words.length === 1 && ["--version", "-v", "version"].includes(words[0]!);
const code = isVersion
  ? await (await import("./cli/terminal/version-line.ts")).showVersion()
  : await (await import("./commands.ts")).start(words);
// Every writer has flushed by now; an open stdin, for one, must not keep the process alive.
process.exit(code);
