/**
 * MCP bundles (manifest 0.3): a zip archive of an executable and how a client starts it, which Claude Desktop and others
 * install with a click. The manifest has no field for an architecture, so that each platform has a bundle.
 */
import { TOOLS } from "../../mcp/tools.ts";
import type { PlatformTag } from "../../paths.ts";
import { PROJECT_URL } from "../../published.ts";
import { zipOf } from "./archives.ts";
import type { Project } from "./project.ts";

/** The arguments of a client's entry, as `svc mcp install` writes them: who installs a bundle may have no terminal. */
export const SERVER_ARGS = ["mcp", "--with-text", "--login"];

/** The name of a platform's bundle among the files of a release. */
export function mcpbName(tag: PlatformTag): string {
  return `svc-${tag}.mcpb`;
}

/** A platform's bundle. @param gzip its executable as a gzip file */
export function mcpbOf(project: Project, tag: PlatformTag, gzip: Uint8Array): Uint8Array {
  const manifest = Buffer.from(`${JSON.stringify(manifestOf(project, tag), null, 2)}\n`);
  return zipOf([
    { name: "manifest.json", bytes: manifest },
    { name: "svc", gzip, isExecutable: true },
    { name: "LICENSE", bytes: Buffer.from(project.licenceText) },
  ]);
}

function manifestOf({ version, description, license }: Project, tag: PlatformTag): object {
  return {
    manifest_version: "0.3",
    name: "svc",
    display_name: "svc: memory",
    version,
    description,
    long_description:
      "The agent stores texts in ~/.svc on your machine, finds them by words and by meaning in later sessions, and searches " +
      "your repository. The first tool call signs in with an authority on this machine and installs the runtime, both " +
      "without network.",
    author: { name: "the svc authors", url: PROJECT_URL },
    repository: { type: "git", url: PROJECT_URL },
    homepage: PROJECT_URL,
    support: `${PROJECT_URL}/issues`,
    license,
    server: {
      type: "binary",
      entry_point: "svc",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client replaces it by the folder of the bundle
      mcp_config: { command: "${__dirname}/svc", args: SERVER_ARGS },
    },
    tools: TOOLS.map(({ verb, title }) => ({ name: `svc_${verb}`, description: title })),
    compatibility: { platforms: [tag.startsWith("macos") ? "darwin" : "linux"] },
  };
}
