/** `svc version`: what this executable is. Reads nothing under SVC_HOME. */
import { buildInfo, embeddedNotices } from "../../build-info.ts";
import { command, JSON_FLAG } from "./command.ts";
import { print, printJson } from "./output.ts";
import { versionLine } from "./version-line.ts";

export default command({
  details:
    "Prints the version of svc, the release of its native runtime, the platform, the commit it was built from\n" +
    "(-dirty: with uncommitted changes) and the id of the key that signed the runtime.",
  examples: ["svc version", "svc version --json", "svc version --notices"],
  args: {
    json: JSON_FLAG,
    notices: { type: "boolean", description: "print the licences of everything that svc contains" },
  },
  worksWithoutHome: true,
  async run({ args }) {
    if (args.notices) {
      await (await import("./pager.ts")).printPaged((await embeddedNotices()).trimEnd());
      return;
    }
    const { version, release, platform, commit, releaseKeyId, abi } = buildInfo();
    if (args.json) printJson({ version, release, platform, commit, release_key: releaseKeyId, abi, bun: Bun.version });
    else print(versionLine());
  },
});
