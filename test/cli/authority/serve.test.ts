/** `svc authority serve`: its flags, what it prints and logs, and how it ends. */
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { termsOf } from "../../../src/cli/authority/license-flags.ts";
import { certificateOf } from "../../../src/cli/authority/serve-flags.ts";
import { PrivateAuthority } from "../../e2e/certificate.ts";
import { testKey } from "../../keys.ts";
import { failure } from "../../trust/account/helpers.ts";
import { Browser, newCode, poll } from "../../trust/authority/client.ts";
import { Device, post } from "../../trust/authority/device.ts";
import { FAKE_BUILD, start, svc, temporaryFolder } from "../support.ts";

const preload = [FAKE_BUILD];
const SERVE = ["authority", "serve"];

/** A server and what it has printed so far; it listens. */
async function serving(words: string[], env: Record<string, string>) {
  const child = start([...SERVE, ...words], { preload, env });
  const printed = { stdout: "", stderr: "" };
  const listens = Promise.withResolvers<void>();
  const read = async (name: "stdout" | "stderr") => {
    const decoder = new TextDecoder();
    for await (const bytes of child[name]) {
      printed[name] += decoder.decode(bytes, { stream: true });
      if (name === "stdout" && printed.stdout.includes("\n")) listens.resolve();
    }
    listens.reject(new Error(printed.stderr));
  };
  const all = Promise.all([read("stdout"), read("stderr")]);
  all.catch(() => {});
  await listens.promise;
  const end = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    const code = await child.exited;
    await all.catch(() => {});
    return code;
  };
  return { child, printed, end };
}

describe("what is wrong with a flag is said, and nothing is made", () => {
  const CASES: [string[], string][] = [
    [["--port", "99999"], "--port: '99999' is not a port"],
    [["--license-days", "0"], "--license-days: '0' must be a whole number of days from 1 to 3650"],
    [["--license-days", "1.5"], "--license-days: '1.5' must be a whole number of days from 1 to 3650"],
    [["--grace-days", "-1"], "--grace-days: '-1' must be a whole number of days from 0 to 3650"],
    [["--tier", "Gold!"], "--tier: 'Gold!' must be up to 40 lower-case letters, digits, - and _"],
    [["--feature", "mcp,everything"], "--feature: 'everything' is not a feature; there are memory, mcp, repo, serve"],
    [["--trusted-proxy", "10.0.0.0/40"], "trusted proxy '10.0.0.0/40' is neither an address, as 192.0.2.1 or ::1, nor"],
    [["--public-url", "svc.example.org"], "--public-url: 'svc.example.org' is not an address"],
    [["--tls-cert", "cert.pem"], "--tls-cert and --tls-key belong together: give both"],
  ];
  test.each(CASES)("svc authority serve %p", async (words, message) => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const { code, stdout, stderr } = await svc([...SERVE, ...words], { preload, env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(statSync(env.SVC_HOME, { throwIfNoEntry: false })).toBeUndefined();
  });

  test("and what it may not do", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const key = join(folder.path, "key.pem");
    writeFileSync(key, testKey("license").privatePem, { mode: 0o644 });
    chmodSync(key, 0o644);
    for (const [words, message] of [
      [["--host", "0.0.0.0"], "listening on 0.0.0.0 needs a certificate, or a trusted proxy in front"],
      [["--host", "0.0.0.0", "--public-url", "https://svc.example.org"], "needs a certificate, or a trusted proxy"],
      [["--bundles", join(folder.path, "none")], "the folder of bundles"],
      [["--license-key", join(folder.path, "none")], "--license-key: there is no file"],
      [["--license-key", key], "others can reach the secret file"],
    ] as const) {
      const { code, stderr } = await svc([...SERVE, ...words], { preload, env });
      expect(code).toBe(1);
      expect(stderr).toContain(message);
      expect(statSync(env.SVC_HOME, { throwIfNoEntry: false })).toBeUndefined();
    }
  });
});

