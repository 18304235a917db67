/**
 * `server.json`: the entry of svc in the registry of MCP servers, by its schema of 2025-12-11. It names the npm package, whose
 * `mcpName` the registry compares with the name, and then the bundles of a release with their hashes.
 *
 * The schema has no field for the platform of a package, and clients such as VS Code take the kind of the first one. So npm,
 * which chooses the right file, comes first: of the bundles only their names say for which platform they are.
 */
import { NPM_PACKAGE, PROJECT_URL, REGISTRY_NAME, RELEASES_URL } from "../../published.ts";
import type { ReleaseFile } from "../../trust/release/manifest.ts";
import { SERVER_ARGS } from "./mcpb.ts";

export const SERVER_JSON = "server.json";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const transport = { type: "stdio" };

/** The entry of a version. @param bundles those of the release, one a platform */
export function serverJson(version: string, bundles: readonly Pick<ReleaseFile, "name" | "sha256">[]): string {
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
        transport,
      },
      ...bundles.map(({ name, sha256 }) => ({
        registryType: "mcpb",
        identifier: `${RELEASES_URL}/download/v${version}/${name}`,
        version,
        fileSha256: sha256,
        transport,
      })),
    ],
  };
  return `${JSON.stringify(entry, null, 2)}\n`;
}
