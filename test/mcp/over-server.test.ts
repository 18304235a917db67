/** The quickest of the files that `npm run test:remote` runs: what they test holds through a server, too. */
import { expect, test } from "bun:test";
import { runThroughServer } from "./through-server.ts";

test.each(["mcp/protocol", "mcp/project", "mcp/with-text", "e2e/bounded"])(
  "what %s.test.ts tests holds through a server",
  async (file) => {
    const { report, passed, isGood } = await runThroughServer(file);
    if (!isGood) throw new Error(report);
    expect(passed).toBeGreaterThan(3);
  },
  180_000,
);
