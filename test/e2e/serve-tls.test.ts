/** `svc serve` of the executable over TLS, and its clients: what it keeps, prints, reads again, and refuses. */
import { beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../../src/remote/client/client.ts";
import { freePort } from "../free-port.ts";
import { until } from "../remote/server/raw.ts";
import { type Certified, PrivateAuthority } from "./certificate.ts";
import { emptyHome, type Home, Session, SVC, signedIn, svc } from "./home.ts";
import { servers } from "./served.ts";

const TOKEN = "sesame-4711";
const authority = new PrivateAuthority();
const start = servers();
let home: Home;

beforeAll(async () => {
  home = await signedIn();
});

const folder = () => mkdtempSync(join(tmpdir(), "svc-serve-tls-"));

/** Certificate and key in files, with their flags. */
function pairFiles(pair: Certified) {
  const at = folder();
  const [cert, key] = [join(at, "cert.pem"), join(at, "key.pem")];
  const write = (next: Certified) => {
    writeFileSync(cert, next.cert);
    writeFileSync(key, next.key);
  };
  write(pair);
  return { cert, key, write, flags: ["--tls-cert", cert, "--tls-key", key] };
}

/** Starts a server on loopback; resolves once it listens. */
async function serve(flags: string[], { env = home, port = "0" }: { env?: Home; port?: string } = {}) {
  const words = [
    "serve",
    "--path",
    join(folder(), "memory"),
    "--host",
    "127.0.0.1",
    "--port",
    port,
    "--json",
    ...flags,
  ];
  const { server, address, log } = await start([SVC, ...words], { ...env, SVC_ACCESS_TOKEN: TOKEN });
  const stop = async () => {
    server.kill("SIGTERM");
    return server.exited;
  };
  return { address, log, stop, hangUp: () => server.kill("SIGHUP") };
}

test("--tls self keeps its certificate under SVC_HOME, closed to others, and has it again at the next start", async () => {
  const first = await serve(["--tls", "self"]);
  const [, pin] = /^tls:\/\/127\.0\.0\.1:\d+#(SHA256:[\w-]{43})$/.exec(first.address)!;
  const file = join(home.SVC_HOME ?? join(home.HOME!, ".svc"), "serve_tls.pem");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await first.stop()).toBe(0);
  const second = await serve(["--tls", "self"]);
  expect(second.address).toEndWith(`#${pin}`);
  await using client = await connect(second.address, { token: TOKEN });
  await client.ping();

  const stop = async (how: () => void, message: RegExp) => {
    how();
    const words = ["serve", "--path", join(folder(), "m"), "--host", "127.0.0.1", "--port", "0", "--tls", "self"];
    const ended = await svc({ ...home, SVC_ACCESS_TOKEN: TOKEN }, words);
    expect(ended.err).toMatch(message);
    expect(ended.code).toBe(1);
  };
  const whole = readFileSync(file);
  await stop(() => chmodSync(file, 0o644), /others can reach the secret file/);
  chmodSync(file, 0o600);
  await stop(
    () => writeFileSync(file, whole.subarray(0, whole.length - 60)),
    /serve_tls\.pem under SVC_HOME is damaged/,
  );
  writeFileSync(file, whole);
  const third = await serve(["--tls", "self"]);
  expect(third.address).toEndWith(`#${pin}`);
});

test("two servers that start at once on an empty home have one certificate", async () => {
  const env = await signedIn();
  const servers = await Promise.all(Array.from({ length: 3 }, () => serve(["--tls", "self"], { env })));
  expect(new Set(servers.map(({ address }) => address.split("#")[1])).size).toBe(1);
});

test("svc mcp --remote takes the address as it is printed, and --tls-ca for an organisation's authority", async () => {
  const self = await serve(["--tls", "self"]);
  const given = await serve(pairFiles(authority.issue("localhost", "127.0.0.1")).flags);
  const env = { ...emptyHome(), SVC_ACCESS_TOKEN: TOKEN };
  const ca = join(folder(), "ca.pem");
  writeFileSync(ca, authority.cert);
  for (const words of [[self.address], [given.address, "--tls-ca", ca]]) {
    const session = await Session.open(env, "--remote", ...words);
    await session.call("svc_add", { collection: "team", texts: ["The kettle is broken."] });
    const { hits } = await session.call("svc_search", { collection: "team", query: "kettle" });
    expect(hits).toHaveLength(1);
  }
  const session = await Session.open(env, "--remote", given.address);
  const { text, isError } = await session.raw("svc_list_collections");
  expect(isError).toBe(true);
  expect(text).toContain("is refused: its certificate is not trusted");
});

test("an install into a project tries the address that it was given, with its --tls-ca", async () => {
  const server = await serve(pairFiles(authority.issue("127.0.0.1")).flags);
  const ca = join(folder(), "ca.pem");
  writeFileSync(ca, authority.cert);
  const env = { ...emptyHome(), SVC_ACCESS_TOKEN: TOKEN };
  const words = ["mcp", "install", "--client", "cursor", "--scope", "project", "--remote", server.address];
  const { code, out } = await svc(env, [...words, "--tls-ca", ca], "", { cwd: folder() });
  expect([code, out]).toEqual([0, expect.stringContaining("answered with 19 tools")]);
});

