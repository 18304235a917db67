import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { PermissionError, ValueError } from "../../../src/errors.ts";
import { authorityPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import type { DeviceCode } from "../../../src/trust/account/login/device-flow.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { startAuthority } from "../../../src/trust/authority/server/server.ts";
import { authorityIn, facesOf, failure, LICENSE_PUBLIC_PEM, LOCAL_BUILD, newHome } from "../account/helpers.ts";
import { Browser, newCode, poll } from "./client.ts";
import { organisation } from "./organisation.ts";

describe("a login through the page", () => {
  test("is approved by a person, and the terminal goes on", async () => {
    const home = newHome();
    const { url } = await authorityIn(home, { intervalSeconds: 0.2 });
    const browser = new Browser();
    const onCode = (code: DeviceCode) => {
      setTimeout(async () => {
        const page = await browser.get(code.verificationUriComplete);
        expect(await page.text()).toContain(code.userCode);
        const done = await browser.post(`${url}/device`, { ...browser.fields, decision: "approve" });
        expect(await done.text()).toContain("Device approved");
      }, 20);
    };
    await login({ home, env: {}, endpoints: facesOf(url), onCode, build: LOCAL_BUILD });
    expect((await requireLogin(home, {}, { build: LOCAL_BUILD })).tier).toBe("community");
    // Decided once, decided for good.
    const late = await browser.post(`${url}/device`, { ...browser.fields, decision: "deny" });
    expect(late.status).toBe(409);
  });

  test("is declined by a person, and the terminal says so", async () => {
    const home = newHome();
    const { url } = await authorityIn(home, { intervalSeconds: 0.2 });
    const browser = new Browser();
    const onCode = async (code: DeviceCode) => {
      await browser.get(code.verificationUriComplete);
      const done = await browser.post(`${url}/device`, { ...browser.fields, decision: "deny" });
      expect(await done.text()).toContain("Device denied");
    };
    const error = await failure(() => login({ home, env: {}, endpoints: facesOf(url), onCode, build: LOCAL_BUILD }));
    expect(error).toBeInstanceOf(PermissionError);
    expect(error.message).toContain("declined");
  });
});

describe("the page", () => {
  test("loads nothing from other origins, has no script, and forbids framing", async () => {
    const { url } = await authorityIn(newHome());
    const { user_code } = await newCode(url);
    for (const path of ["/device", `/device?user_code=${user_code}`, "/device?user_code=nope"]) {
      const response = await fetch(url + path);
      const html = await response.text();
      expect(html).not.toMatch(/<script|<img|<link|\bon\w+=|https?:/);
      expect(html).toContain('<html lang="en">');
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("form-action 'self'");
      const style = /<style>([\s\S]*)<\/style>/.exec(html)?.[1] ?? "";
      expect(policy).toContain(`'sha256-${new Bun.CryptoHasher("sha256").update(style).digest("base64")}'`);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("x-frame-options")).toBe("DENY");
    }
  });

  test("accepts a code in any spelling", async () => {
    const { url } = await authorityIn(newHome());
    const { user_code } = await newCode(url);
    for (const typed of [
      user_code,
      user_code.toLowerCase(),
      user_code.replace("-", ""),
      ` ${user_code.replace("-", " ")} `,
    ]) {
      const response = await fetch(`${url}/device?user_code=${encodeURIComponent(typed)}`);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(user_code);
    }
  });

  test("never echoes what it did not make", async () => {
    const { url } = await authorityIn(newHome());
    const response = await fetch(`${url}/device?user_code=${encodeURIComponent('"><script>alert(1)</script>')}`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain("alert(1)");
  });

  test("accepts only the form that it served to this browser for this code", async () => {
    const { url } = await authorityIn(newHome());
    const [one, two] = [await newCode(url), await newCode(url)];
    const victim = new Browser();
    const attacker = new Browser();
    await victim.get(one.verification_uri_complete);
    await attacker.get(two.verification_uri_complete);
    const approve = { decision: "approve" };
    const post = (fields: Record<string, string>, headers: Record<string, string> = {}) => {
      victim.headers = headers;
      return victim.post(`${url}/device`, { ...fields, ...approve }).then((response) => response.status);
    };
    const own = { ...victim.fields };
    expect(await post({ ...attacker.fields })).toBe(403);
    expect(await post({ ...own, user_code: two.user_code })).toBe(403);
    expect(await post({ ...own, csrf: "" })).toBe(403);
    expect(await post(own, { cookie: "" })).toBe(403);
    expect(await post(own, { origin: "https://evil.example" })).toBe(403);
    expect(await post(own, { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await poll(url, one.device_code)).toEqual({ error: "authorization_pending" });
    expect(await post(own)).toBe(200);
    expect(await poll(url, one.device_code)).toMatchObject({ token_type: "Bearer" });
  });

  test("says where a request is from, and shows as text what a device says of itself", async () => {
    const home = newHome();
    const { url } = await authorityIn(home);
    const ask = async (platform: string) => {
      const body = new URLSearchParams({ client_id: "svc", platform });
      const response = await fetch(`${url}/oauth/device/code`, { method: "POST", body });
      const { verification_uri_complete: address } = (await response.json()) as { verification_uri_complete: string };
      return (await fetch(address)).text();
    };
    const page = await ask("linux-x86_64");
    expect(page).toContain(`<dd>this machine (${hostname()})</dd>`);
    expect(page).toContain("<dd>linux-x86_64</dd>");
    expect(page).toMatch(/<time datetime="[^"]+Z">\d\d:\d\d UTC<\/time>, less than a minute ago/);
    for (const hostile of ["<b>", "a".repeat(41), "x\u202ey", ""])
      expect(await ask(hostile)).toContain("<dd>not known</dd>");
  });

  test("answers a second click as the first, and not the other button", async () => {
    const { url } = await authorityIn(newHome());
    const code = await newCode(url);
    const browser = new Browser();
    await browser.get(code.verification_uri_complete);
    const click = (decision: string) => browser.post(`${url}/device`, { ...browser.fields, decision });
    for (const fetched of [false, true]) {
      for (const again of [1, 2]) {
        const done = await click("approve");
        expect([again, done.status]).toEqual([again, 200]);
        expect(await done.text()).toContain("Device approved");
      }
      expect((await click("deny")).status).toBe(409);
      // The same browser that comes back to the address; another one learns nothing.
      expect(await (await browser.get(code.verification_uri_complete)).text()).toContain("Device approved");
      expect((await fetch(code.verification_uri_complete)).status).toBe(404);
      if (!fetched) expect(await poll(url, code.device_code)).toMatchObject({ token_type: "Bearer" });
    }
  });

  test("answers to loopback names only, against DNS rebinding", async () => {
    const { url } = await authorityIn(newHome());
    const response = await fetch(`${url}/device`, { headers: { host: "evil.example" } });
    expect(response.status).toBe(421);
  });
});

describe("a code", () => {
  test("polled too fast is slowed down, more each time", async () => {
    let now = Date.now();
    const { url } = await authorityIn(newHome(), { now: () => now });
    const { device_code } = await newCode(url);
    expect(await poll(url, device_code)).toEqual({ error: "authorization_pending" });
    now += 500;
    expect(await poll(url, device_code)).toEqual({ error: "slow_down" });
    now += 4000;
    expect(await poll(url, device_code)).toEqual({ error: "slow_down" });
    now += 11_000;
    expect(await poll(url, device_code)).toEqual({ error: "authorization_pending" });
  });

  test("expires, for the terminal and for the page", async () => {
    let now = Date.now();
    const { url } = await authorityIn(newHome(), { codeSeconds: 60, now: () => now });
    const { device_code, verification_uri_complete } = await newCode(url);
    now += 60_001;
    expect(await poll(url, device_code)).toEqual({ error: "expired_token" });
    expect((await fetch(verification_uri_complete)).status).toBe(404);
    await newCode(url);
    expect(await poll(url, device_code)).toEqual({ error: "expired_token" });
  });

  test("is exchanged for one token", async () => {
    const { url } = await authorityIn(newHome(), { approve: "yes" });
    const { device_code } = await newCode(url);
    expect(await poll(url, device_code)).toMatchObject({ token_type: "Bearer" });
    expect(await poll(url, device_code)).toEqual({ error: "invalid_grant" });
  });

  test("needs the right grant and client", async () => {
    const { url } = await authorityIn(newHome(), { approve: "yes" });
    const { device_code } = await newCode(url);
    expect(await poll(url, device_code, { grant_type: "password" })).toEqual({ error: "unsupported_grant_type" });
    expect(await poll(url, device_code, { client_id: "other" })).toEqual({ error: "invalid_client" });
    expect(await poll(url, "made-up")).toEqual({ error: "invalid_grant" });
    const json = await fetch(`${url}/oauth/device/code`, { method: "POST", body: '{"client_id":"svc"}' });
    expect(json.status).toBe(400);
  });
});

describe("an authority for an organisation", () => {
  test("does not start where anyone could get a licence, or tokens would be sent in the clear", async () => {
    const home = newHome();
    for (const options of [
      { hostname: "0.0.0.0", approve: "yes" },
      { hostname: "0.0.0.0" },
      { hostname: "0.0.0.0", publicUrl: "http://127.0.0.1" },
      { publicUrl: "https://svc.example", approve: "yes" },
    ] as const) {
      expect(await failure(() => startAuthority({ home, ...options }))).toBeInstanceOf(ValueError);
    }
    expect(await failure(() => startAuthority({ home, publicUrl: "http://svc.example" }))).toBeInstanceOf(
      PermissionError,
    );
  });

  test("has an approval code where other machines can reach it", async () => {
    const server = newHome();
    const { url, asksApprovalCode } = await authorityIn(server, { publicUrl: "https://svc.example" });
    expect(asksApprovalCode).toBe(true);
    expect(url).toBe("https://svc.example");
    expect(readFileSync(authorityPaths(server).approvalCode, "utf8").trim()).toMatch(/^[\w-]{20}$/);
  });

  test("takes a wrong approval code for a guess, and the right one for an approval", async () => {
    // Behind a proxy: the authority listens on one address and has another in public.
    const server = newHome();
    const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const port = free.port ?? 0;
    await free.stop(true);
    const url = `http://127.0.0.1:${port}`;
    await authorityIn(server, { port, publicUrl: url });
    const code = readFileSync(authorityPaths(server).approvalCode, "utf8").trim();
    const client = newHome();
    const browser = new Browser();
    const onCode = async (shown: DeviceCode) => {
      await browser.get(shown.verificationUriComplete);
      const form = { ...browser.fields, decision: "approve", account: "ada@example.org" };
      expect((await browser.post(`${url}/device`, { ...form, approval_code: "wrong" })).status).toBe(403);
      // The device would refuse a licence with such an account, after the approval.
      for (const account of ["", "ada\u2028example", "a\u2029b", "a\u202eb", "a".repeat(129)])
        expect((await browser.post(`${url}/device`, { ...form, account, approval_code: code })).status).toBe(403);
      expect((await browser.post(`${url}/device`, { ...form, approval_code: code })).status).toBe(200);
    };
    const env = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
    await login({ home: client, env, endpoints: facesOf(url), onCode, build: LOCAL_BUILD });
    expect((await requireLogin(client, env, { build: LOCAL_BUILD })).account).toBe("ada@example.org");
    // Without its key this machine does not trust that authority.
    const error = await failure(() => requireLogin(client, {}, { build: LOCAL_BUILD }));
    expect(error.message).toContain("no key here");
  });

  test("takes an administrator's code in place of the approval code, and records who it was", async () => {
    const { url, ledger, code } = await organisation();
    const asked = await newCode(url, { platform: "linux-x86_64" });
    const browser = new Browser();
    await browser.get(asked.verification_uri_complete);
    const form = { ...browser.fields, decision: "approve", account: "ada@example.org" };
    for (const wrong of ["", "sva_", `${code}x`, code.slice(0, -1)]) {
      expect((await browser.post(`${url}/device`, { ...form, approval_code: wrong })).status).toBe(403);
    }
    expect((await browser.post(`${url}/device`, { ...form, approval_code: `${code} ` })).status).toBe(200);
    expect(await poll(url, asked.device_code)).toMatchObject({ token_type: "Bearer" });
    const denied = await newCode(url);
    await browser.get(denied.verification_uri_complete);
    await browser.post(`${url}/device`, { ...browser.fields, decision: "deny" });
    const events = ledger.audit
      .list({ limit: 2 })
      .map(({ event, actor, address, detail }) => [event, actor, address, detail]);
    expect(events).toEqual([
      ["login_denied", "approval page", "127.0.0.1", { platform: "", asked_from: "127.0.0.1" }],
      [
        "login_approved",
        "Ada",
        "127.0.0.1",
        { account: "ada@example.org", platform: "linux-x86_64", asked_from: "127.0.0.1" },
      ],
    ]);
    expect(JSON.stringify(ledger.audit.list({ limit: 9 }))).not.toContain(code);
  });
});
