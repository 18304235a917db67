/** The tree of commands, without their dependencies. */
import authority from "./cli/authority/group.ts";
import mcp from "./cli/mcp/group.ts";
import mem from "./cli/mem/group.ts";
import runtime from "./cli/runtime/group.ts";
import serve from "./cli/serve/group.ts";
import { group } from "./cli/terminal/citty.ts";
import { run } from "./cli/terminal/run.ts";

/** All of them. */
export const ROOT = group("svc", {
  summary: "an on-device memory for AI agents",
  details:
    "Stores texts in named collections on this machine and finds them again by meaning, by word or by id.\n\n" +
    "You can write flags before or after their command. Every command that prints a result takes --json. With it, a " +
    'failure is one line on stderr: {"error": {"type", "code", "message"}}.',
  examples: [
    "svc login",
    'svc mem add notes "we deploy blue green on Tuesdays" --metadata \'{"scope":"ops"}\'',
    'svc mem search notes "how do we deploy" --top-k 3 --where scope=ops',
  ],
  firstSteps: [
    ["svc login", "log this machine in, once"],
    ['svc mem add notes "we deploy on Tuesdays"', "remember something"],
    ['svc mem search notes "when do we deploy"', "find it again"],
    ["svc mcp install", "connect the agents on this machine"],
  ],
  commands: {
    mcp,
    serve,
    join: [
      "use a memory that 'svc serve' has, with an invitation",
      async () => (await import("./cli/join/join.ts")).default,
    ],
    mem,
    ui: ["see, search and correct the memory in a browser", async () => (await import("./cli/ui/ui.ts")).default],
    login: [
      "log this machine in, once, and install the native runtime",
      async () => (await import("./cli/login/login.ts")).default,
    ],
    logout: [
      "remove this machine's login; the memory stays",
      async () => (await import("./cli/login/logout.ts")).default,
    ],
    doctor: [
      "find what is wrong, and name the command that fixes it",
      async () => (await import("./cli/doctor/doctor.ts")).default,
    ],
    upgrade: ["replace this svc by the newest release", async () => (await import("./cli/upgrade/upgrade.ts")).default],
    runtime,
    authority,
    completions: [
      "print the script that completes svc in a shell",
      async () => (await import("./cli/terminal/completions.ts")).default,
    ],
    help: ["show the page of a command", async () => (await import("./cli/terminal/help-command.ts")).default],
    version: ["show the version", async () => (await import("./cli/terminal/version.ts")).default],
  },
});

/** Runs a command line to its end. Never throws. @returns the exit code */
export const start = (words: string[]): Promise<number> => run(ROOT, words);
