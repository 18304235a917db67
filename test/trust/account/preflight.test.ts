/** What is checked of an authority before anyone is asked. */
import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { readdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { PermissionError, RuntimeError, TimeoutError, ValueError } from "../../../src/errors.ts";
import { type AuthorityFlags, loginTarget } from "../../../src/trust/account/login/login-target.ts";
import { checkClock, preflight } from "../../../src/trust/account/login/preflight.ts";
import { startAuthority } from "../../../src/trust/authority/server/server.ts";
import { freePort } from "../../free-port.ts";
import { testKey } from "../../keys.ts";
import { JWKS, jwkOf, METADATA, organisation } from "./front.ts";
import { failure, fakeServer, keepForTest, LOCAL_BUILD, newHome } from "./helpers.ts";
import { askedFor, enter, fileOf, fingerprint, flagsOf } from "./organisation-login.ts";

describe("before anyone is asked", () => {
  const hung = () => new Promise<Response>(() => {});
  const big = () =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) }), {
      headers: { "content-type": "application/json" },
    });

  test("refused is an authority that is another, or is not one", async () => {
    const front = await organisation();
    const metadata = await front.metadata();
    const weak = testKey("license-weak", 2048).publicPem;
    const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({
      type: "spki",
      format: "pem",
    });
    const json = (value: unknown) => () => Response.json(value);
    const text = (value: string) => () => new Response(value, { headers: { "content-type": "application/json" } });
    const status =
      (code: number, headers = {}) =>
      () =>
        new Response(null, { status: code, headers });
    const cases: [string, string, () => Response | Promise<Response>, unknown, RegExp][] = [
      ["none", METADATA, status(404), RuntimeError, /is not an authority of svc: it has nothing at/],
      ["a fault", METADATA, status(500), RuntimeError, /answered with status 500 when asked for its metadata/],
      ["HTML", METADATA, text("<html>"), RuntimeError, /metadata that cannot be used: it is not JSON/],
      ["a list", METADATA, text("[]"), RuntimeError, /its metadata that is not a JSON object/],
      [
        "another issuer",
        METADATA,
        json({ ...metadata, issuer: "https://evil.example" }),
        PermissionError,
        /says that it is "https:\/\/evil/,
      ],
      [
        "a longer issuer",
        METADATA,
        json({ ...metadata, issuer: `${front.url}/x` }),
        PermissionError,
        /says that it is/,
      ],
      ["no issuer", METADATA, json({ ...metadata, issuer: undefined }), PermissionError, /says that it is nothing/],
      [
        "a token elsewhere",
        METADATA,
        json({ ...metadata, token_endpoint: "https://evil.example/t" }),
        PermissionError,
        /'token_endpoint' at another origin/,
      ],
      [
        "packages elsewhere",
        METADATA,
        json({ ...metadata, svc_packages: "https://evil.example" }),
        PermissionError,
        /'svc_packages' at another origin/,
      ],
      [
        "keys elsewhere",
        METADATA,
        json({ ...metadata, jwks_uri: "http://127.0.0.1:1/" }),
        PermissionError,
        /'jwks_uri' at another origin/,
      ],
      ["no keys", METADATA, json({ ...metadata, jwks_uri: undefined }), RuntimeError, /without a usable 'jwks_uri'/],
      [
        "an address that is not one",
        METADATA,
        json({ ...metadata, token_endpoint: 7 }),
        RuntimeError,
        /without a usable 'token_endpoint'/,
      ],
      [
        "a redirect",
        METADATA,
        status(302, { location: "https://evil.example/" }),
        PermissionError,
        /redirects to another origin/,
      ],
      [
        "a key twice",
        METADATA,
        text(JSON.stringify(metadata).replace("{", `{"issuer":"x",`)),
        RuntimeError,
        /a key stands twice/,
      ],
      ["without end", METADATA, big, ValueError, /more than \d+ bytes/],
      ["no keys at all", JWKS, json({ keys: [] }), PermissionError, /has another licence key than the one given/],
      [
        "keys that are not valid",
        JWKS,
        json({ keys: [7, null, { kty: "RSA" }, { kty: "RSA", n: {}, e: [] }] }),
        PermissionError,
        /another licence key/,
      ],
      [
        "another key",
        JWKS,
        json({ keys: [jwkOf(testKey("foreign").publicPem)] }),
        PermissionError,
        /another licence key/,
      ],
      ["a key of a curve", JWKS, json({ keys: [jwkOf(String(elliptic))] }), PermissionError, /another licence key/],
      [
        "our id on another key",
        JWKS,
        json({ keys: [{ ...jwkOf(testKey("foreign").publicPem), kid: fingerprint(front.publicPem).slice(7) }] }),
        PermissionError,
        /another licence key/,
      ],
      [
        "keys twice",
        JWKS,
        text('{"keys":[],"keys":[]}'),
        RuntimeError,
        /its keys that cannot be used: a key stands twice/,
      ],
      ["keys without end", JWKS, big, ValueError, /more than \d+ bytes/],
    ];
    const home = newHome();
    const flags = flagsOf(front);
    for (const [, path, answer, kind, message] of cases) {
      front.instead[path] = answer;
      for (const licensePubkey of [flags.licensePubkey!, fingerprint(front.publicPem)]) {
        const error = await failure(() => enter(home, { ...flags, licensePubkey }));
        expect(error.message).toMatch(message);
        expect(error).toBeInstanceOf(kind as never);
      }
      delete front.instead[path];
    }
    // The key of a fingerprint has to be large enough as well, and so has that of a file.
    front.instead[JWKS] = json({ keys: [jwkOf(weak)] });
    for (const licensePubkey of [fingerprint(weak), fileOf(newHome(), "weak.pem", weak)])
      expect((await failure(() => enter(home, { ...flags, licensePubkey }))).message).toContain(
        "2048 bits, at least 3072",
      );
    expect(askedFor(front)).toEqual([]);
    expect(readdirSync(home)).toEqual([]);
  });

  test("refused are flags that cannot be used", async () => {
    const home = newHome();
    const at = { authority: "https://svc.example" };
    const cases: [AuthorityFlags, RegExp][] = [
      [{ authority: "svc.example" }, /--authority: 'svc.example' is not an address/],
      [{ authority: "https://svc.example/?x" }, /--authority: .* is not a plain https address/],
      [{ authority: "http://svc.example" }, /--authority: plain http to svc.example is refused/],
      [{ authority: "https://me:pw@svc.example" }, /must not hold a user name/],
      [at, /--authority needs --license-pubkey/],
      [{ licensePubkey: "SHA256:x" }, /--license-pubkey needs --authority URL/],
      [{ caFile: "x" }, /--ca-file needs --authority URL/],
      [{ ...at, licensePubkey: "SHA256:short" }, /a fingerprint is SHA256: and 43/],
      [{ ...at, licensePubkey: join(home, "none") }, /--license-pubkey: there is no file/],
      [{ ...at, licensePubkey: home }, /--license-pubkey: '.*' is a folder, not a regular file/],
      [
        { ...at, licensePubkey: fileOf(home, "a", "x") },
        /--license-pubkey: the licence key given is not a public key in PEM/,
      ],
      [{ ...at, licensePubkey: fileOf(home, "b", testKey("license").privatePem) }, /is a private key/],
    ];
    for (const [flags, message] of cases) {
      const error = await failure(() => loginTarget({ home, env: {}, build: LOCAL_BUILD }, flags));
      expect(error.message).toMatch(message);
    }
  });

  test("a server that hangs is given up, and so is a login that is interrupted", async () => {
    const front = await organisation();
    front.instead[METADATA] = hung;
    const target = (await loginTarget({ home: newHome(), env: {}, build: LOCAL_BUILD }, flagsOf(front)))!;
    expect(await failure(() => preflight(target, { timeoutMs: 50 }))).toBeInstanceOf(TimeoutError);
    front.instead[METADATA] = () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }));
    expect(await failure(() => preflight(target, { timeoutMs: 50 }))).toBeInstanceOf(TimeoutError);
    const interrupted = await failure(() => preflight(target, { signal: AbortSignal.abort() }));
    expect(interrupted.message).toBe("cancelled");
  });

  test("a port that is something else is given up or cannot be reached", async () => {
    const sentences = {
      silent: /^the accounts server at https:\/\/localhost:\d+ did not answer in time$/,
      closing: /^cannot reach the accounts server at https:\/\/localhost:\d+: check the address/,
      plain: /^cannot reach the accounts server at https:\/\/localhost:\d+: check the address/,
    };
    for (const [kind, message] of Object.entries(sentences)) {
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        sockets.push(socket);
        socket.on("error", () => {});
        if (kind === "closing") socket.destroy();
        if (kind === "plain") socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
      });
      const { promise, resolve } = Promise.withResolvers<void>();
      server.listen(0, "127.0.0.1", resolve);
      await promise;
      const authority = `https://localhost:${(server.address() as { port: number }).port}`;
      const licensePubkey = fingerprint(testKey("license").publicPem);
      const target = await loginTarget({ home: newHome(), env: {}, build: LOCAL_BUILD }, { authority, licensePubkey });
      expect((await failure(() => preflight(target!, { timeoutMs: 300 }))).message).toMatch(message);
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  test("an authority below a path is found, also where a proxy leads nothing else to it", async () => {
    for (const isAllLed of [true, false]) {
      let port = 0;
      const server = fakeServer((request, path) =>
        isAllLed || path.startsWith("/svc/")
          ? fetch(`http://127.0.0.1:${port}${path}`, { headers: request.headers })
          : new Response(null, { status: 404 }),
      );
      const [data, url] = [newHome(), `${server.url}/svc`];
      // Only now: the proxy could have been given the port that was free.
      port = freePort();
      const authority = await startAuthority({ home: newHome(), data, publicUrl: url, port });
      keepForTest(authority);
      const licensePubkey = fileOf(newHome(), "key.pem", authority.licensePublicKeyPem);
      const target = await loginTarget(
        { home: newHome(), env: {}, build: LOCAL_BUILD },
        { authority: url, licensePubkey },
      );
      expect((await preflight(target!)).pin).toMatchObject({ issuer: url });
      const root = await loginTarget(
        { home: newHome(), env: {}, build: LOCAL_BUILD },
        { authority: server.url, licensePubkey },
      );
      expect((await failure(() => preflight(root!))).message).toMatch(/is not an authority of svc|says that it is/);
    }
  });

  test("the clocks are compared: one that is behind is refused with both times, one that is ahead is said", async () => {
    const front = await organisation();
    const metadata = await front.metadata();
    const at = (seconds: number) => () =>
      Response.json(metadata, { headers: { date: new Date(Date.now() + seconds * 1000).toUTCString() } });
    const home = newHome();
    front.instead[METADATA] = at(3600);
    const error = await failure(() => enter(home, flagsOf(front)), RuntimeError);
    expect(error.message).toMatch(/behind.*here it is \d{4}-.* UTC, at http:\S+ \d{4}-.* UTC\. Set it first$/);
    expect(readdirSync(home)).toEqual([]);
    // Also where the environment names it, and nothing else is checked.
    const env = { SVC_ACCOUNTS_URL: front.url, SVC_LICENSE_PUBKEY: front.publicPem };
    expect((await failure(() => enter(home, {}, { env }))).message).toContain("behind");
    expect(askedFor(front)).toEqual([]);
    front.instead[METADATA] = at(-3600);
    expect((await enter(home, flagsOf(front)))?.notes).toEqual([expect.stringContaining("ahead: here it is")]);
    for (const seconds of [-280, 280]) {
      front.instead[METADATA] = at(seconds);
      expect((await enter(home, flagsOf(front)))?.notes).toEqual([]);
    }
    expect(checkClock({ headers: new Headers({ date: "yesterday" }) }, front.url)).toEqual([]);
  });
});
