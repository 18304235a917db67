/** The bundler may leave out schemas of the MCP SDK: withPureSchemas marks each of them as without effect. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as original from "@modelcontextprotocol/sdk/types.js";
import { withPureSchemas } from "../src/build/bundler.ts";
import { BuildError } from "../src/build/step.ts";

const ROOT = join(import.meta.dir, "..");
const source = readFileSync(join(ROOT, "node_modules/@modelcontextprotocol/sdk/dist/esm/types.js"), "utf8");
let folder: string;
// In the checkout, where the module finds zod.
beforeAll(() => {
  folder = mkdtempSync(join(ROOT, ".build/bundler-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every schema of the SDK is marked as without effect, and is the same", async () => {
  const pure = withPureSchemas(source);
  const schemas = [...source.matchAll(/^(?:export )?const \w+Schema\w* = /gm)].length;
  expect(schemas).toBeGreaterThan(100);
  expect([...pure.matchAll(/__PURE__/g)]).toHaveLength(schemas);
  const path = join(folder, "types.js");
  writeFileSync(path, pure);
  const found: typeof original = await import(path);
  expect(Object.keys(found)).toEqual(Object.keys(original));
  const request = { method: "tools/call", params: { name: "svc_get", arguments: { ids: ["a"] }, _meta: { x: 1 } } };
  expect(found.CallToolRequestSchema.parse(request)).toEqual(original.CallToolRequestSchema.parse(request));
  expect(found.CallToolRequestSchema.safeParse({ method: "ping" }).success).toBe(false);
});

test("a module without schemas fails the build, as they may be written otherwise", () => {
  expect(() => withPureSchemas("export const VERSION = '1';\n")).toThrow(BuildError);
});

test.skipIf(!existsSync(join(ROOT, "dist/svc")))("the executable has no schemas that it does not use", () => {
  const executable = readFileSync(join(ROOT, "dist/svc"));
  expect(executable.includes("notifications/cancelled")).toBe(true);
  expect(executable.includes("sampling/createMessage")).toBe(false);
});
