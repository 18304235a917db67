/**
 * The entry in the registry of MCP servers. server.schema.json is the registry's own, of the repository
 * modelcontextprotocol/static (MIT), without the examples of `registryBaseUrl`, which are addresses of package registries.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { SERVER_ARGS } from "../../../src/build/release/mcpb.ts";
import { serverJson } from "../../../src/build/release/server-json.ts";

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
const schema = JSON.parse(readFileSync(join(import.meta.dir, "server.schema.json"), "utf8"));
const validate = ajv.compile(schema);
const sha256 = "0123456789abcdef".repeat(4);
const names = ["svc-linux-x86_64.mcpb", "svc-macos-arm64.mcpb"];
const entry = JSON.parse(
  serverJson(
    "1.2.3",
    names.map((name) => ({ name, sha256 })),
  ),
);

test("is valid by the registry's schema", () => {
  expect([validate(entry), validate.errors]).toEqual([true, null]);
  expect(entry.$schema).toBe(schema.$id);
  expect(validate({ ...entry, description: "d".repeat(101) })).toBe(false);
  expect(validate({ ...entry, packages: [{ ...entry.packages[0], version: "latest" }] })).toBe(false);
  expect(validate({ ...entry, packages: [{ ...entry.packages[1], fileSha256: "0" }] })).toBe(false);
});

test("has what the registry demands in addition to the schema", () => {
  const [npm, ...bundles] = entry.packages;
  // Clients take the kind of the first package, and nothing tells them which bundle is for their platform.
  expect(npm).toMatchObject({ registryType: "npm", version: "1.2.3" });
  expect(bundles.length).toBe(names.length);
  for (const [at, bundle] of bundles.entries()) {
    expect(bundle).toMatchObject({ registryType: "mcpb", version: "1.2.3", fileSha256: sha256 });
    // The registry takes bundles from releases on GitHub and GitLab whose address contains "mcp".
    expect(bundle.identifier).toMatch(/^https:\/\/github\.com\/.+\/releases\/download\/v1\.2\.3\//);
    expect(bundle.identifier).toEndWith(`/${names[at]}`);
  }
  // One default registry each; the namespace is that of the account on GitHub.
  for (const one of entry.packages) expect(one).not.toHaveProperty("registryBaseUrl");
  expect(entry.repository.url).toContain(`github.com/${entry.name.match(/^io\.github\.([^/]+)\//)[1]}/`);
});

test("has the npm package start svc as a bundle does", () => {
  const words = entry.packages[0].packageArguments.map(({ value }: { value: string }) => value);
  expect(words).toEqual(SERVER_ARGS);
});
