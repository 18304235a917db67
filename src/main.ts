/** The executable's entry: which commands there are, and nothing that any of them needs. */
import type { Group } from "./cli/command.ts";
import { run } from "./cli/run.ts";

const ROOT: Group = {
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
    mcp: {
      summary: "serve the memory to an agent over stdin and stdout (MCP)",
      load: async () => (await import("./cli/mcp.ts")).default,
    },
    serve: {
      summary: "serve the memory to other processes and hosts over a socket",
      load: async () => (await import("./cli/serve.ts")).default,
    },
    mem: { summary: "the memory from the terminal", load: async () => (await import("./cli/mem.ts")).default },
    login: {
      summary: "log this machine in, once, and install the native runtime",
      load: async () => (await import("./cli/login.ts")).default,
    },
    logout: {
      summary: "remove this machine's login; the memory stays",
      load: async () => (await import("./cli/logout.ts")).default,
    },
    runtime: {
      summary: "install and check the signed native runtime",
      load: async () => (await import("./cli/runtime.ts")).default,
    },
    authority: {
      summary: "the control plane as a server, for an organisation",
      load: async () => (await import("./cli/authority.ts")).default,
    },
    version: { summary: "show the version", load: async () => (await import("./cli/version.ts")).default },
  },
};

if (process.platform === "darwin") (await import("../ffi/system/calls.ts")).silenceCrashReports();
// Every writer has flushed by now; what still holds the event loop, such as a stdin nobody closed, must not hold the process.
process.exit(await run(ROOT, process.argv.slice(2)));
