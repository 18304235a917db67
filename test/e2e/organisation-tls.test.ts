/** An authority behind a TLS proxy, with certificates of an organisation's own, and a client in another language. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { accountPaths } from "../../src/paths.ts";
import { freePort } from "../free-port.ts";
import { approve, Browser } from "../trust/authority/visitor.ts";
import { PrivateAuthority } from "./certificate.ts";
import { type Ended, emptyHome, type Home, svc } from "./home.ts";
import { loginByPage, Organisation } from "./organisation.ts";
import { tlsProxy } from "./proxy.ts";

const ca = new PrivateAuthority();
const certified = ca.issue("localhost", "127.0.0.1");
const python = Bun.which("python3");

function fileOf(home: Home, name: string, content: string): string {
  const path = join(home.HOME!, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** A login by an enrolment key, without the install. */
function enter(org: Organisation, home: Home, key: string, more: string[] = []): Promise<Ended> {
  return svc(home, [...org.loginWords(home), "--enroll-key", "-", "--no-install", ...more], `${key}\n`);
}

/** Runs the client in Python to its end. */
async function inPython(org: Organisation, words: string[], input = "", onPage?: (page: string) => Promise<void>) {
  const script = join(import.meta.dir, "enroll.py");
  const child = Bun.spawn([python!, script, org.url, "--ca", fileOf(emptyHome(), "ca.pem", ca.cert), ...words], {
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: process.env.PATH ?? "" },
  });
  const err = new Response(child.stderr).text();
  let out = "";
  for await (const bytes of child.stdout) {
    out += new TextDecoder().decode(bytes);
    const first = out.split("\n")[0]!;
    if (onPage && out.includes("\n") && first.includes('"page"')) {
      await onPage(JSON.parse(first).page);
      onPage = undefined;
    }
  }
  return { code: await child.exited, last: out.trim().split("\n").at(-1)!, err: await err };
}

describe("behind a trusted proxy", () => {
  let org: Organisation;
  let proxy: Awaited<ReturnType<typeof tlsProxy>>;
  beforeAll(async () => {
    const port = freePort();
    proxy = await tlsProxy({ ...certified, to: port, forwardedFor: "203.0.113.9" });
    const words = ["--public-url", `https://localhost:${proxy.port}`, "--trusted-proxy", "127.0.0.1"];
    org = await Organisation.found({ port, words });
  });
  afterAll(async () => {
    await proxy?.close();
    await org?.end();
  });

  test("a machine with the organisation's own root gets in, and goes on there without it being named again", async () => {
    expect(org.url).toBe(`https://localhost:${proxy.port}`);
    const home = emptyHome();
    const without = await enter(org, home, await org.enrollKey());
    expect(without).toMatchObject({ code: 1, out: "", err: expect.stringContaining("--ca-file") });
    const file = fileOf(home, "ca.pem", ca.cert);
    expect(await enter(org, home, await org.enrollKey(), ["--ca-file", file])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(accountPaths(home.SVC_HOME!).pin, "utf8"))).toMatchObject({
      issuer: org.url,
      ca: ca.cert,
    });
    expect(await svc(home, ["runtime", "install"])).toMatchObject({ code: 0 });
    const again = await svc(home, ["login", "--enroll-key", "-"], `${await org.enrollKey()}\n`);
    expect(again).toMatchObject({ code: 0 });
  });

  test("a person approves in a browser; the page says from where the request came", async () => {
    const home = emptyHome();
    const words = [...org.loginWords(home), "--ca-file", fileOf(home, "ca.pem", ca.cert), "--no-install"];
    expect(await loginByPage(org, home, words, { ca: ca.cert })).toMatchObject({ code: 0 });
    const approved = JSON.parse(
      (await org.run(["audit"])).out.split("\n").findLast((line) => line.includes("login_approved"))!,
    );
    expect(approved.address).toBe("203.0.113.9");
  });

  test("headers from a connection that is not the proxy's are ignored", async () => {
    const log = org.log.length;
    await asked(org.port, "127.0.0.2", { "x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https" });
    await asked(org.port, "127.0.0.1", { "x-forwarded-for": "198.51.100.8, 203.0.113.50" });
    for (let i = 0; i < 1000 && !org.log.slice(log).includes("203.0.113.50"); i++) await Bun.sleep(20);
    const addresses = org.log
      .slice(log)
      .split("\n")
      .filter((line) => line.includes("/healthz"))
      .map((line) => JSON.parse(line).address);
    expect(addresses).toEqual(["127.0.0.2", "203.0.113.50"]);
  });

  test.skipIf(!python)(
    "a client in Python enrols by the device flow and verifies its licence (needs python3)",
    async () => {
      const { code, last, err } = await inPython(org, [], "", (page) =>
        approve(page, "snake@example.test", org.approvalCode, new Browser(ca.cert)),
      );
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(JSON.parse(last).claims).toMatchObject({ sub: "snake@example.test", ver: 2 });
    },
  );

  test.skipIf(!python)("and by an enrolment key, once, after a roll-over too (needs python3)", async () => {
    const key = await org.enrollKey("--account", "ci");
    const { code, last, err } = await inPython(org, ["--enroll-key"], `${key}\n`);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(last).claims).toMatchObject({ sub: "ci" });
    const again = await inPython(org, ["--enroll-key"], `${key}\n`);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("enroll_key_used") });
    expect((await org.run(["keys", "roll-over"])).code).toBe(0);
    expect((await inPython(org, ["--enroll-key"], `${await org.enrollKey()}\n`)).code).toBe(0);
  });
});

describe("with a certificate of its own", () => {
  test("machines with the private root get in; without it the error names --ca-file", async () => {
    const home = emptyHome();
    const words = [
      "--tls-cert",
      fileOf(home, "cert.pem", certified.cert),
      "--tls-key",
      fileOf(home, "key.pem", certified.key),
    ];
    const port = freePort();
    await using org = await Organisation.found({
      port,
      words: [...words, "--public-url", `https://localhost:${port}`],
    });
    const without = await enter(org, home, await org.enrollKey());
    expect(without).toMatchObject({ code: 1, out: "", err: expect.stringContaining("--ca-file") });
    const another = new PrivateAuthority("Another Root");
    const wrong = await enter(org, home, await org.enrollKey(), ["--ca-file", fileOf(home, "wrong.pem", another.cert)]);
    expect(wrong).toMatchObject({ code: 1, out: "", err: expect.stringContaining("certificate") });
    const key = await org.enrollKey();
    expect(await enter(org, home, key, ["--ca-file", fileOf(home, "ca.pem", ca.cert)])).toMatchObject({ code: 0 });
    expect(await org.end()).toBe(0);
  });
});

/** Asks for the health of the authority at a port from an address of loopback. */
function asked(port: number, localAddress: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, path: "/healthz", localAddress, headers, agent: false },
      (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}
