/**
 * The npm packages with the command `svc`: one with the executable for each platform, of which npm installs the one that
 * fits, and the one that users name, which depends on them and starts what was installed. No script runs at the install.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PlatformTag } from "../../paths.ts";
import { NPM_PACKAGE, PROJECT_URL, REGISTRY_NAME } from "../../published.ts";
import { type ArchiveFile, gzipped, tarOf } from "./archives.ts";
import { SERVER_ARGS } from "./mcpb.ts";
import type { Project } from "./project.ts";

/** What npm calls a platform: `process.platform` and `process.arch`. */
const NPM_PLATFORMS: Record<PlatformTag, { os: string; cpu: string }> = {
  "linux-x86_64": { os: "linux", cpu: "x64" },
  "linux-arm64": { os: "linux", cpu: "arm64" },
  "macos-arm64": { os: "darwin", cpu: "arm64" },
};

/** An npm package as a file of a release: its name, as `npm pack` gives it, and its bytes. */
export type NpmPackage = [name: string, bytes: Uint8Array];

/** The package with the executable of a platform. @param level of gzip, as in `gzipped` */
export function npmPlatformPackage(
  project: Project,
  tag: PlatformTag,
  executable: Uint8Array,
  level?: number,
): NpmPackage {
  const { os, cpu } = NPM_PLATFORMS[tag];
  const manifest = {
    ...commonManifest(project, platformName(tag)),
    os: [os],
    cpu: [cpu],
    // The executable is linked with glibc; without this npm installs it on Alpine too.
    ...(os === "linux" ? { libc: ["glibc"] } : {}),
    // Yarn keeps packages in zip files, from which no executable can be started.
    preferUnplugged: true,
  };
  return packNpm(project, manifest, [{ name: "svc", bytes: executable, isExecutable: true }], level);
}

/** The package with the launcher. @param tags platforms of the release */
export function npmMainPackage(project: Project, tags: readonly PlatformTag[]): NpmPackage {
  const { version } = project;
  const manifest = {
    ...commonManifest(project, NPM_PACKAGE),
    mcpName: REGISTRY_NAME,
    keywords: ["mcp", "memory", "search"],
    bin: { svc: "bin/svc" },
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(tags.map((tag) => [platformName(tag), version])),
  };
  return packNpm(project, manifest, [
    { name: "bin/svc", bytes: readFileSync(join(import.meta.dir, "launcher.cjs")), isExecutable: true },
    { name: "README.md", bytes: Buffer.from(readmeOf(project)) },
  ]);
}

/** What npm shows of the package. */
function readmeOf({ version, description }: Project): string {
  const entry = { command: "npx", args: ["-y", NPM_PACKAGE, ...SERVER_ARGS] };
  return `# svc

${description}

Install it, sign in with an authority on your machine, and add svc to your MCP clients:

    npm install -g ${NPM_PACKAGE}
    svc login --yes
    svc mcp install

Or let a client start it by npx, without an install. The first tool call signs in:

\`\`\`json
${JSON.stringify({ mcpServers: { svc: entry } }, null, 2)}
\`\`\`

svc runs on Linux (x86-64 with AVX2, or arm64, with glibc 2.17 or newer), on macOS 13 or newer on Apple silicon, and in WSL2.

Documentation: ${PROJECT_URL}/tree/v${version}/docs
`;
}

/** The launcher makes the same name of what node says about the platform. */
function platformName(tag: PlatformTag): string {
  const { os, cpu } = NPM_PLATFORMS[tag];
  return `${NPM_PACKAGE}-${os}-${cpu}`;
}

/** What the manifests of all packages say. */
export function commonManifest({ version, description, license }: Project, name: string) {
  const repository = { type: "git", url: `git+${PROJECT_URL}.git` };
  return { name, version, description, license, repository, publishConfig: { access: "public" } };
}

/** A package of these files. @param level of gzip, as in `gzipped` */
export function packNpm(
  { licenceText }: Project,
  manifest: { name: string; version: string },
  files: readonly ArchiveFile[],
  level?: number,
): NpmPackage {
  const all = [
    { name: "package.json", bytes: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
    { name: "LICENSE", bytes: Buffer.from(licenceText) },
    ...files,
  ];
  const tar = tarOf(all.map((file) => ({ ...file, name: `package/${file.name}` })));
  const name = `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`;
  return [name, gzipped(tar, level)];
}
