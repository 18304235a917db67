/** What every request goes through, on real sockets: whom it is from, what it may say, what of it is logged. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { buildInfo } from "../../../src/build-info.ts";
import { TimeoutError, ValueError } from "../../../src/errors.ts";
import type { LogEvent } from "../../../src/log.ts";
import { authorityPaths } from "../../../src/paths.ts";
import { proxiesOf } from "../../../src/trust/authority/addresses.ts";
import { Room } from "../../../src/trust/authority/server/room.ts";
import type { AuthorityOptions } from "../../../src/trust/authority/server/server.ts";
import { authorityIn, failure, newHome } from "../account/helpers.ts";
import { newCode, poll } from "./client.ts";
import { head, sendRaw } from "./raw-http.ts";

const PUBLIC = "https://svc.example.org";
const METADATA = "/.well-known/oauth-authorization-server";

/** An organisation's authority on a free port, and what it logs. */
async function organisation(options: Partial<AuthorityOptions> = {}) {
  const events: LogEvent[] = [];
  const home = newHome();
  const log = (event: LogEvent) => events.push(event);
  const { url, ...running } = await authorityIn(home, { organisation: true, log, ...options });
  return { url, home, events, ...running };
}

/** The same behind a proxy on this machine: `local` is where the proxy connects to. */
async function behindProxy(options: Partial<AuthorityOptions> = {}) {
  const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = free.port ?? 0;
  await free.stop(true);
  const started = await organisation({ port, publicUrl: PUBLIC, trustedProxies: ["127.0.0.1"], ...options });
  return { ...started, port, local: `http://127.0.0.1:${port}` };
}

const FORM = "Content-Type: application/x-www-form-urlencoded";
const issuerOf = (text: string) => /"issuer":"([^"]*)"/.exec(text)?.[1];

describe("the address that was asked for", () => {
  test("is the public one, whatever Host and the request line say", async () => {
    const { port } = await behindProxy();
    for (const request of [
      head(`GET ${METADATA}`, { host: "svc.example.org" }),
      head(`GET ${METADATA}`, { host: "evil.example" }),
      head(`GET ${METADATA}`, {
        host: "evil.example",
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "http",
      }),
      head(`GET ${METADATA}`, { host: "a b<>@#/?" }),
      head(`GET ${METADATA}`, { host: "" }),
      head(`GET http://evil.example${METADATA}`),
      head(`GET http://evil.example:99/../x/..${METADATA}`),
      `GET ${METADATA} HTTP/1.0\r\n\r\n`,
      `GET ${METADATA} HTTP/1.1\r\nHost: one\r\nHost: two\r\n\r\n`,
    ]) {
      const { statuses, text } = await sendRaw(port, request);
      expect([request, statuses, issuerOf(text)]).toEqual([request, [200], PUBLIC]);
      expect(text).not.toContain("evil");
    }
  });

  test("is the only one whose page decides, whatever Host says", async () => {
    const { port } = await behindProxy();
    const post = (headers: Record<string, string>) =>
      sendRaw(port, head("POST /device", { ...headers, "content-length": "0", "sec-fetch-site": "same-origin" }));
    for (const own of ["https://svc.example.org", "https://evil.example"]) {
      const { text } = await post({ host: "evil.example", origin: own });
      expect([own, text.includes("This form did not come from this site.")]).toEqual([own, own.includes("evil")]);
    }
  });

  test("is unknown where it is not a path of ours", async () => {
    const { port } = await behindProxy();
    for (const target of [`//svc.example.org${METADATA}`, "/%2e%2e/healthz%00", "/device/", "/nothing", "*"]) {
      const { statuses, text } = await sendRaw(port, head(`GET ${target}`));
      expect([target, statuses[0]! >= 400 && statuses[0]! < 500]).toEqual([target, true]);
      expect(text).not.toContain(target);
    }
    expect((await sendRaw(port, head("CONNECT a.example:443"))).statuses).toEqual([400]);
  });

  test("is in everything that the metadata says", async () => {
    const { local } = await behindProxy();
    expect(await (await fetch(local + METADATA)).json()).toEqual({
      issuer: PUBLIC,
      device_authorization_endpoint: `${PUBLIC}/oauth/device/code`,
      token_endpoint: `${PUBLIC}/oauth/device/token`,
      jwks_uri: `${PUBLIC}/.well-known/jwks.json`,
      grant_types_supported: ["urn:ietf:params:oauth:grant-type:device_code"],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ["none"],
      svc_api: PUBLIC,
      svc_packages: PUBLIC,
      svc_enrollment_endpoint: `${PUBLIC}/v1/svc/enroll`,
      svc_license_keys: `${PUBLIC}/v1/license-keys`,
    });
  });

  test("may have a path, which a proxy passes on or strips", async () => {
    const { local } = await behindProxy({ publicUrl: `${PUBLIC}/svc/` });
    for (const path of [`${METADATA}/svc`, `/svc${METADATA}`, METADATA]) {
      const answer = (await (await fetch(local + path)).json()) as Record<string, unknown>;
      expect(answer).toMatchObject({ issuer: `${PUBLIC}/svc`, token_endpoint: `${PUBLIC}/svc/oauth/device/token` });
    }
    expect((await fetch(`${local}${METADATA}/other`)).status).toBe(404);
    expect((await fetch(`${local}/svcx${METADATA}`)).status).toBe(404);
    const { verification_uri_complete: page } = await newCode(`${local}/svc`);
    expect(page).toStartWith(`${PUBLIC}/svc/device?user_code=`);
    expect((await fetch(`${local}/svc/device`)).status).toBe(200);
  });
});

