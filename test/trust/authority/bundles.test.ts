/** What the packages endpoint answers to a client that has a part of a bundle, or wants to know of it only. */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchBundle } from "../../../src/trust/account/download/packages.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { authorityIn, facesOf, LOCAL_BUILD, newHome } from "../account/helpers.ts";

const BYTES = crypto.getRandomValues(new Uint8Array(100_000));
const etagOf = (bytes: Uint8Array) => `"${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}"`;

let dir: string;
let packages: string;
let key: string;
let ask: (path: string, headers?: Record<string, string>, method?: string) => Promise<Response>;
const file = (version: string) => join(dir, version, "linux-arm64.bundle");

beforeAll(async () => {
  const home = newHome();
  dir = join(home, "bundles");
  for (const version of ["1.0.0", "2.0.0", "3.0.0", "4.0.0"]) mkdirSync(join(dir, version), { recursive: true });
  writeFileSync(file("1.0.0"), BYTES);
  const fromFiles = await authorityIn(home, { approve: "yes", bundle: dir });
  const { apiKey } = await login({ home, env: {}, endpoints: facesOf(fromFiles.url), build: LOCAL_BUILD });
  const url = fromFiles.url;
  packages = url;
  key = apiKey;
  ask = (path, headers = {}, method = "GET") =>
    fetch(url + path, { method, headers: { authorization: `Bearer ${apiKey}`, ...headers } });
});

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const PATH = "/runtime/1.0.0/linux-arm64.bundle";

const RANGES: [string, number, number][] = [
  ["bytes=0-", 0, 100_000],
  ["bytes=70000-", 70_000, 100_000],
  ["bytes=99999-", 99_999, 100_000],
  ["bytes=5-9", 5, 10],
  ["bytes=5-999999999", 5, 100_000],
  ["bytes=-10", 99_990, 100_000],
  ["bytes=-999999999", 0, 100_000],
];
test.each(RANGES)("%s is answered with bytes %d to %d", async (range, first, end) => {
  const response = await ask(PATH, { range, "if-range": etagOf(BYTES) });
  expect(response.status).toBe(206);
  expect(response.headers.get("content-range")).toBe(`bytes ${first}-${end - 1}/100000`);
  expect(response.headers.get("content-length")).toBe(String(end - first));
  expect(response.headers.get("etag")).toBe(etagOf(BYTES));
  expect(await bytesOf(response)).toEqual(Buffer.from(BYTES.subarray(first, end)));
});

const WHOLE = ["bytes=5-4", "bytes=-", "bytes=a-", "lines=0-5", "bytes=0-1,5-6", `bytes=${"9".repeat(40)}-`];
test.each(WHOLE)("'%s' is answered with all, as none is", async (range) => {
  const response = await ask(PATH, { range });
  expect(response.status).toBe(200);
  expect(response.headers.get("accept-ranges")).toBe("bytes");
  expect(await bytesOf(response)).toEqual(Buffer.from(BYTES));
});

test("a range behind the end is 416 with the length", async () => {
  for (const range of ["bytes=100000-", "bytes=100000-100005", "bytes=-0"]) {
    const response = await ask(PATH, { range });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe("bytes */100000");
  }
});

test("HEAD has the headers of GET and no body", async () => {
  const response = await ask(PATH, { range: "bytes=5-9" }, "HEAD");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-length")).toBe("100000");
  expect(response.headers.get("etag")).toBe(etagOf(BYTES));
  expect(await response.text()).toBe("");
  expect((await ask("/runtime/9.9.9/linux-arm64.bundle", {}, "HEAD")).status).toBe(404);
  expect((await ask(PATH, { authorization: "Bearer wrong" }, "HEAD")).status).toBe(401);
});

test("a part of a bundle that was replaced is refused in favour of all of the new one", async () => {
  const path = "/runtime/2.0.0/linux-arm64.bundle";
  writeFileSync(file("2.0.0"), BYTES);
  const { mtime } = statSync(file("2.0.0"));
  expect((await ask(path, { range: "bytes=5-", "if-range": etagOf(BYTES) })).status).toBe(206);
  const other = BYTES.toReversed();
  // As a deployment would, with the same length and the same time: the tag is of the bytes.
  writeFileSync(`${file("2.0.0")}.new`, other);
  utimesSync(`${file("2.0.0")}.new`, mtime, mtime);
  renameSync(`${file("2.0.0")}.new`, file("2.0.0"));
  for (const condition of [etagOf(BYTES), "Wed, 21 Oct 2026 07:28:00 GMT", `W/${etagOf(other)}`]) {
    const response = await ask(path, { range: "bytes=5-", "if-range": condition });
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).toBe(etagOf(other));
    expect(await bytesOf(response)).toEqual(Buffer.from(other));
  }
});

test("a bundle without bytes, and a link, which is not served", async () => {
  writeFileSync(file("3.0.0"), "");
  const empty = await ask("/runtime/3.0.0/linux-arm64.bundle");
  expect([empty.status, empty.headers.get("content-length")]).toEqual([200, "0"]);
  expect((await ask("/runtime/3.0.0/linux-arm64.bundle", { range: "bytes=0-" })).status).toBe(416);
  symlinkSync(file("1.0.0"), file("4.0.0"));
  expect((await ask("/runtime/4.0.0/linux-arm64.bundle")).status).toBe(404);
});

test("svc itself asks for the rest of what it has", async () => {
  const request = { home: newHome(), packages, version: "1.0.0", tag: "linux-arm64", apiKey: key } as const;
  const first = await fetchBundle(request);
  first.close();
  const again = await fetchBundle(request);
  expect([first.resumed, again.resumed]).toEqual([false, true]);
  expect(Buffer.compare(again.bytes, BYTES)).toBe(0);
  again.close();
});

test("a bundle from memory is answered in parts too", async () => {
  const home = newHome();
  const { url } = await authorityIn(home, { approve: "yes", bundle: () => BYTES });
  const { apiKey } = await login({ home, env: {}, endpoints: facesOf(url), build: LOCAL_BUILD });
  const headers = { authorization: `Bearer ${apiKey}`, range: "bytes=99990-", "if-range": etagOf(BYTES) };
  const response = await fetch(url + PATH, { headers });
  expect(response.status).toBe(206);
  expect(await bytesOf(response)).toEqual(Buffer.from(BYTES.subarray(99_990)));
});
