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
const entry = JSON.parse(serverJson("1.2.3"));

test("is valid by the registry's schema", () => {
  expect([validate(entry), validate.errors]).toEqual([true, null]);
  expect(entry.$schema).toBe(schema.$id);
  expect(validate({ ...entry, description: "d".repeat(101) })).toBe(false);
  expect(validate({ ...entry, packages: [{ ...entry.packages[0], version: "latest" }] })).toBe(false);
});

test("has what the registry demands in addition to the schema", () => {
  // The one package of every platform: nothing tells a client which of several is for its own.
  expect(entry.packages).toEqual([expect.objectContaining({ registryType: "npm", version: "1.2.3" })]);
  // The default registry; the namespace is that of the account on GitHub.
  expect(entry.packages[0]).not.toHaveProperty("registryBaseUrl");
  expect(entry.repository.url).toContain(`github.com/${entry.name.match(/^io\.github\.([^/]+)\//)[1]}/`);
});

test("has the npm package start svc as a bundle does", () => {
  const words = entry.packages[0].packageArguments.map(({ value }: { value: string }) => value);
  expect(words).toEqual(SERVER_ARGS);
});