describe("bytes that no client sends", () => {
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const post = (headers: string, body: string) =>
    `POST /oauth/device/code HTTP/1.1\r\nHost: x\r\n${FORM}\r\n${headers}\r\n\r\n${body}`;
  const hidden = head("GET /healthz");
  const CASES: [string, string, number][] = [
    ["two lengths", post("Content-Length: 4\r\nContent-Length: 5", "abcde"), 400],
    ["a length with a sign", post("Content-Length: +4", "abcd"), 400],
    ["a length and chunks", post("Content-Length: 4\r\nTransfer-Encoding: chunked", `0\r\n\r\n${hidden}`), 400],
    ["an unknown encoding", post("Transfer-Encoding: xchunked", "0\r\n\r\n"), 400],
    ["chunks beyond the limit", post("Transfer-Encoding: chunked", chunk + chunk), 413],
    ["a length beyond the limit", post("Content-Length: 65537", ""), 413],
    ["a folded header", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400],
    ["a space before the colon", "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", 400],
    ["no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400],
    ["a header of 20 KB", head("GET /healthz", { host: "x", a: "y".repeat(20_000) }), 431],
    ["300 headers", head("GET /healthz", Object.fromEntries([..."x".repeat(300)].map((_, n) => [`h${n}`, "1"]))), 431],
    ["TLS where there is none", "\x16\x03\x01\x00\xa5", 400],
  ];
  test.each(CASES)("%s are refused and end the connection", async (_, bytes, status) => {
    const { url } = await organisation();
    const { statuses, closed } = await sendRaw(Number(new URL(url).port), bytes, 2);
    expect({ statuses, closed }).toEqual({ statuses: [status], closed: true });
  });

  test("a body that does not come ends the connection", async () => {
    const { url, events } = await organisation({ idleSeconds: 1 });
    const { statuses, closed } = await sendRaw(Number(new URL(url).port), post("Content-Length: 100", "abc"));
    expect({ statuses, closed }).toEqual({ statuses: [], closed: true });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(events.map(({ level, event }) => `${level} ${event}`)).toEqual(["info request", "info request"]);
  });
});

describe("a proxy", () => {
  test("is one that is named, as address or network", () => {
    const has = (entries: string[], address: string) => proxiesOf(entries)?.has(address);
    expect(has(["10.0.0.0/8"], "10.200.0.1")).toBe(true);
    expect(has(["10.0.0.0/8"], "11.0.0.1")).toBe(false);
    expect(has(["192.0.2.1", "2001:db8::/32"], "2001:db8:ffff::1")).toBe(true);
    expect(has(["::1"], "0:0:0:0:0:0:0:1")).toBe(true);
    expect(has(["192.0.2.1"], "192.0.2.2")).toBe(false);
    expect(proxiesOf([])).toBeUndefined();
  });

  const WRONG = [
    "",
    "proxy.example.org",
    "10.0.0.0/33",
    "::1/129",
    "10.0.0",
    "10.0.0.0/8/8",
    "fe80::1%eth0",
    "10.0.0.1:80",
  ];
  test.each(WRONG)("is not '%s'", async (entry) => {
    const error = await failure(async () => proxiesOf([entry]), ValueError);
    expect(error.message).toBe(
      `trusted proxy '${entry}' is neither an address, as 192.0.2.1 or ::1, nor a network, as 10.0.0.0/8`,
    );
  });

  test("is not every address", async () => {
    expect((await failure(async () => proxiesOf(["0.0.0.0/0"]))).message).toContain("covers every address");
  });

  const CLIENTS: [string | undefined, string | null][] = [
    ["203.0.113.7", "203.0.113.7"],
    ["192.0.2.9, 203.0.113.7", "203.0.113.7"],
    ["192.0.2.9, 203.0.113.7, 127.0.0.1", "203.0.113.7"],
    ["2001:db8::5", "2001:db8::5"],
    ["[2001:db8::5]:443", "2001:db8::5"],
    ["203.0.113.7:5555", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["127.0.0.1", "127.0.0.1"],
    ["203.0.113.7, unknown", null],
    ["203.0.113.7, <b>", null],
    ["", null],
    [undefined, null],
  ];
  test.each(CLIENTS)("that forwards for %p has client %p", async (forwarded, address) => {
    const { local, events } = await behindProxy();
    const headers: Record<string, string> = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
    await fetch(`${local}/healthz`, { headers });
    expect(events.filter(({ event }) => event === "request").map(({ fields }) => fields?.address)).toEqual([address]);
  });

  test("that is not named is not believed, nor are headers without one", async () => {
    const headers = { "x-forwarded-for": "203.0.113.7", forwarded: "for=203.0.113.7", "x-real-ip": "203.0.113.7" };
    for (const options of [{}, { trustedProxies: ["192.0.2.1"], publicUrl: PUBLIC }, { publicUrl: PUBLIC }]) {
      const { events, local } = await behindProxy({ trustedProxies: undefined, ...options });
      expect((await fetch(`${local}/healthz`, { headers })).status).toBe(200);
      expect(events.at(-1)?.fields?.address).toBe("127.0.0.1");
    }
  });

  test("is the only one that is answered without encryption", async () => {
    // 0.0.0.0 has other addresses of this machine too: a connection from one of those is from elsewhere.
    const own = Object.values((await import("node:os")).networkInterfaces())
      .flat()
      .find((one) => one?.family === "IPv4" && !one.internal)?.address;
    if (own === undefined) return;
    const { port, events } = await behindProxy({ hostname: "0.0.0.0", trustedProxies: ["192.0.2.1"] });
    const headers = { "x-forwarded-for": "203.0.113.7" };
    const refused = await fetch(`http://${own}:${port}/healthz`, { headers });
    expect([refused.status, await refused.json()]).toEqual([403, { error: "use_https" }]);
    expect(events.at(-1)?.fields).toMatchObject({ status: 403, address: own });
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  });
});

describe("limits", () => {
  test("hold for requests at once, in all and of one address", () => {
    const room = new Room(5, 3);
    expect([1, 2, 3, 4].map(() => room.enter("a"))).toEqual([true, true, true, false]);
    expect([1, 2, 3].map(() => room.enter("b"))).toEqual([true, true, false]);
    room.leave("a");
    expect([room.enter("a"), room.enter("a"), room.enter(undefined)]).toEqual([true, false, false]);
    room.leave("b");
    expect(room.enter(undefined)).toBe(true);
  });

  test("requests beyond them are answered 503, and others afterwards", async () => {
    const { url, events } = await organisation({ room: new Room(1, 1) });
    const form = "client_id=svc";
    const head = `POST /oauth/device/code HTTP/1.1\r\nHost: x\r\n${FORM}\r\nContent-Length: ${form.length}\r\n\r\n`;
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(head + form.slice(0, 3)));
    const answered = new Promise<string>((resolve) => socket.on("data", (data) => resolve(String(data))));
    let refused: Response;
    do refused = await fetch(`${url}/healthz`);
    while (refused.status === 200);
    expect([refused.status, await refused.json()]).toEqual([503, { error: "temporarily_unavailable" }]);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(events.at(-1)).toMatchObject({ level: "warn", fields: { status: 503, route: "-" } });
    socket.write(form.slice(3));
    expect(await answered).toStartWith("HTTP/1.1 200 OK");
    socket.destroy();
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test("a wrong secret is answered 429 once an address has sent many, a right one never", async () => {
    const { url } = await organisation({ approve: "yes", missesOfAddress: 3 });
    const { access_token: token } = await poll(url, (await newCode(url)).device_code);
    const ask = async (secret: unknown) => {
      const headers = { authorization: `Bearer ${secret}` };
      const response = await fetch(`${url}/v1/svc/onboard`, { method: "POST", headers });
      return [response.status, response.headers.has("retry-after")];
    };
    for (let n = 0; n < 3; n++) expect(await ask("svt_wrong")).toEqual([401, false]);
    expect(await ask("svt_wrong")).toEqual([429, true]);
    // What it lacks now is a device.
    expect(await ask(token)).toEqual([400, false]);
  });

  test("wrong secrets of one address are not counted against another", async () => {
    const { local } = await behindProxy({ missesOfAddress: 1 });
    const ask = async (from: string) => {
      const headers = { authorization: "Bearer svt_wrong", "x-forwarded-for": from };
      return (await fetch(`${local}/v1/svc/onboard`, { method: "POST", headers })).status;
    };
    expect(await ask("192.0.2.1")).toBe(401);
    expect(await ask("192.0.2.1")).toBe(429);
    expect(await ask("192.0.2.2")).toBe(401);
  });
});

describe("records that cannot be used", () => {
  test("are answered 503, and everything works once they can be", async () => {
    const { url, home, events } = await organisation();
    const ask = () =>
      fetch(`${url}/oauth/device/code`, { method: "POST", body: new URLSearchParams({ client_id: "svc" }) });
    const other = new Database(authorityPaths(home).ledger);
    other.run("BEGIN EXCLUSIVE");
    const refused = await ask();
    expect([refused.status, await refused.json()]).toEqual([503, { error: "temporarily_unavailable" }]);
    expect(refused.headers.get("retry-after")).toBe("5");
    const unwell = await fetch(`${url}/healthz`);
    expect([unwell.status, await unwell.json()]).toEqual([
      503,
      { status: "unavailable", version: buildInfo().version },
    ]);
    const failures = events.filter(({ level }) => level === "error");
    expect(failures.map(({ event }) => event)).toEqual(["failure", "unhealthy"]);
    expect(failures[0]?.fields).toEqual({ route: "/oauth/device/code", code: "TimeoutError.locked" });
    other.run("ROLLBACK");
    other.close();
    expect((await ask()).status).toBe(200);
  });

  test("are a sentence where another process has them locked at the start", async () => {
    const { home, stop } = await organisation();
    await stop();
    const other = new Database(authorityPaths(home).ledger);
    other.run("BEGIN IMMEDIATE");
    const error = await failure(() => authorityIn(home, { organisation: true }), TimeoutError);
    expect(error.message).toBe("another process has locked the authority's ledger.sqlite: try again");
    other.run("ROLLBACK");
    other.close();
    await authorityIn(home, { organisation: true });
  });
});
