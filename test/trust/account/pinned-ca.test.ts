/** The CA that a login has pinned: every request to that origin believes it and no other, and no other request does. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { accountPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { fetchBundle } from "../../../src/trust/account/login/packages.ts";
import { renewByConsent, settleConsent } from "../../../src/trust/account/login/renewal.ts";
import { configuredEndpoints } from "../../../src/trust/account/trusted/endpoints.ts";
import { httpRequest } from "../../../src/trust/account/trusted/http.ts";
import { PrivateAuthority } from "../../e2e/certificate.ts";
import { organisation } from "./front.ts";
import { failure, fakeServer, goodClaims, keepForTest, LOCAL_BUILD, newHome, signed } from "./helpers.ts";
import { enter, fileOf, flagsOf } from "./organisation-login.ts";

const [one, two] = [new PrivateAuthority("One"), new PrivateAuthority("Two")];

/** What a request gets: an answer's text, or the code of what is wrong with the certificate. */
async function asked(url: string, pem?: string, origin = url): Promise<string> {
  try {
    const ca = pem === undefined ? undefined : { origin, pem };
    return new TextDecoder().decode((await httpRequest(url, "/", { peer: "it", ca })).body);
  } catch (error) {
    return /certificate (?:is not trusted|.+)/.exec((error as Error).message)?.[0].split(" (")[0] ?? String(error);
  }
}

/** A proxy that leads every tunnel to one port, as https through HTTPS_PROXY. */
async function tunnelTo(port: () => number): Promise<string> {
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket);
    let head = "";
    const listen = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", listen);
      const to = connect(port(), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connected\r\n\r\n");
        socket.pipe(to).pipe(socket);
      });
      to.on("error", () => socket.destroy());
      socket.on("error", () => to.destroy());
    };
    socket.on("data", listen);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.listen(0, "127.0.0.1", resolve);
  await promise;
  keepForTest({
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  });
  return `http://127.0.0.1:${(proxy.address() as { port: number }).port}`;
}

describe("a pinned CA", () => {
  const UNTRUSTED = "certificate is not trusted";

  test("replaces all others for its origin, on connections that are kept open too", async () => {
    const servers = [one, two].map((ca) =>
      fakeServer(() => new Response(ca.name), { tls: ca.issue("localhost"), host: "localhost" }),
    );
    const [a, b] = servers.map(({ url }) => url) as [string, string];
    for (let round = 0; round < 2; round++) {
      expect(await asked(a, one.cert)).toBe("One");
      expect(await asked(a, two.cert)).toBe(UNTRUSTED);
      expect(await asked(a)).toBe(UNTRUSTED);
      expect(await asked(b, two.cert)).toBe("Two");
      expect(await asked(b, one.cert + two.cert)).toBe("Two");
      // It is said of another origin.
      expect(await asked(b, two.cert, a)).toBe(UNTRUSTED);
    }
  });

  test("counts behind a proxy of the environment", async () => {
    const servers = [one, two].map((ca) => fakeServer(() => new Response(ca.name), { tls: ca.issue("svc.example") }));
    let at = 0;
    const { HTTPS_PROXY } = process.env;
    process.env.HTTPS_PROXY = await tunnelTo(() => Number(new URL(servers[at]!.url).port));
    try {
      const url = "https://svc.example";
      expect(await asked(url, one.cert)).toBe("One");
      expect(await asked(url, two.cert)).toBe(UNTRUSTED);
      expect(await asked(url)).toBe(UNTRUSTED);
      at = 1;
      expect(await asked(url, two.cert)).toBe("Two");
    } finally {
      if (HTTPS_PROXY === undefined) delete process.env.HTTPS_PROXY;
      else process.env.HTTPS_PROXY = HTTPS_PROXY;
    }
  });

  test("is used by bundles and renewals", async () => {
    const front = await organisation({ tls: one.issue("localhost"), licenseDays: 90 });
    const home = newHome();
    const { apiKey, license } = (await enter(home, { ...flagsOf(front), caFile: fileOf(home, "ca.pem", one.cert) }))!;
    const { ca } = configuredEndpoints({}, home, LOCAL_BUILD)!;

    front.instead["/runtime/1.0.0/linux-x86_64.bundle"] = () => new Response("a bundle");
    const request = { packages: front.url, version: "1.0.0", tag: "linux-x86_64" } as const;
    const bundle = await fetchBundle({ ...request, ca });
    expect(new TextDecoder().decode(bundle)).toBe("a bundle");
    expect((await failure(() => fetchBundle(request))).message).toContain(UNTRUSTED);

    await settleConsent(home, { wanted: true, api: front.url, apiKey });
    const begun = Math.floor(Date.now() / 1000) - 61 * 86_400;
    const aged = await signed({ ...goodClaims(license.deviceThumbprint, begun), exp: begun + 90 * 86_400 });
    writeFileSync(accountPaths(home).license, `${aged}\n`);
    const known = await requireLogin(home, {}, { build: LOCAL_BUILD });
    const renewed = await renewByConsent(home, {}, known, { build: LOCAL_BUILD });
    expect(renewed!.expiresAt).toBeGreaterThan(known.expiresAt);
  });
});
