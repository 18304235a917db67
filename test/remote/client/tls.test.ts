/** The client over TLS: which servers it accepts, and what it says of the others. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { type Address, parseAddress } from "../../../src/remote/client/address.ts";
import { connect } from "../../../src/remote/client/client.ts";
import { handshakeFault } from "../../../src/remote/client/tls.ts";
import { fingerprintOf } from "../../../src/remote/wire/fingerprint.ts";
import { PrivateAuthority } from "../../e2e/certificate.ts";
import { scratchDir } from "../../fixture.ts";
import { TestServer, TOKEN } from "../server/raw.ts";
import { fileOf, PairFiles, selfTls } from "../server/tls-server.ts";
import { failure } from "./server.ts";

const authority = new PrivateAuthority();
const { cert: ca } = authority;

test("an address with a fingerprint needs no further argument", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  await using client = await connect(server.address, { token: TOKEN });
  await client.ping();
  expect(await client.collections()).toEqual([]);
});

test("a certificate that changed after it was pinned is refused, with both fingerprints, before the token is sent", async () => {
  const tls = await selfTls();
  await using server = await TestServer.start({ tls });
  const [place, pin] = server.address.split("#");
  const earlier = `SHA256:${"A".repeat(43)}`;
  const error = await failure(connect(`${place}#${earlier}`, { token: TOKEN }));
  expect(error).toMatchObject({ type: "PermissionError" });
  expect(error.message).toContain(pin!);
  expect(error.message).toContain(earlier);
  expect(error.message).toContain("ask for the new address");
  expect(server.logged("unauthorized")).toEqual([]);
});

test("the pinned certificate does not count before the handshake is done, whatever the fault is called", () => {
  const { cert } = authority.issue("127.0.0.1");
  const { raw } = new X509Certificate(cert);
  const pinned = parseAddress(`tls://127.0.0.1:1#${fingerprintOf(raw)}`) as Address & { kind: "tcp" };
  const peer = { authorized: false, getPeerX509Certificate: () => ({ raw }) };
  const fault = (code: string) => Object.assign(new Error("it failed"), { code });
  for (const error of [null, fault("ETIMEDOUT"), fault("EPROTO"), new Error("no code")])
    expect(handshakeFault(pinned, peer, false, error)).toMatchObject({ type: "OSError" });
  expect(handshakeFault(pinned, peer, true, fault("CERT_HAS_EXPIRED"))).toBeUndefined();
  // Bun calls a handshake with such a certificate not done, although it is.
  expect(handshakeFault(pinned, peer, false, fault("DEPTH_ZERO_SELF_SIGNED_CERT"))).toBeUndefined();
});

test("a server that shows the pinned certificate and does not complete the handshake gets no token", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const port = Number(/:(\d+)$/.exec(server.address.split("#")[0]!)![1]);
  // Stands between: changes the last bytes of what the server sends.
  const between = Bun.listen<{ to?: Bun.Socket<unknown>; early: Buffer[] }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async open(socket) {
        socket.data = { early: [] };
        const data = (_: unknown, chunk: Buffer) => {
          const changed = Buffer.from(chunk);
          changed[changed.length - 5]! ^= 1;
          socket.write(changed);
        };
        socket.data.to = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data } });
        for (const chunk of socket.data.early) socket.data.to.write(chunk);
      },
      data(socket, chunk) {
        if (socket.data.to) socket.data.to.write(chunk);
        else socket.data.early.push(Buffer.from(chunk));
      },
    },
  });
  const address = server.address.replace(String(port), String(between.port));
  expect((await failure(connect(address, { token: TOKEN }))).message).toContain("no TLS connection to");
  between.stop(true);
});

test("without a fingerprint the certificate has to be of a known authority, for this host, and valid now", async () => {
  const files = new PairFiles(authority.issue("localhost", "127.0.0.1"));
  const tls = files.tls();
  await using server = await TestServer.start({ tls });
  const port = /:(\d+)$/.exec(server.address)![1];
  const at = (host: string, ca?: string) => connect(`tls://${host}:${port}`, { token: TOKEN, tls: ca ? { ca } : {} });
  for (const given of [ca, fileOf(ca)]) {
    await using byAddress = await at("127.0.0.1", given);
    await byAddress.ping();
    await using byName = await at("localhost", given);
    await byName.ping();
  }
  const unknown = await failure(at("127.0.0.1"));
  expect(unknown).toMatchObject({ type: "PermissionError" });
  expect(unknown.message).toMatch(
    /^tls:\/\/127\.0\.0\.1:\d+ is refused: its certificate is not trusted \(\w+\); give its/,
  );
  const other = new PrivateAuthority("Another Root");
  expect((await failure(at("127.0.0.1", other.cert))).message).toContain("its certificate is not trusted");

  files.write(authority.issue("svc.example.org"));
  tls.reread();
  const elsewhere = await failure(at("127.0.0.1", ca));
  expect(elsewhere).toMatchObject({ type: "PermissionError" });
  expect(elsewhere.message).toContain("its certificate is for another name");

  // A server refuses to begin with it; clients meet one whose server runs on.
  tls.options = authority.expired("127.0.0.1");
  expect((await failure(at("127.0.0.1", ca))).message).toContain("its certificate has expired by this machine's clock");
  expect(server.logged("unauthorized")).toEqual([]);
});

test("NODE_TLS_REJECT_UNAUTHORIZED does not turn the check off", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const script = `
    const { connect } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/remote/client/client.ts"))});
    await connect(process.argv[1], { token: "secret" }).then(() => console.log("connected"), (e) => console.log(e.message));
    process.exit(0);`;
  const [place] = server.address.split("#");
  const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  const child = Bun.spawn([process.execPath, "-e", script, place!], { env, stderr: "ignore" });
  expect(await new Response(child.stdout).text()).toContain("is refused: its certificate");
});

test("a server that does not finish its handshake is a TimeoutError, and the connection is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const socket = { data() {}, close: () => closed.resolve() };
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  const error = await failure(connect(`tls://127.0.0.1:${silent.port}`, { token: TOKEN, tls: { ca }, timeoutMs: 100 }));
  expect(error).toMatchObject({ type: "TimeoutError" });
  expect(error.message).toStartWith(`no connection to tls://127.0.0.1:${silent.port} within 100 ms`);
  await closed.promise;
  silent.stop(true);
});

test("options that do not fit are refused before anything is sent", async () => {
  const pinned = `tls://localhost:1#SHA256:${"A".repeat(43)}`;
  const cases: [string, object, string][] = [
    ["tcp://localhost:1", { ca }, "tls is for an address that begins with tls://"],
    ["./s.sock", { ca }, "tls is for an address that begins with tls://"],
    [pinned, { ca }, "leave tls.ca out"],
    ["tls://localhost:1", { ca: "" }, "tls.ca"],
    [pinned, { cert: ca }, "tls.cert and tls.key belong together"],
    ["tls://localhost:1", { ca: "/nowhere/ca.pem" }, "tls.ca: there is no file '/nowhere/ca.pem'"],
    ["tls://localhost:1", { ca: join(import.meta.dir, "server.ts") }, "holds nothing in PEM"],
    ["tls://localhost:1", { ca: scratchDir() }, "tls.ca: "],
    [pinned, { cert: "-----BEGIN NONSENSE-----", key: ca }, "tls.cert holds no certificate in PEM"],
    [pinned, { cert: ca, key: ca }, "tls.key holds no private key in PEM"],
    [pinned, { cert: ca, key: authority.issueClient("ada").key }, "tls.key is not the key of tls.cert"],
    ["tls://localhost:1", { ca: "-----BEGIN NONSENSE-----" }, "tls.ca holds no certificate in PEM"],
  ];
  for (const [address, tls, message] of cases) {
    const error = await failure(connect(address, { token: TOKEN, tls }));
    expect(error).toMatchObject({ type: "ValueError" });
    expect(error.message).toContain(message);
  }
});

test("tls that is not an object, or holds another type, is an ArgumentTypeError", async () => {
  for (const tls of [true, "ca.pem", null, [], { ca: 7 }]) {
    const error = await failure(connect("tls://localhost:1", { token: TOKEN, tls: tls as never }));
    expect(error.message).toMatch(/^tls(\.ca)? must be /);
  }
});

test("a connection that is reset in its beginning is tried again, within the deadline", async () => {
  const pair = authority.issue("127.0.0.1");
  await using server = await TestServer.start({ tls: new PairFiles(pair).tls() });
  const port = Number(/:(\d+)$/.exec(server.address)![1]);
  let count = 0;
  // In front of the server: resets connections, and hands later ones through.
  const start = (resets: number) => {
    count = 0;
    return Bun.listen<{ to?: Bun.Socket<unknown>; early: Buffer[] }>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        async open(socket) {
          socket.data = { early: [] };
          if (count++ < resets) return void socket.terminate();
          const events = {
            data: (_: unknown, chunk: Buffer) => void socket.write(chunk),
            close: () => void socket.end(),
          };
          const to = await Bun.connect({ hostname: "127.0.0.1", port, socket: events });
          for (const chunk of socket.data.early) to.write(chunk);
          socket.data.to = to;
        },
        data(socket, chunk) {
          if (socket.data.to) socket.data.to.write(chunk);
          else socket.data.early.push(Buffer.from(chunk));
        },
        close: (socket) => void socket.data?.to?.end(),
      },
    });
  };
  const front = start(2);
  await using client = await connect(`tls://127.0.0.1:${front.port}`, { token: TOKEN, tls: { ca } });
  await client.ping();
  expect(count).toBe(3);
  front.stop(true);
  const closed = start(Number.POSITIVE_INFINITY);
  const error = await failure(connect(`tls://127.0.0.1:${closed.port}`, { token: TOKEN, tls: { ca } }));
  expect(error).toMatchObject({ type: "OSError" });
  expect(error.message).toContain("closed the connection in the TLS handshake");
  expect(count).toBe(3);
  count = 0;
  await failure(connect(`tls://127.0.0.1:${closed.port}`, { token: TOKEN, tls: { ca }, timeoutMs: 10 }));
  expect(count).toBe(1);
  closed.stop(true);
});
