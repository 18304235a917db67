/** The tree of commands, without their dependencies. */
import authority from "./cli/authority.ts";
import { group } from "./cli/citty.ts";
import mem from "./cli/mem/group.ts";
import { run } from "./cli/run.ts";
import runtime from "./cli/runtime.ts";

const ROOT = group("svc", {
  summary: "an on-device memory for AI agents",
  details:
    "Stores texts in named collections on this machine and finds them again by meaning, by word, by id.\n" +
    "The first steps: svc login, then svc mem add, or svc mcp as the command of an agent's MCP server.",
  examples: [
    "svc login",
    'svc mem add notes "we deploy blue green on Tuesdays" --metadata \'{"scope":"ops"}\'',
    'svc mem search notes "how do we deploy" --top-k 3 --where scope=ops',
  ],
  commands: {
    mcp: [
      "serve the memory to an agent over stdin and stdout (MCP)",
      async () => (await import("./cli/mcp.ts")).default,
    ],
    serve: [
      "serve the memory to other processes and hosts over a socket",
      async () => (await import("./cli/serve.ts")).default,
    ],
    mem,
    login: [
      "log this machine in, once, and install the native runtime",
      async () => (await import("./cli/login.ts")).default,
    ],
    logout: ["remove this machine's login; the memory stays", async () => (await import("./cli/logout.ts")).default],
    runtime,
    authority,
    version: ["show the version", async () => (await import("./cli/version.ts")).default],
  },
});

/** Runs a command line to its end. Never throws. @returns the exit code */
export const start = (words: string[]): Promise<number> => run(ROOT, words);
