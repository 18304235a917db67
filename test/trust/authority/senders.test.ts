/** What other sites' pages send costs nothing: it is neither looked up, nor counted, nor stored. */
import { describe, expect, test } from "bun:test";
import { authorityIn, newHome } from "../account/helpers.ts";
import { Browser, newCode, poll } from "./client.ts";

type Headers = Record<string, string>;
const NAVIGATION = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "sec-fetch-user": "?1" };
/** What a browser says of what another site's page does. "same-site" is another port of the same host. */
const FOREIGN: [string, Headers][] = [
  ["an image", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }],
  ["a frame", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }],
  ["a script's request", { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", origin: "http://127.0.0.1:1" }],
  ["a request of an old browser", { origin: "https://evil.example" }],
  ["a request of a sandboxed frame", { origin: "null" }],
  ["a form", { "sec-fetch-site": "cross-site", origin: "https://evil.example", ...NAVIGATION }],
];

describe("another site's page", () => {
  test.each(FOREIGN)("%s neither sees a page nor counts as a guess", async (_, headers) => {
    const { url } = await authorityIn(newHome());
    const { verification_uri_complete: right } = await newCode(url);
    for (let n = 0; n < 25; n++) expect((await fetch(`${url}/device?user_code=BCDF`, { headers })).status).toBe(403);
    expect((await fetch(right, { headers })).status).toBe(403);
    expect((await fetch(`${url}/device?user_code=BBBB-BBBB`)).status).toBe(404);
  });

  test.each(FOREIGN)("%s gets no code, and none is stored", async (_, headers) => {
    const { url } = await authorityIn(newHome());
    const body = () => new URLSearchParams({ client_id: "svc" });
    for (let n = 0; n < 101; n++) {
      expect((await fetch(`${url}/oauth/device/code`, { method: "POST", headers, body: body() })).status).toBe(403);
    }
    expect((await fetch(`${url}/v1/svc/onboard`, { method: "POST", headers })).status).toBe(403);
    expect((await newCode(url)).user_code).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
  });

  test("that knows a form's every field decides nothing with it", async () => {
    const { url } = await authorityIn(newHome());
    const code = await newCode(url);
    const browser = new Browser();
    await browser.get(code.verification_uri_complete);
    for (const [, headers] of FOREIGN) {
      browser.headers = headers;
      expect((await browser.post(`${url}/device`, { ...browser.fields, decision: "deny" })).status).toBe(403);
    }
    expect(await poll(url, code.device_code)).toEqual({ error: "authorization_pending" });
  });
});

test("a link of another site shows the form with the code filled in, the same for right and wrong ones", async () => {
  const { url } = await authorityIn(newHome());
  const { user_code, verification_uri_complete: right } = await newCode(url);
  for (const site of ["cross-site", "same-site"]) {
    const headers = { "sec-fetch-site": site, ...NAVIGATION };
    const shown = async (address: string) => {
      const response = await fetch(address, { headers });
      expect(response.status).toBe(200);
      expect(response.headers.get("set-cookie")).toBeNull();
      return response.text();
    };
    const page = await shown(right);
    expect(page).toContain(`value="${user_code}"`);
    for (let n = 0; n < 25; n++) {
      expect(await shown(`${url}/device?user_code=BBBB-BBBB`)).toBe(page.replace(user_code, "BBBB-BBBB"));
    }
    expect(await shown(`${url}/device?user_code=%22%3E%3Cb%3E`)).toContain('value=""');
  }
  expect((await fetch(`${url}/device?user_code=BBBB-BBBB`)).status).toBe(404);
  // An address that was typed, or opened by another program, is this person's own.
  const typed = { "sec-fetch-site": "none", ...NAVIGATION };
  expect(await (await fetch(right, { headers: typed })).text()).toContain("Approve this device?");
});
