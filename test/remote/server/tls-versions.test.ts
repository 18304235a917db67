/** Which TLS the server speaks: 1.2 and 1.3, no downgrade, no renegotiation. By OpenSSL, another implementation. */
import { expect, test } from "bun:test";
import { Honest, TestServer } from "./raw.ts";
import { selfTls } from "./tls-server.ts";

const openssl = Bun.which("openssl");

/** What `openssl s_client` prints; `input` is what it reads from its terminal, which is kept open for a while. */
async function client(address: string, options: string[], input = ""): Promise<string> {
  const [, place] = /^tls:\/\/([^#]+)/.exec(address)!;
  const command = [openssl!, "s_client", "-connect", place!, ...options];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  child.stdin.write(input);
  await child.stdin.flush();
  setTimeout(() => void child.stdin.end(), 500);
  const printed = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return printed.join("");
}

test.skipIf(!openssl)(
  "old versions, downgrades and weak ciphers are refused (needs openssl)",
  async () => {
    await using server = await TestServer.start({ tls: await selfTls() });
    const honest = await Honest.start(server);
    expect(await client(server.address, [])).toContain("TLSv1.3");
    expect(await client(server.address, ["-tls1_2"])).toMatch(/New, TLSv1.2, Cipher is ECDHE-ECDSA-/);
    const none = /New, \(NONE\), Cipher is \(NONE\)/;
    for (const old of ["-tls1", "-tls1_1"]) {
      expect(await client(server.address, [old, "-cipher", "DEFAULT@SECLEVEL=0"])).toMatch(none);
    }
    expect(await client(server.address, ["-tls1_2", "-cipher", "AES128-SHA"])).toMatch(none);
    // As a client that was made to believe that the server does not speak 1.3 (RFC 7507).
    const downgraded = await client(server.address, ["-tls1_2", "-fallback_scsv"]);
    expect(downgraded).toMatch(none);
    expect(downgraded).toContain("inappropriate fallback");
    await honest.stop();
  },
  120_000,
);

test.skipIf(!openssl)(
  "renegotiation ends the connection (needs openssl)",
  async () => {
    await using server = await TestServer.start({ tls: await selfTls() });
    const honest = await Honest.start(server);
    expect(await client(server.address, ["-tls1_2"], "R\n")).toContain("no renegotiation");
    expect(server.logged("tls_failed").map(({ fields }) => fields?.why)).toEqual(["NO_RENEGOTIATION"]);
    await honest.stop();
  },
  120_000,
);
