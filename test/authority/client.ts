/** What talks to an authority by hand: a browser in miniature, and a device. */
import { readFileSync } from "node:fs";
import type { AuthorityOptions } from "../../src/authority/server.ts";
import { authorityPaths } from "../../src/paths.ts";
import { authorityIn, newHome } from "../account/helpers.ts";

/** A browser in miniature: one cookie, and the fields of the form it was last shown. */
export class Browser {
  #cookie = "";
  fields: Record<string, string> = {};
  headers: Record<string, string> = {};

  async get(url: string): Promise<Response> {
    return this.#remember(await fetch(url, { headers: { cookie: this.#cookie, ...this.headers } }));
  }

  async post(url: string, fields: Record<string, string>): Promise<Response> {
    const origin = new URL(url).origin;
    const headers = { cookie: this.#cookie, origin, "sec-fetch-site": "same-origin", ...this.headers };
    return this.#remember(await fetch(url, { method: "POST", headers, body: new URLSearchParams(fields) }));
  }

  async #remember(response: Response): Promise<Response> {
    this.#cookie = response.headers.get("set-cookie")?.split(";")[0] ?? this.#cookie;
    const html = await response.clone().text();
    for (const [, name, value] of html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)) {
      this.fields[name ?? ""] = value ?? "";
    }
    return response;
  }
}

interface Asked {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

/** Asks for a code by hand; of a proxied authority for a client at `address`. */
export async function newCode(url: string, asker: { address?: string; platform?: string } = {}): Promise<Asked> {
  const response = await fetch(`${url}/oauth/device/code`, {
    method: "POST",
    headers: asker.address === undefined ? {} : { "x-forwarded-for": asker.address },
    body: new URLSearchParams({ client_id: "svc", ...(asker.platform ? { platform: asker.platform } : {}) }),
  });
  return (await response.json()) as Asked;
}

export async function poll(
  url: string,
  deviceCode: string,
  more: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: deviceCode,
    client_id: "svc",
    ...more,
  });
  return (await (await fetch(`${url}/oauth/device/token`, { method: "POST", body })).json()) as Record<string, unknown>;
}

/** An authority behind a proxy on this machine: X-Forwarded-For says for whom each request is. */
export async function proxied(options: Partial<AuthorityOptions> = {}) {
  const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = free.port ?? 0;
  await free.stop(true);
  const home = newHome();
  const url = `http://127.0.0.1:${port}`;
  await authorityIn(home, { port, publicUrl: url, ...options });
  return { url, approvalCode: readFileSync(authorityPaths(home).approvalCode, "utf8").trim() };
}
