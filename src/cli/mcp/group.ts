/** `svc mcp`, and what configures the clients that start it. */
import { withMembers } from "../terminal/citty.ts";

export default withMembers(
  "svc mcp",
  ["serve the memory to an agent over stdin and stdout (MCP)", async () => (await import("./mcp.ts")).default],
  {
    install: ["add svc to the configuration of MCP clients", async () => (await import("./install.ts")).default],
    uninstall: [
      "remove svc from the configuration of MCP clients",
      async () => (await import("./uninstall.ts")).default,
    ],
    status: ["show which clients start svc, and whether it answers", async () => (await import("./status.ts")).default],
    hook: ["answer a hook of an MCP client", async () => (await import("./hooks/hook.ts")).default],
  },
);
