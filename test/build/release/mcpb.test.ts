/** The bundle for MCP clients: checked and unpacked by the tools of its format, and started as a client starts it. */
import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getMcpConfigForManifest, unpackExtension } from "@anthropic-ai/mcpb";
import { McpbManifestSchema } from "@anthropic-ai/mcpb/schemas/0.3";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { gzipped } from "../../../src/build/release/archives.ts";
import { mcpbOf, SERVER_ARGS } from "../../../src/build/release/mcpb.ts";
import { projectOf } from "../../../src/build/release/project.ts";
import { argsOf } from "../../../src/cli/mcp/entry-flags.ts";
import { TOOLS } from "../../../src/mcp/tools.ts";
import { platformTag } from "../../../src/paths.ts";
import { emptyHome, ROOT, SVC } from "../../e2e/home.ts";
import { largeDir } from "../../fixture.ts";

const project = projectOf(ROOT, "1.2.3");
const folder = largeDir();
const manifest = () => McpbManifestSchema.parse(JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")));

beforeAll(async () => {
  const path = join(largeDir(), "svc.mcpb");
  // To compress the executable takes long, and changes nothing here.
  writeFileSync(path, mcpbOf(project, platformTag()!, gzipped(readFileSync(SVC), 0)));
  expect(await unpackExtension({ mcpbPath: path, outputDir: folder, silent: true })).toBe(true);
});

test("unpacked by the format's own tool it has the executable, its licence and a valid manifest", () => {
  expect(readdirSync(folder).sort()).toEqual(["LICENSE", "manifest.json", "svc"]);
  expect(readFileSync(join(folder, "svc")).equals(readFileSync(SVC))).toBe(true);
  expect(statSync(join(folder, "svc")).mode & 0o777).toBe(0o755);
  expect(manifest()).toMatchObject({ name: "svc", version: "1.2.3", license: "Apache-2.0" });
  expect(manifest().compatibility?.platforms).toEqual([process.platform as "linux"]);
  expect(manifest().tools?.map(({ name }) => name)).toEqual(TOOLS.map(({ verb }) => `svc_${verb}`));
});

test("starts svc as 'svc mcp install' would", () => {
  expect(SERVER_ARGS).toEqual(argsOf({}, ["--login"]));
});

test("started as a client starts it, on a machine without a login, it has 19 tools and signs in", async () => {
  const systemDirs = { HOME: "", DOCUMENTS: "", DESKTOP: "", DOWNLOADS: "" };
  const options = { manifest: manifest(), extensionPath: folder, systemDirs, userConfig: {}, pathSeparator: "/" };
  const { command, args } = (await getMcpConfigForManifest(options))!;
  const env = emptyHome();
  const client = new Client({ name: "desktop", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, env, cwd: env.HOME!, stderr: "ignore" }));
  try {
    expect((await client.listTools()).tools).toHaveLength(19);
    const added = await client.callTool({ name: "svc_add", arguments: { collection: "c", texts: ["a text"] } });
    expect([added.isError ?? false, JSON.stringify(added.content)]).toEqual([
      false,
      expect.stringContaining("signed in"),
    ]);
  } finally {
    await client.close();
  }
});
