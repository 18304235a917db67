/** A server in front of an organisation's authority, as a proxy is, whose answers a test can replace. */

import { createPublicKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { authorityPaths } from "../../../src/paths.ts";
import {
  type AuthorityOptions,
  type RunningAuthority,
  startAuthority,
} from "../../../src/trust/authority/server/server.ts";
import type { Certified } from "../../e2e/certificate.ts";
import { testKey } from "../../keys.ts";
import { fakeServer, keepForTest, newHome } from "./helpers.ts";

/** Replaces an answer, or leaves it as it is. */
type Instead = (request: Request) => Response | Promise<Response> | undefined;

export interface Front extends AsyncDisposable {
  readonly url: string;
  /** The paths that were asked for. */
  readonly paths: string[];
  /** By path: what is answered instead. */
  readonly instead: Record<string, Instead>;
  /** The authority's LICENSE key, SPKI in PEM. */
  readonly publicPem: string;
  readonly authority: RunningAuthority;
  /** What the authority says of itself. */
  metadata(): Promise<Record<string, unknown>>;
}

export const METADATA = "/.well-known/oauth-authorization-server";
export const JWKS = "/.well-known/jwks.json";

/** Starts both; codes are approved at once. @param key the name of its LICENSE key among those of the tests */
export async function organisation(
  options: Partial<AuthorityOptions> & { key?: string; tls?: Certified; host?: string } = {},
): Promise<Front> {
  const { key = "license", tls, host = tls ? "localhost" : "127.0.0.1", ...rest } = options;
  const home = newHome();
  const paths = authorityPaths(home);
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  writeFileSync(paths.licenseKey, testKey(key).privatePem, { mode: 0o600 });
  const authority = await startAuthority({ home, data: paths.dir, approve: "yes", ...rest });
  keepForTest(authority);
  const instead: Record<string, Instead> = {};
  const forward = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const body = request.method === "POST" ? await request.text() : undefined;
    const answer = await fetch(authority.url + pathname + search, {
      ...{ method: request.method, headers: request.headers, body, redirect: "manual" },
    });
    const type = answer.headers.get("content-type") ?? "";
    if (!type.includes("json")) return answer;
    // Its addresses are those of this server.
    const text = (await answer.text()).replaceAll(authority.url, front.url);
    return new Response(text, { status: answer.status, headers: { "content-type": type } });
  };
  const server = fakeServer((request, path) => instead[path]?.(request) ?? forward(request), { tls, host });
  const publicPem = authority.licensePublicKeyPem;
  const front: Front = {
    ...{ url: server.url, paths: server.paths, instead, publicPem, authority },
    metadata: async () =>
      (await fetch(server.url + METADATA, tls && { tls: { rejectUnauthorized: false } })).json() as Promise<
        Record<string, unknown>
      >,
    [Symbol.asyncDispose]: () => authority.stop(),
  };
  return front;
}

/** A public key as a JWK. */
export function jwkOf(pem: string): Record<string, unknown> {
  return { ...createPublicKey(pem).export({ format: "jwk" }), use: "sig" };
}