const REFUSED: [string, (at: string) => [cert: string, key: string], RegExp][] = [
  [
    "files that are not there",
    (at) => [join(at, "none.pem"), join(at, "none.key")],
    /--tls-cert: there is no file '.*none\.pem'/,
  ],
  [
    "a key of another certificate",
    () => [pairFiles(authority.issue("a")).cert, pairFiles(authority.issue("b")).key],
    /--tls-key: '.*key\.pem' is not the key of the first certificate in '.*cert\.pem'/,
  ],
  [
    "a certificate that has expired",
    () => {
      const { cert, key } = pairFiles(authority.expired("a"));
      return [cert, key];
    },
    /--tls-cert: '.*cert\.pem' expired on 2021/,
  ],
  [
    "files swapped",
    () => {
      const { cert, key } = pairFiles(authority.issue("a"));
      return [key, cert];
    },
    /--tls-cert: '.*key\.pem' holds no certificate in PEM/,
  ],
];

test.each(REFUSED)("%s: it does not start, and names the file", async (_, files, message) => {
  const [cert, key] = files(folder());
  const words = ["serve", "--path", join(folder(), "m"), "--host", "127.0.0.1", "--port", "0"];
  const ended = await svc({ ...home, SVC_ACCESS_TOKEN: TOKEN }, [...words, "--tls-cert", cert, "--tls-key", key]);
  expect(ended.err).toMatch(message);
  expect({ code: ended.code, out: ended.out }).toEqual({ code: 1, out: "" });
});

test.each([[[]], [["--supervise"]]])(
  "SIGHUP reads the certificate again at once, and open connections stay: %p",
  async (flags) => {
    const files = pairFiles(authority.issue("127.0.0.1"));
    const port = String(freePort());
    const server = await serve([...files.flags, ...flags], { port });
    const pinned = (tls: object) => connect(server.address, { token: TOKEN, tls });
    await using client = await pinned({ ca: authority.cert });
    await client.ping();
    const { instance } = await client.stats();
    const next = new PrivateAuthority("Another Root");
    files.write(next.issue("127.0.0.1"));
    server.hangUp();
    await until(`it to be read: ${server.log.text}`, () =>
      server.log.text.includes("new connections get the certificate"),
    );
    await using other = await pinned({ ca: next.cert });
    expect((await other.stats()).instance).toBe(instance);
    expect((await client.stats()).instance).toBe(instance);
    await expect(pinned({ ca: authority.cert })).rejects.toThrow("its certificate is not trusted");
    writeFileSync(files.key, "nonsense");
    server.hangUp();
    await until("the warning", () => server.log.text.includes("the certificate stays as it was: "));
    await using last = await pinned({ ca: next.cert });
    await last.ping();
    expect(await server.stop()).toBe(0);
  },
);

test("--client-ca lets in clients with a certificate and the token only", async () => {
  const ca = join(folder(), "clients.pem");
  writeFileSync(ca, authority.cert);
  const server = await serve(["--tls", "self", "--client-ca", ca]);
  await using client = await connect(server.address, { token: TOKEN, tls: authority.issueClient("ada") });
  await client.ping();
  await expect(connect(server.address, { token: TOKEN })).rejects.toThrow(
    "refuses this client's certificate, or requires",
  );
  await expect(connect(server.address, { token: "x", tls: authority.issueClient("ada") })).rejects.toThrow(
    "unauthorized",
  );
});

test("MCP clients and svc mem get into a --client-ca server with --tls-cert and --tls-key", async () => {
  const at = folder();
  const pem = (name: string, text: string) => {
    writeFileSync(join(at, name), text, { mode: 0o600 });
    return join(at, name);
  };
  const server = await serve(["--tls", "self", "--client-ca", pem("ca.pem", authority.cert)]);
  const ada = authority.issueClient("ada");
  const pair = ["--tls-cert", pem("ada.pem", ada.cert), "--tls-key", pem("ada.key", ada.key)];
  const there = ["--remote", server.address];
  const env: Home = { ...emptyHome(), SVC_ACCESS_TOKEN: TOKEN };
  const session = await Session.open(env, ...there, ...pair);
  await session.call("svc_add", { collection: "team", texts: ["The kettle is broken."] });
  expect((await svc(env, ["mem", "count", "team", ...there, ...pair])).out).toBe("1\n");

  const without = await svc(env, ["mem", "count", "team", ...there]);
  expect([without.code, without.err]).toEqual([1, expect.stringMatching(/--client-ca.*--tls-cert/s)]);
  const half = await svc(env, ["mem", "count", "team", ...there, ...pair.slice(0, 2)]);
  expect([half.code, half.err]).toEqual([2, expect.stringContaining("belong together")]);
  const local = await svc(env, ["mem", "count", "team", ...pair]);
  expect([local.code, local.err]).toEqual([2, expect.stringContaining("give --remote too")]);

  const install = ["mcp", "install", "--client", "cursor"];
  const installed = await svc(env, [...install, ...there, "--tls-cert", "ada.pem", "--tls-key", "ada.key"], "", {
    cwd: at,
  });
  expect([installed.code, installed.out]).toEqual([0, expect.stringContaining("answered with 19 tools")]);
  const args = () => JSON.parse(readFileSync(join(env.HOME!, ".cursor/mcp.json"), "utf8")).mcpServers.svc.args;
  expect(args().join(" ")).toContain(pair.join(" "));
  // An install without them keeps them.
  expect((await svc(env, [...install, "--tools", "core"])).code).toBe(0);
  expect(args().join(" ")).toContain(pair.join(" "));
}, 120_000);
