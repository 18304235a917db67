/** The MCP clients of this folder's `package.json`. */
import { TestPackages } from "../../packages.ts";

/** Installed by `npm run test:clients`. */
export const clients = new TestPackages(import.meta.dir, "mcp-clients", "the clients (180 MB)");