test("a port that is taken, and which command line adds an administrator, are said", async () => {
  using folder = temporaryFolder();
  const data = join(folder.path, "data");
  const env = { SVC_HOME: join(folder.path, "home") };
  const first = await serving(["--data", data], env);
  const port = /:(\d+)\n/.exec(first.printed.stdout)?.[1] ?? "";
  const { code, stderr } = await svc([...SERVE, "--port", port], { preload, env });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `svc: cannot listen on 127.0.0.1:${port} (EADDRINUSE): another server listens there: stop it, or name another port\n`,
  });
  await first.end();
  expect(first.printed.stderr).toContain(`with a code from: svc authority admin add NAME --data '${data}'\n`);
});

test("licences are of a team, for 30 days and 14 of grace, with every feature, where nothing else is said", () => {
  const features = ["memory", "mcp", "repo", "serve"];
  const given = { tier: undefined, "grace-days": undefined, feature: [] };
  expect(termsOf(given)).toEqual({ tier: "team", features, offlineGraceDays: 14 });
  const other = { tier: "staff", "grace-days": 0, feature: ["mcp,memory", "mcp"] };
  expect(termsOf(other)).toEqual({ tier: "staff", features: ["mcp", "memory"], offlineGraceDays: 0 });
});

describe("a certificate", () => {
  const folder = temporaryFolder();
  afterAll(() => folder[Symbol.dispose]());
  const file = (name: string, text: string) => {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    return path;
  };
  const authority = new PrivateAuthority();
  const own = authority.issue("svc.example.org", "127.0.0.1");
  const refusal = async (cert: string, key: string, now?: number) =>
    (await failure(async () => certificateOf(cert, key, "svc.example.org", now))).message;

  test("that fits is taken, with those that sign it, and a note where it ends soon or is for another host", () => {
    const cert = file("cert.pem", own.cert + authority.cert);
    const key = file("key.pem", own.key);
    expect(certificateOf(undefined, undefined)).toBeUndefined();
    expect(certificateOf(cert, key, "svc.example.org")).toEqual({
      cert: own.cert + authority.cert,
      key: own.key,
      notes: [],
    });
    expect(certificateOf(cert, key, "127.0.0.1")?.notes).toEqual([]);
    expect(certificateOf(cert, key, "other.example.org")?.notes).toEqual([
      `the certificate in '${cert}' is not for 'other.example.org': machines will refuse it`,
    ]);
    const late = Date.parse("2049-12-25T00:00:00Z");
    expect(certificateOf(cert, key, "svc.example.org", late)?.notes).toEqual([
      `the certificate in '${cert}' expires in 6 days`,
    ]);
  });

  test("that cannot be used is refused, with what to do", async () => {
    const cert = file("cert.pem", own.cert);
    const key = file("key.pem", own.key);
    const other = file("other.pem", authority.issue("svc.example.org").key);
    const junk = file("junk.pem", "hello");
    const encrypted = file(
      "encrypted.pem",
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    const large = file("large.pem", "x".repeat(300_000));
    expect(await refusal(junk, key)).toBe(`--tls-cert: '${junk}' holds no certificate in PEM`);
    expect(await refusal(cert, junk)).toBe(`--tls-key: '${junk}' holds no private key in PEM`);
    expect(await refusal(key, cert)).toContain("holds no certificate in PEM");
    expect(await refusal(cert, encrypted)).toContain("is encrypted: 'openssl pkey -in FILE -out FILE' removes");
    expect(await refusal(cert, other)).toBe(
      `--tls-key: '${other}' is not the key of the first certificate in '${cert}'`,
    );
    expect(await refusal(cert, key, Date.parse("2050-06-01"))).toBe(
      `--tls-cert: '${cert}' expired on 2049-12-31T23:59:59.000Z: renew it`,
    );
    expect(await refusal(cert, key, Date.parse("2019-06-01"))).toContain("is valid from 2020-01-01T00:00:00.000Z, and");
    expect(await refusal(join(folder.path, "none.pem"), key)).toContain("--tls-cert: there is no file '");
    expect(await refusal("/dev/zero", key)).toBe("--tls-cert: 'zero' is a device, not a regular file");
    expect(await refusal(large, key)).toBe("--tls-cert: 'large.pem' has 300000 bytes; at most 262144 are accepted");
  });
});

test("it says what people need, keeps all in its folder, logs no secret, and ends with 0", async () => {
  using folder = temporaryFolder();
  const env = { SVC_HOME: join(folder.path, "home") };
  const data = join(folder.path, "data");
  mkdirSync(join(data, "bundles", "9.9.9"), { recursive: true, mode: 0o700 });
  chmodSync(data, 0o700);
  writeFileSync(join(data, "bundles", "9.9.9", "linux-arm64.bundle"), "no bundle");
  writeFileSync(join(data, "bundles", "9.9.9", "windows.bundle"), "");
  const { printed, end } = await serving(["--data", data, "--log-format", "json", "--json"], env);
  const greeting = JSON.parse(printed.stdout);
  const { url, license_key_fingerprint: fingerprint, approval_code_file: codeFile } = greeting;
  expect(greeting).toMatchObject({
    data,
    login: `svc login --authority ${url} --license-pubkey ${fingerprint}`,
    asks_approval_code: true,
  });
  expect(fingerprint).toMatch(/^SHA256:[\w-]{43}$/);
  expect(readFileSync(join(data, "license_key.pub.pem"), "utf8")).toBe(greeting.license_public_key);
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: Record<string, string>[] };
  expect(keys.map(({ kid, alg, kty }) => ({ kid, alg, kty }))).toEqual([
    { kid: fingerprint.slice("SHA256:".length), alg: "RS256", kty: "RSA" },
  ]);

  // A login by hand, so that every secret of it is known.
  const approvalCode = readFileSync(codeFile, "utf8").trim();
  const code = await newCode(url);
  const browser = new Browser();
  await browser.get(code.verification_uri_complete);
  const form = { ...browser.fields, decision: "approve", account: "ada@example.org", approval_code: approvalCode };
  expect((await browser.post(`${url}/device`, form)).status).toBe(200);
  const { access_token: token } = (await poll(url, code.device_code)) as { access_token: string };
  const device = new Device();
  const onboarded = await post(`${url}/v1/svc/onboard`, token, device.proof("onboard", token));
  const { api_key: apiKey } = (await onboarded.json()) as { api_key: string };
  expect(apiKey).toStartWith("svk_");
  await fetch(`${url}/runtime/${apiKey}/x?token=${token}`, { headers: { authorization: `Bearer ${apiKey}` } });
  await fetch(`${url}/${token}?user_code=${code.user_code}`);
  await post(`${url}/v1/svc/onboard`, "svt_wrong-secret", {});

  expect(await end()).toBe(0);
  const events = printed.stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events[0]).toMatchObject({ event: "listening", login: greeting.login, approval_code_file: codeFile });
  const requests = events.filter(({ event }) => event === "request");
  expect(requests.map(({ method, route, status }) => `${method} ${route} ${status}`)).toEqual([
    "GET /.well-known/jwks.json 200",
    "POST /oauth/device/code 200",
    "GET /device 200",
    "POST /device 200",
    "POST /oauth/device/token 200",
    "POST /v1/svc/onboard 200",
    "GET /runtime/:version/:file 404",
    "GET - 404",
    "POST /v1/svc/onboard 401",
  ]);
  expect(events.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    "bundle '9.9.9/linux-arm64.bundle' is not a bundle",
    "bundle '9.9.9/windows.bundle' is named for no platform: they are linux-x86_64, linux-arm64, macos-arm64",
  ]);
  const secrets = [
    approvalCode,
    code.device_code,
    code.user_code,
    token,
    apiKey,
    "svt_wrong-secret",
    browser.fields.csrf!,
  ];
  for (const secret of secrets) expect(printed.stderr).not.toContain(secret);
  for (const name of ["ledger.sqlite", "approval_code", "license_key.pub.pem", "serve.lock"])
    expect(statSync(join(data, name)).mode & 0o777).toBe(0o600);
  expect(statSync(join(data, "ledger.sqlite-wal"), { throwIfNoEntry: false })).toBeUndefined();
  expect(statSync(env.SVC_HOME, { throwIfNoEntry: false })).toBeUndefined();
});

