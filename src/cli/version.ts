/** `svc version`: what this executable is. Reads nothing under SVC_HOME. */
import { buildInfo } from "../build-info.ts";
import { command } from "./command.ts";
import { print, printJson } from "./output.ts";

export default command({
  details: "Prints the version of svc, the release of the native runtime that it brings, and the platform.",
  examples: ["svc version", "svc version --json", "svc version --notices"],
  args: {
    json: { type: "boolean", description: "print one JSON object" },
    notices: { type: "boolean", description: "print the licences of the data that svc contains" },
  },
  async run({ args }) {
    if (args.notices) {
      print((await import("./notices.txt")).default.trimEnd());
      return;
    }
    const { version, release, platform, abi } = buildInfo();
    if (args.json) printJson({ version, release, platform, abi, bun: Bun.version });
    else showVersion();
  },
});

/** Prints the version for people. @returns the exit code */
export function showVersion(): number {
  const { version, release, platform } = buildInfo();
  print(`svc ${version} (runtime release ${release}, ${platform})`);
  return 0;
}
