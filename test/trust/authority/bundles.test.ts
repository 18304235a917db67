/** What the packages endpoint answers. */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { login } from "../../../src/trust/account/login/login.ts";
import { fetchBundle } from "../../../src/trust/account/login/packages.ts";
import type { AuthorityOptions } from "../../../src/trust/authority/server/server.ts";
import { authorityIn, facesOf, LOCAL_BUILD, newHome } from "../account/helpers.ts";

const BYTES = crypto.getRandomValues(new Uint8Array(100_000));
const PATH = "/runtime/1.0.0/linux-arm64.bundle";

async function serving(home: string, bundle: NonNullable<AuthorityOptions["bundle"]>) {
  const { url } = await authorityIn(home, { approve: "yes", bundle });
  const { apiKey } = await login({ home, env: {}, endpoints: facesOf(url), build: LOCAL_BUILD });
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(url + path, { method, headers: { authorization: `Bearer ${apiKey}`, ...headers } });
  return { url, apiKey, ask };
}

let dir: string;
let server: Awaited<ReturnType<typeof serving>>;
const file = (version: string) => join(dir, version, "linux-arm64.bundle");

beforeAll(async () => {
  const home = newHome();
  dir = join(home, "bundles");
  for (const version of ["1.0.0", "3.0.0", "4.0.0"]) mkdirSync(join(dir, version), { recursive: true });
  writeFileSync(file("1.0.0"), BYTES);
  server = await serving(home, dir);
});

test("svc receives a bundle from a folder and from memory", async () => {
  const inMemory = await serving(newHome(), () => BYTES);
  for (const { url, apiKey } of [server, inMemory]) {
    const bundle = await fetchBundle({ packages: url, version: "1.0.0", tag: "linux-arm64", apiKey });
    expect(Buffer.compare(bundle, BYTES)).toBe(0);
  }
});

test("a conditional request for a part, as earlier releases send it, is answered with all", async () => {
  for (const condition of [`"${"0".repeat(64)}"`, "Wed, 21 Oct 2026 07:28:00 GMT"]) {
    const response = await server.ask(PATH, { range: "bytes=5-", "if-range": condition });
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(BYTES));
  }
});

test("HEAD has the headers of GET and no body", async () => {
  const response = await server.ask(PATH, {}, "HEAD");
  expect([response.status, response.headers.get("content-length")]).toEqual([200, "100000"]);
  expect(await response.text()).toBe("");
  expect((await server.ask("/runtime/9.9.9/linux-arm64.bundle", {}, "HEAD")).status).toBe(404);
  expect((await server.ask(PATH, { authorization: "Bearer wrong" }, "HEAD")).status).toBe(401);
});

test("a file without bytes is answered, and a link is not", async () => {
  writeFileSync(file("3.0.0"), "");
  const empty = await server.ask("/runtime/3.0.0/linux-arm64.bundle");
  expect([empty.status, empty.headers.get("content-length")]).toEqual([200, "0"]);
  symlinkSync(file("1.0.0"), file("4.0.0"));
  expect((await server.ask("/runtime/4.0.0/linux-arm64.bundle")).status).toBe(404);
});
