/**
 * `server.json`: the entry of svc in the registry of MCP servers, by its schema of 2025-12-11. It names the npm package, and
 * the registry compares the name with `mcpName` in that.
 *
 * The schema has no field for the platform of a package, and clients such as VS Code take the first one of a kind. So the
 * bundles, one for each platform, are not in it: a Mac could get that for Linux. npm chooses the right file.
 */
import { NPM_PACKAGE, PROJECT_URL, REGISTRY_NAME } from "../../published.ts";
import { SERVER_ARGS } from "./mcpb.ts";

export const SERVER_JSON = "server.json";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/** The entry of a version. */
export function serverJson(version: string): string {
  const entry = {
    $schema: SCHEMA,
    name: REGISTRY_NAME,
    title: "svc",
    // At most 100 characters.
    description: "On-device memory for AI agents: texts found by meaning and by word, and search in your repository.",
    repository: { url: PROJECT_URL, source: "github" },
    version,
    packages: [
      {
        registryType: "npm",
        identifier: NPM_PACKAGE,
        version,
        runtimeHint: "npx",
        // Flags too: a client may ask for the value of a named one.
        packageArguments: SERVER_ARGS.map((value) => ({ type: "positional", value })),
        transport: { type: "stdio" },
      },
    ],
  };
  return `${JSON.stringify(entry, null, 2)}\n`;
}
