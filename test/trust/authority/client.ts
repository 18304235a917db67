/** What talks to an authority by hand: a browser in miniature, and what asks for codes. */
import { readFileSync } from "node:fs";
import { authorityPaths } from "../../../src/paths.ts";
import type { AuthorityOptions } from "../../../src/trust/authority/server/server.ts";
import { freePort } from "../../free-port.ts";
import { authorityIn, newHome } from "../account/helpers.ts";
import { unescaped } from "./visitor.ts";

export { Browser } from "./visitor.ts";

/** The hidden fields of the form of a page that is sent to a path. */
export function formOf(html: string, path: string): Record<string, string> {
  const [, inside = ""] = new RegExp(`<form method="post" action="${path}">(.*?)</form>`, "s").exec(html) ?? [];
  const fields = inside.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = "", value = ""]) => [name, unescaped(value)]));
}

interface IssuedCode {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

/** Asks for a code by hand; of a proxied authority for a client at `address`. */
export async function newCode(url: string, asker: { address?: string; platform?: string } = {}): Promise<IssuedCode> {
  const response = await fetch(`${url}/oauth/device/code`, {
    method: "POST",
    headers: asker.address === undefined ? {} : { "x-forwarded-for": asker.address },
    body: new URLSearchParams({ client_id: "svc", ...(asker.platform ? { platform: asker.platform } : {}) }),
  });
  return (await response.json()) as IssuedCode;
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
  const port = freePort();
  const home = newHome();
  const url = `http://127.0.0.1:${port}`;
  await authorityIn(home, { port, publicUrl: url, trustedProxies: ["127.0.0.1"], ...options });
  return { url, approvalCode: readFileSync(authorityPaths(home).approvalCode, "utf8").trim() };
}
