/** Temporary homes, keys that are made once, and authorities that are stopped after the test. */
import { afterAll, expect } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authorityPaths } from "../../../src/paths.ts";
import { ensureDevice } from "../../../src/trust/account/device.ts";
import { FEATURES } from "../../../src/trust/account/license/features.ts";
import { LICENSE_AUDIENCE } from "../../../src/trust/account/license/license.ts";
import { LICENSE_ISSUER } from "../../../src/trust/account/license/license-token.ts";
import type { Endpoints } from "../../../src/trust/account/trusted/endpoints.ts";
import {
  type AuthorityOptions,
  type RunningAuthority,
  startAuthority,
} from "../../../src/trust/authority/server/server.ts";
import { testKey } from "../../keys.ts";

/** A build that trusts no remote authority, whatever the checkout was last built for. */
export const LOCAL_BUILD = { licensePublicKey: null, authority: null };

/** The LICENSE key of every test. */
export const { privatePem: LICENSE_KEY_PEM, publicPem: LICENSE_PUBLIC_PEM } = testKey("license");

const homes: string[] = [];
const running: { stop(): Promise<void> }[] = [];

afterAll(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

/** An empty SVC_HOME, 0700. */
export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "svc-account-"));
  homes.push(home);
  return home;
}

/**
 * An authority in a home, with the LICENSE key of the tests put there beforehand: an organisation's with its data folder
 * in the place of a login's own.
 */
export async function authorityIn(
  home: string,
  { organisation = false, ...options }: Partial<AuthorityOptions> & { organisation?: boolean } = {},
): Promise<RunningAuthority> {
  const paths = authorityPaths(home);
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  writeFileSync(paths.licenseKey, LICENSE_KEY_PEM, { mode: 0o600 });
  const authority = await startAuthority({ home, ...(organisation && { data: paths.dir }), ...options });
  running.push(authority);
  return authority;
}

/** Stops a server after the tests. */
export function keepForTest(server: { stop(): Promise<void> }): void {
  running.push(server);
}

/** A server on loopback that answers with `handler`, and the requests that it got. @param at its certificate and name */
export function fakeServer(
  handler: (request: Request, path: string) => Response | Promise<Response>,
  { tls, host = "127.0.0.1" }: { tls?: { cert: string; key: string } | undefined; host?: string } = {},
) {
  const paths: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...(tls && { tls }),
    fetch: (request) => {
      const path = new URL(request.url).pathname;
      paths.push(path);
      return handler(request, path);
    },
  });
  running.push({ stop: () => server.stop(true) });
  return { url: `${tls ? "https" : "http"}://${host}:${server.port}`, paths };
}

export function facesOf(url: string): Endpoints {
  return { accounts: url, api: url, packages: url };
}

/** The claims of a good licence for a device, to be made invalid one at a time. */
export function goodClaims(deviceThumbprint: string, now = Math.floor(Date.now() / 1000)): Record<string, unknown> {
  return {
    iss: LICENSE_ISSUER,
    aud: LICENSE_AUDIENCE,
    sub: "local",
    ver: 2,
    iat: now,
    nbf: now,
    exp: now + 86_400,
    offline_grace_days: 30,
    products: { svc: { tier: "community", features: [...FEATURES] } },
    cnf: { jkt: deviceThumbprint },
  };
}

/** A signed token, made by hand: jose would refuse to make some. */
export async function signed(
  claims: unknown,
  header: Record<string, unknown> = { alg: "RS256" },
  pem = LICENSE_KEY_PEM,
) {
  return signedText(JSON.stringify(claims), JSON.stringify(header), pem);
}

/** The same of texts, which may be any JSON or none. */
export async function signedText(claims: string, header: string, pem = LICENSE_KEY_PEM): Promise<string> {
  const { sign } = await import("node:crypto");
  const part = (text: string) => Buffer.from(text).toString("base64url");
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${sign("sha256", Buffer.from(input), createPrivateKey(pem)).toString("base64url")}`;
}

/** A home that has a device, and that device. */
export async function homeWithDevice() {
  const home = newHome();
  return { home, device: await ensureDevice(home) };
}

/**
 * The error of a promise or a call, which has to be of a class.
 * @param message the whole of its message, or what that has to match
 */
export async function failure(
  action: () => unknown,
  type: abstract new (...words: never[]) => Error = Error,
  message: unknown = expect.any(String),
): Promise<Error> {
  let failed: unknown;
  try {
    await action();
  } catch (error) {
    failed = error;
  }
  expect(failed).toBeInstanceOf(type);
  const error = failed as Error;
  expect(error.message).toEqual(message instanceof RegExp ? expect.stringMatching(message) : message);
  return error;
}
