/** What bounds guesses and open codes, and what never waits for it. */
import { describe, expect, test } from "bun:test";
import { addressGroup, clientAddress, proxiesOf } from "../../../src/trust/authority/addresses.ts";
import { Guesses } from "../../../src/trust/authority/guesses.ts";
import { authorityIn, newHome } from "../account/helpers.ts";
import { Browser, newCode, poll, proxied } from "./client.ts";

const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";

/** The n-th user code in the order of the alphabet. */
function codeOf(n: number): string {
  let code = "";
  for (let rest = n; code.length < 8; rest = Math.floor(rest / 20)) code = `${ALPHABET[rest % 20]}${code}`;
  return code;
}

const askFor = (url: string, from?: string) =>
  fetch(`${url}/oauth/device/code`, {
    method: "POST",
    headers: from === undefined ? {} : { "x-forwarded-for": from },
    body: new URLSearchParams({ client_id: "svc" }),
  });

describe("guesses of codes", () => {
  test("1,000 of them hit nothing, and the right code is shown and approved at once, in their midst and after", async () => {
    const { url } = await authorityIn(newHome());
    const guess = async (from: number, count: number) => {
      const answers = { 200: 0, 404: 0, 429: 0 } as Record<number, number>;
      for (let n = from; n < from + count; n++) {
        const response = await fetch(`${url}/device?user_code=${codeOf(n * 25_600_000)}`);
        answers[response.status] = (answers[response.status] ?? 0) + 1;
        if (response.status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      return answers;
    };
    const approve = async (code: Awaited<ReturnType<typeof newCode>>) => {
      const browser = new Browser();
      expect((await browser.get(code.verification_uri_complete)).status).toBe(200);
      const done = await browser.post(`${url}/device`, { ...browser.fields, decision: "approve" });
      expect(done.status).toBe(200);
      expect(await poll(url, code.device_code)).toMatchObject({ token_type: "Bearer" });
    };
    expect(await guess(0, 500)).toEqual({ 200: 0, 404: 20, 429: 480 });
    await approve(await newCode(url));
    const last = await newCode(url);
    expect(await guess(500, 500)).toEqual({ 200: 0, 404: 0, 429: 500 });
    await approve(last);
  });

  test("a window later wrong ones are answered as such again", async () => {
    let now = Date.now();
    const guessLimits = { perAddress: 5, windowMs: 60_000, chance: 1 };
    const { url } = await authorityIn(newHome(), { guessLimits, now: () => now });
    const statuses = async () => {
      const found: number[] = [];
      for (let n = 0; n < 6; n++) found.push((await fetch(`${url}/device?user_code=${codeOf(n)}`)).status);
      return found;
    };
    expect(await statuses()).toEqual([404, 404, 404, 404, 404, 429]);
    now += 60_001;
    expect(await statuses()).toEqual([404, 404, 404, 404, 404, 429]);
  });

  test("are looked up no more, for addresses over their limit, where a hit becomes likely", async () => {
    const guessLimits = { perAddress: 3, windowMs: 60_000, chance: 4.5 / 20 ** 8 };
    const { url } = await proxied({ guessLimits });
    const { verification_uri_complete: right } = await newCode(url);
    const get = async (address: string, from: string) =>
      (await fetch(address, { headers: { "x-forwarded-for": from } })).status;
    for (let n = 0; n < 4; n++) await get(`${url}/device?user_code=${codeOf(n)}`, "192.0.2.1");
    expect(await get(right, "192.0.2.1")).toBe(200);
    await get(`${url}/device?user_code=${codeOf(4)}`, "192.0.2.1");
    expect(await get(right, "192.0.2.1")).toBe(429);
    expect(await get(right, "192.0.2.2")).toBe(200);
  });

  test("are looked up always by the local authority", async () => {
    const guessLimits = { perAddress: 1, windowMs: 60_000, chance: 0 };
    const { url, apiUrl } = await authorityIn(newHome(), { privateApi: true, guessLimits });
    const { verification_uri_complete: right } = await newCode(apiUrl);
    for (let n = 0; n < 5; n++) await fetch(`${url}/device?user_code=${codeOf(n)}`);
    expect((await fetch(right)).status).toBe(200);
  });

  test("a thousand addresses that guess leave other addresses alone, and take bounded memory", () => {
    const guesses = new Guesses({ perAddress: 1, windowMs: 1000, chance: 1 });
    for (let n = 0; n < 20_000; n++) guesses.miss(`192.0.${n >> 8}.${n & 255}`, 1, 0);
    expect(guesses.miss("198.51.100.1", 1, 0)).toBeGreaterThan(0);
    expect(guesses.miss("198.51.100.1", 1, 1000)).toBe(0);
  });

  test("a clock that was a year ahead holds up no one once it is right again", () => {
    const guesses = new Guesses({ perAddress: 1, windowMs: 1000, chance: 0 });
    const ahead = 365 * 86_400_000;
    for (let n = 0; n < 3; n++) guesses.miss("192.0.2.1", 1, ahead);
    expect(guesses.pauseMs("192.0.2.1", ahead)).toBe(1000);
    expect(guesses.pauseMs("192.0.2.1", 0)).toBe(0);
    expect(guesses.miss("192.0.2.1", 1, 0)).toBe(0);
  });

  test("a wrong approval code is one, the right one after it is taken at once", async () => {
    const { url, approvalCode } = await proxied();
    const code = await newCode(url);
    const browser = new Browser();
    await browser.get(code.verification_uri_complete);
    const submit = async (approval_code: string) => {
      const form = { ...browser.fields, decision: "approve", account: "ada@example.org", approval_code };
      return (await browser.post(`${url}/device`, form)).status;
    };
    for (let n = 0; n < 20; n++) expect(await submit(`wrong ${n}`)).toBe(403);
    expect(await submit("wrong")).toBe(429);
    expect(await submit(approvalCode)).toBe(200);
  });
});

describe("open codes", () => {
  test("of one address are 250, with the time until there is room, and other addresses get theirs", async () => {
    let now = Date.now();
    const { url } = await proxied({ now: () => now });
    const statuses = new Set<number>();
    for (let n = 0; n < 250; n++) statuses.add((await askFor(url, "2001:db8:0:1::1")).status);
    expect([...statuses]).toEqual([200]);
    now += 60_000;
    // The same /64.
    const refused = await askFor(url, "2001:db8:0:1:ffff::2");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("540");
    expect(await refused.json()).toEqual({ error: "slow_down" });
    expect((await askFor(url, "2001:db8:0:2::1")).status).toBe(200);
    expect((await askFor(url, "192.0.2.7")).status).toBe(200);
    now += 540_001;
    expect((await askFor(url, "2001:db8:0:1::1")).status).toBe(200);
  });

  test("do not count once their decision was fetched", async () => {
    const { url } = await authorityIn(newHome());
    for (let n = 0; n < 252; n++) {
      const code = await newCode(url);
      const browser = new Browser();
      await browser.get(code.verification_uri_complete);
      await browser.post(`${url}/device`, { ...browser.fields, decision: n % 2 ? "approve" : "deny" });
      expect(await poll(url, code.device_code)).not.toEqual({ error: "authorization_pending" });
    }
  });

  test("do not count once a clock that was ahead is right again", async () => {
    let now = Date.now() + 50 * 365 * 86_400_000;
    const { url } = await authorityIn(newHome(), { now: () => now });
    for (let n = 0; n < 250; n++) expect((await askFor(url)).status).toBe(200);
    expect((await askFor(url)).status).toBe(429);
    now = Date.now();
    expect((await askFor(url)).status).toBe(200);
  });

  test("a login's own go with it", async () => {
    const home = newHome();
    for (let login = 0; login < 3; login++) {
      const { apiUrl, stop } = await authorityIn(home, { privateApi: true });
      for (let n = 0; n < 90; n++) expect((await askFor(apiUrl)).status).toBe(200);
      await stop();
    }
  });
});

describe("addresses", () => {
  test("are grouped by what one network or one machine has", () => {
    const group = (address: string) => addressGroup(address);
    expect(group("203.0.113.7")).toBe("203.0.113.7");
    expect(group("::ffff:203.0.113.7")).toBe("203.0.113.7");
    for (const own of ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"]) expect(group(own)).toBe("this machine");
    for (const one of ["2001:db8:0:1::1", "2001:0db8:0000:0001:ffff:ffff:ffff:ffff", "2001:DB8:0:1:0:0:0:9"])
      expect(group(one)).toBe("2001:db8:0:1::/64");
    expect(group("fe80::1%eth0")).toBe("fe80:0:0:0::/64");
    expect(group("::2")).toBe("0:0:0:0::/64");
    expect(group("64:ff9b::192.0.2.1")).toBe("64:ff9b:0:0::/64");
    expect(addressGroup(undefined)).toBe("unknown");
  });

  test("are what the proxy adds last, and only after one", () => {
    const of = (peer: string, forwarded: string | undefined, behind: boolean) =>
      clientAddress(
        peer,
        new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }),
        behind ? proxiesOf(["127.0.0.1"]) : undefined,
      );
    expect(of("127.0.0.1", "192.0.2.9, 203.0.113.7", true)).toBe("203.0.113.7");
    expect(of("127.0.0.1", "<b>", true)).toBeUndefined();
    expect(of("127.0.0.1", undefined, true)).toBeUndefined();
    expect(of("127.0.0.1", "203.0.113.7", false)).toBe("127.0.0.1");
    expect(of("198.51.100.2", "203.0.113.7", true)).toBe("198.51.100.2");
    expect(of("::ffff:198.51.100.2", "203.0.113.7", true)).toBe("198.51.100.2");
  });
});
