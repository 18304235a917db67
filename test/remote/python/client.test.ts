/** The Python client, by Python's own test runner: against scripted servers that misbehave, and against a real one. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { LocalStore } from "../../../src/api/local-store.ts";
import { serve } from "../../../src/remote/server/server.ts";
import { PrivateAuthority } from "../../e2e/certificate.ts";
import { ended } from "../../ended.ts";
import { native, scratchDir } from "../../fixture.ts";
import { TestServer, TOKEN } from "../server/raw.ts";
import { fileOf, PairFiles, selfTls } from "../server/tls-server.ts";

const ROOT = join(import.meta.dir, "../../..");
const PYTHON = usablePython();

/** A server that a test started. */
interface Served {
  address: string;
  token?: string;
  stop(): Promise<void>;
}

/** Starts a server on an empty memory. */
async function startServer(transport: "unix" | "tcp" | "tls"): Promise<Served> {
  const store = new LocalStore(scratchDir(), await native(), "0.0.0-test");
  const token = transport === "unix" ? undefined : crypto.randomUUID();
  const tls = transport === "tls" ? await selfTls() : undefined;
  const server = await serve(
    token
      ? { store, host: "127.0.0.1", port: 0, accessToken: token, tls }
      : { store, socketPath: join(scratchDir(), "svc.sock") },
  );
  const stop = async () => {
    await server.stop();
    await store.close();
  };
  return { address: server.address, token, stop };
}

/** The system's Python, where it is one that the client supports. */
function usablePython(): string | undefined {
  const path = Bun.which("python3");
  const check = "import sys; sys.exit(sys.version_info < (3, 8))";
  return path && Bun.spawnSync([path, "-c", check]).success ? path : undefined;
}

/** Runs the files that a pattern names. Python writes what happened to stderr. */
async function unittest(pattern: string, env: Record<string, string> = {}): Promise<{ code: number; report: string }> {
  const { SVC_TEST_ADDRESS: _, SVC_TEST_TOKEN: __, ...inherited } = process.env;
  const child = Bun.spawn([PYTHON!, "-m", "unittest", "discover", "-s", "test/remote/python", "-p", pattern], {
    cwd: ROOT,
    env: { ...inherited, PYTHONPATH: "src/remote/python", PYTHONDONTWRITEBYTECODE: "1", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const { code, out, err } = await ended(child);
  return { code, report: out + err };
}

/** A run that passed, with at least one test that was not skipped; otherwise the message is Python's own report. */
function expectPassed({ code, report }: { code: number; report: string }): void {
  const ran = Number(report.match(/^Ran (\d+) tests? in /m)?.[1] ?? 0);
  const skipped = Number(report.match(/^OK \(skipped=(\d+)\)$/m)?.[1] ?? 0);
  if (code !== 0 || ran <= skipped) throw new Error(`Python's tests did not pass (exit code ${code})\n${report}`);
  expect(ran).toBeGreaterThan(skipped);
}

test.skipIf(!PYTHON).each(["address", "filters", "vectors", "requests", "connection", "endings"])(
  "the Python client: %s (needs Python 3.8 or newer)",
  async (name) => {
    expectPassed(await unittest(`test_${name}.py`));
  },
  120_000,
);

test.skipIf(!PYTHON).each(["unix", "tcp", "tls"] as const)(
  "the Python client on a real server over %s (needs Python 3.8 or newer)",
  async (transport) => {
    const server = await startServer(transport);
    try {
      const env = { SVC_TEST_ADDRESS: server.address, SVC_TEST_TOKEN: server.token ?? "" };
      expectPassed(await unittest("test_server.py", env));
    } finally {
      await server.stop();
    }
  },
  120_000,
);

test.skipIf(!PYTHON)(
  "the Python client over TLS (needs Python 3.8 or newer)",
  async () => {
    const [authority, other] = [new PrivateAuthority(), new PrivateAuthority("Another Root")];
    const signed = new PairFiles(authority.issue("127.0.0.1"));
    const client = new PairFiles(authority.issueClient("ada"));
    const foreign = new PairFiles(other.issueClient("eve"));
    // A server refuses to start with this one: it has expired while it was running.
    const expired = signed.tls();
    expired.options = authority.expired("127.0.0.1");
    const ca = fileOf(authority.cert);
    await using own = await TestServer.start({ tls: await selfTls() });
    await using one = await TestServer.start({ tls: signed.tls() });
    await using late = await TestServer.start({ tls: expired });
    await using elsewhere = await TestServer.start({ tls: new PairFiles(authority.issue("svc.example.org")).tls() });
    await using mutual = await TestServer.start({ tls: await selfTls(undefined, ca) });
    await using plain = await TestServer.start({ tcp: true });
    const servers = {
      token: TOKEN,
      own: own.address,
      signed: one.address,
      expired: late.address,
      elsewhere: elsewhere.address,
      mutual: mutual.address,
      plain: plain.address,
      ca,
      other_ca: fileOf(other.cert),
      client_cert: client.cert,
      client_key: client.key,
      other_cert: foreign.cert,
      other_key: foreign.key,
    };
    expectPassed(await unittest("test_tls.py", { SVC_TEST_SERVERS: JSON.stringify(servers) }));
  },
  120_000,
);
