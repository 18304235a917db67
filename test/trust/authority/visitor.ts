/** A browser in miniature: cookies, and the fields of the form it was last shown. It goes where it is sent (303). */
export class Browser {
  readonly cookies = new Map<string, string>();
  fields: Record<string, string> = {};
  headers: Record<string, string> = {};

  /** @param ca certificates to trust beside the usual ones, PEM */
  constructor(readonly ca?: string) {}

  async get(url: string): Promise<Response> {
    return this.#ask(url, { headers: { cookie: this.#cookie(), ...this.headers } });
  }

  async post(url: string, fields: Record<string, string>): Promise<Response> {
    const origin = new URL(url).origin;
    const headers = { cookie: this.#cookie(), origin, "sec-fetch-site": "same-origin", ...this.headers };
    return this.#ask(url, { method: "POST", headers, body: new URLSearchParams(fields) });
  }

  async #ask(url: string, request: RequestInit): Promise<Response> {
    const tls = this.ca === undefined ? {} : { tls: { ca: this.ca } };
    const response = await fetch(url, { ...request, ...tls, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = "", rest = ""] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? [];
      if (/max-age=0/i.test(rest)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    if (response.status === 303) return this.get(new URL(response.headers.get("location") ?? "", url).href);
    const html = await response.clone().text();
    // Of several forms of a page each has its own fields; tests that send another one than the last read them.
    for (const [, name, value] of html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)) {
      this.fields[name ?? ""] = unescaped(value ?? "");
    }
    return response;
  }

  #cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}

/** Approves a code on the page as a person does: asks for it, then sends the form. @throws unless it was approved */
export async function approve(
  page: string,
  account: string,
  approvalCode: string,
  browser = new Browser(),
): Promise<void> {
  const shown = await browser.get(page);
  if (shown.status !== 200) throw new Error(`the page for a code answered ${shown.status}: ${await shown.text()}`);
  const answers = { ...browser.fields, account, approval_code: approvalCode, decision: "approve" };
  const decided = await browser.post(page.split("?")[0]!, answers);
  if (decided.status !== 200) throw new Error(`the form was answered ${decided.status}: ${await decided.text()}`);
}

/** The text of an attribute in HTML. */
export function unescaped(html: string): string {
  return html.replaceAll("&#39;", "'").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
