/** Downloads from servers that break, drip, and lie: over real connections. */
import { describe, expect, test } from "bun:test";
import {
  CancelledError,
  OSError,
  PermissionError,
  RuntimeError,
  TimeoutError,
  ValueError,
} from "../../../src/errors.ts";
import { BUNDLE_BYTES_MAX } from "../../../src/limits.ts";
import { DeviceRevoked } from "../../../src/trust/account/license/revocation.ts";
import { type BundleRequest, fetchBundle, NoBundle } from "../../../src/trust/account/login/packages.ts";
import { ATTEMPTS, type DownloadProgress } from "../../../src/trust/account/trusted/download.ts";
import { failure } from "./helpers.ts";
import { type Answer, type Answers, packagesServer } from "./packages-server.ts";

const BYTES = crypto.getRandomValues(new Uint8Array(1_000_000));

async function scene(answers: Answers) {
  const { url, asked } = await packagesServer(answers);
  const pace = { idleMs: 10_000, pauseMs: 1 };
  const get = async (more: Partial<BundleRequest> = {}) =>
    fetchBundle({ packages: url, version: "1.2.3", tag: "linux-arm64", apiKey: "key", pace, ...more });
  const fail = (more: Partial<BundleRequest> = {}) => failure(() => get(more));
  return { get, fail, asked, url };
}

/** Breaks after so many bytes each, then sends all. */
const breaking =
  (...cuts: number[]): Answers =>
  (_, index) => ({ body: BYTES, ...(index < cuts.length && { cut: cuts[index] }) });

test("a bundle is asked for by version and platform, with the key", async () => {
  const { get, asked } = await scene(breaking());
  expect(Buffer.compare(await get(), BYTES)).toBe(0);
  expect(asked.map(({ path }) => path)).toEqual(["/runtime/1.2.3/linux-arm64.bundle"]);
  expect(asked[0]?.headers.authorization).toBe("Bearer key");
});

describe("a connection that breaks", () => {
  test("is opened again, and the bundle is received from its first byte", async () => {
    const { get, asked } = await scene(breaking(300_000, 0));
    const seen: DownloadProgress[] = [];
    expect(Buffer.compare(await get({ onProgress: (progress) => seen.push(progress) }), BYTES)).toBe(0);
    expect(asked.map(({ headers }) => [headers.authorization, headers.range])).toEqual(
      Array.from({ length: 3 }, () => ["Bearer key", undefined]),
    );
    expect(seen.at(-1)).toEqual({ attempt: 3, received: BYTES.length, total: BYTES.length });
  });

  test("in each attempt is an error", async () => {
    const { fail, asked, url } = await scene(breaking(...Array.from({ length: 20 }, () => 40_000)));
    const error = await fail();
    expect(error).toBeInstanceOf(OSError);
    expect(error.message).toBe(
      `cannot reach the packages server at ${url}: check the address and this machine's network`,
    );
    expect(asked).toHaveLength(ATTEMPTS);
  });

  test("before any answer fails at once", async () => {
    const gone = await packagesServer(breaking());
    gone.close();
    const { fail, asked } = await scene(breaking());
    expect((await fail({ packages: gone.url })).message).toStartWith("cannot reach the packages server");
    expect(asked).toEqual([]);
  });
});

test("silence counts as broken; bytes that drip do not, however long they take", async () => {
  const pace = { idleMs: 400, idleBytes: 1, pauseMs: 1 };
  const silent = await scene((_, index) => ({ body: BYTES, ...(index === 0 && { stop: 7 }) }));
  expect(Buffer.compare(await silent.get({ pace }), BYTES)).toBe(0);
  expect(silent.asked).toHaveLength(2);
  const dripping = await scene(() => ({ body: BYTES.subarray(0, 30), everyMs: 25, pieceBytes: 1 }));
  expect(await dripping.get({ pace })).toHaveLength(30);
  expect(dripping.asked).toHaveLength(1);
  const mute = await scene(() => ({ body: BYTES, stop: 0 }));
  const error = await mute.fail({ pace: { ...pace, idleMs: 50 } });
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.message).toBe(`the packages server at ${mute.url} did not answer in time`);
});

test("an interruption ends it, while bytes come and in a pause", async () => {
  for (const [answer, pauseMs] of [
    [{ body: BYTES, stop: 500_000 }, 1],
    [{ body: BYTES, cut: 500_000 }, 60_000],
  ] as [Answer, number][]) {
    const stop = new AbortController();
    const { fail } = await scene(() => answer);
    const onProgress = ({ received }: DownloadProgress) => {
      if (received >= 100_000) setTimeout(() => stop.abort(new CancelledError("as a command's is")), 50);
    };
    const error = await fail({ signal: stop.signal, onProgress, pace: { pauseMs } });
    expect(error).toBeInstanceOf(CancelledError);
    expect(error.message).toBe("interrupted");
  }
});

const REFUSED: [string, Answer, new (...words: never[]) => Error, string][] = [
  ["no bundle", { status: 404 }, NoBundle, "the packages server has no runtime 1.2.3 for linux-arm64"],
  ["no key", { status: 401 }, PermissionError, "the packages server refuses the API key: run 'svc login' again"],
  ["a refused key", { status: 403, body: '{"error":"x"}' }, PermissionError, "refuses the API key"],
  ["a long refusal", { status: 403, body: "x".repeat(100_000) }, PermissionError, "refuses the API key"],
  ["a revoked device", { status: 403, body: '{"error":"device_revoked"}' }, DeviceRevoked, "revoked"],
  ["a failure", { status: 503 }, RuntimeError, "the packages server answered with status 503: try again later"],
  ["an unasked part", { status: 206, body: BYTES }, RuntimeError, "answered with status 206"],
];
test.each(REFUSED)("%s is an error at once", async (_, answer, type, message) => {
  const { fail, asked } = await scene(() => answer);
  const error = await fail();
  expect(error).toBeInstanceOf(type as typeof Error);
  expect(error.message).toContain(message);
  expect(asked).toHaveLength(1);
});

test("more than the cap is refused before it is received", async () => {
  const headers = { "content-length": String(BUNDLE_BYTES_MAX + 1) };
  const announced = await (await scene(() => ({ headers }))).fail();
  expect(announced).toBeInstanceOf(ValueError);
  expect(announced.message).toBe(`the packages server answered with more than ${BUNDLE_BYTES_MAX} bytes`);
});

test("a body that is compressed on the way is received decompressed", async () => {
  const { get } = await scene(() => ({ headers: { "content-encoding": "gzip" }, body: Bun.gzipSync(BYTES) }));
  expect(Buffer.compare(await get(), BYTES)).toBe(0);
});

test("redirects are followed within the origin with the key, and refused beyond it", async () => {
  const other = await packagesServer(breaking());
  let target = "/moved";
  const { get, fail, asked } = await scene(({ path }) =>
    path === "/moved" ? { body: BYTES } : { status: 302, headers: { location: target } },
  );
  expect(Buffer.compare(await get(), BYTES)).toBe(0);
  expect(asked.map(({ headers }) => headers.authorization)).toEqual(["Bearer key", "Bearer key"]);
  target = `${other.url}/moved`;
  expect(await fail()).toBeInstanceOf(PermissionError);
  expect(other.asked).toEqual([]);
});