test("a second one on the same folder is refused, and the first goes on", async () => {
  using folder = temporaryFolder();
  const env = { SVC_HOME: join(folder.path, "home") };
  const { printed, child, end } = await serving(["--json"], env);
  const second = await svc(SERVE, { preload, env });
  expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 1, stdout: "" });
  expect(second.stderr).toContain(
    `'organisation' in SVC_HOME is served by process ${child.pid} already: stop it first`,
  );
  const { url } = JSON.parse(printed.stdout);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(await end("SIGINT")).toBe(0);
  // The lock ends with its holder, and the key is the same.
  const again = await serving(["--json"], env);
  expect(JSON.parse(again.printed.stdout).license_key_fingerprint).toBe(
    JSON.parse(printed.stdout).license_key_fingerprint,
  );
  expect(await again.end()).toBe(0);
});

test("a request under way is answered before it ends, a connection without one is not waited for", async () => {
  using folder = temporaryFolder();
  const env = { SVC_HOME: join(folder.path, "home") };
  const { printed, end } = await serving(["--log-format", "json"], env);
  const port = Number(/^listening on http:\/\/127\.0\.0\.1:(\d+)\n$/.exec(printed.stdout)?.[1]);
  const silent = connect(port, "127.0.0.1");
  const form = "client_id=svc";
  const type = "Content-Type: application/x-www-form-urlencoded";
  const head = `POST /oauth/device/code HTTP/1.1\r\nHost: x\r\n${type}\r\nContent-Length: ${form.length}\r\n\r\n`;
  const socket = connect(port, "127.0.0.1");
  const answered = new Promise<string>((resolve, reject) => {
    socket.on("data", (data) => resolve(String(data)));
    socket.on("error", reject);
  });
  await new Promise<void>((resolve) => socket.write(head + form.slice(0, 3), () => resolve()));
  // An answer shows that what was written before it was asked for has come.
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  const ended = end();
  while (await accepts(port)) await Bun.sleep(5);
  socket.write(form.slice(3));
  expect(await answered).toStartWith("HTTP/1.1 200 OK");
  expect(await ended).toBe(0);
  silent.destroy();
  const events = printed.stderr.trimEnd().split("\n");
  expect(events.map((line) => JSON.parse(line).event)).toEqual(["listening", "bundles", "request", "request"]);
});

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

test("with its own certificate it speaks TLS", async () => {
  using folder = temporaryFolder();
  const env = { SVC_HOME: join(folder.path, "home") };
  const authority = new PrivateAuthority();
  const { cert, key } = authority.issue("localhost", "127.0.0.1");
  writeFileSync(join(folder.path, "cert.pem"), cert);
  writeFileSync(join(folder.path, "key.pem"), key, { mode: 0o600 });
  const files = ["--tls-cert", join(folder.path, "cert.pem"), "--tls-key", join(folder.path, "key.pem")];
  const { printed, end } = await serving(["--json", ...files], env);
  const { url } = JSON.parse(printed.stdout);
  expect(url).toStartWith("https://127.0.0.1:");
  const answer = await fetch(`${url}/.well-known/oauth-authorization-server`, { tls: { ca: authority.cert } });
  expect(await answer.json()).toMatchObject({ issuer: url });
  expect(await failure(() => fetch(url))).toBeInstanceOf(Error);
  expect(await end()).toBe(0);
});
