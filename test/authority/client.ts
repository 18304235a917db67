/** What talks to an authority by hand: a browser in miniature, and a device. */

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

/** Asks for a code by hand. */
export async function newCode(
  url: string,
): Promise<{ device_code: string; user_code: string; verification_uri_complete: string }> {
  const response = await fetch(`${url}/oauth/device/code`, {
    method: "POST",
    body: new URLSearchParams({ client_id: "svc" }),
  });
  return (await response.json()) as Awaited<ReturnType<typeof newCode>>;
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
