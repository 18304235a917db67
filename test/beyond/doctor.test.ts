/** `svc doctor` on real servers: the compiled executable finds what keeps a machine from being a node. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { type Home, signedIn, svc } from "../e2e/home.ts";
import { scratchDir } from "../fixture.ts";
import { client } from "./client.ts";
import { hasServers, NEEDS, PASSWORD } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import { TcpProxy } from "./proxy.ts";
import { Standby } from "./standby.ts";
import { LOCALHOST, OTHER_HOST, ROOT_CERTIFICATE } from "./tls.ts";

const TIMEOUT_MS = 120_000;

/** What the doctor found. */
interface Looked {
  code: number;
  all: Finding[];
  /** The findings about the database of one check. */
  of(check: string): Finding[];
}

describe.skipIf(!hasServers())(`svc doctor and a database ${NEEDS}`, () => {
  let home: Home;
  let server: PostgresServer;

  beforeAll(async () => {
    home = await signedIn();
    server = await PostgresServer.start({ dir: join(scratchDir(), "server") });
  }, TIMEOUT_MS);

  /** The findings about the database, by their checks, and the exit code. */
  async function look(address: string, env = home): Promise<Looked> {
    const file = join(scratchDir(), "engine");
    writeFileSync(file, address, { mode: 0o600 });
    const { code, out, err } = await svc(env, ["doctor", "--json", "--engine-file", file]);
    expect(err).toBe("");
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(out).not.toContain(secret);
    const { findings } = JSON.parse(out) as { findings: Finding[] };
    return { code, all: findings, of: (check) => findings.filter((one) => one.check === `database.${check}`) };
  }

  test(
    "before and after the first commands, and on a node that is behind",
    async () => {
      const empty = await look(server.url);
      expect([empty.code, empty.of("schema")[0]?.level, empty.of("copy")[0]?.level]).toEqual([0, "ok", "ok"]);
      expect(empty.of("standby")).toMatchObject([{ level: "warning" }]);
      const sql = client(server.url);
      expect(await sql.unsafe("select 1 from pg_namespace where nspname = 'svc'")).toHaveLength(0);

      const node = { ...home, SVC_ENGINE_URL: server.url };
      expect((await svc(node, ["mem", "add", "notes", "one"])).code).toBe(0);
      const good = await look(server.url);
      expect(good.of("current")).toMatchObject([{ message: "1 collection at the database's generation" }]);
      expect(good.of("rights")).toMatchObject([{ level: "ok" }]);
      const other = { ...(await signedIn()), SVC_ENGINE_URL: server.url };
      expect((await svc(other, ["mem", "add", "notes", "two"])).code).toBe(0);
      expect((await look(server.url)).of("lag")).toMatchObject([
        { level: "ok", message: expect.stringMatching(/behind/) },
      ]);

      const folder = join(home.SVC_HOME!, "copies", readdirSync(join(home.SVC_HOME!, "copies"))[0]!, "notes");
      truncateSync(join(folder, readdirSync(folder).find((name) => name.startsWith("base-"))!), 100);
      const cut = await look(server.url);
      expect(cut.of("lag")).toMatchObject([{ message: expect.stringMatching(/incomplete here/) }]);
      expect(cut.all.find(({ check }) => check === "memory.damaged")?.remedy).toMatch(/rm -r .*notes/);
      expect((await svc(node, ["mem", "count", "notes"])).out).toContain("2");

      await sql.unsafe("update svc.svc_memory set id = gen_random_uuid()");
      const foreign = await look(server.url);
      expect([foreign.code, foreign.of("copy")[0]?.level]).toEqual([1, "problem"]);
      await sql.unsafe("update svc.svc_version set version = 99");
      expect((await look(server.url)).of("schema")).toMatchObject([{ level: "problem", remedy: "svc upgrade" }]);
      await sql.unsafe("update svc.svc_version set version = 1");
    },
    TIMEOUT_MS,
  );

  test(
    "a role that can do nothing yet, a password that is wrong, and a silent server",
    async () => {
      const sql = client(server.url);
      await sql.unsafe("create role plain login password 'plain-word'");
      const plain = server.url.replace(/\/\/[^@]*@/, "//plain:plain-word@");
      expect((await look(plain)).of("failed")).toMatchObject([{ level: "problem" }]);
      await sql.unsafe("grant usage on schema svc to plain; grant select on all tables in schema svc to plain");
      expect((await look(plain)).of("rights")).toMatchObject([{ remedy: expect.stringMatching(/^grant it DELETE/) }]);
      const { code, of } = await look(server.url.replace(/\/\/[^@]*@/, "//plain:other-word@"));
      expect([code, of("connection")[0]?.remedy]).toEqual([1, "correct them in the address"]);
      await server.freeze();
      expect((await look(server.url)).of("connection")).toMatchObject([
        { message: expect.stringMatching(/no answer/) },
      ]);
      server.thaw();
    },
    TIMEOUT_MS,
  );

  test(
    "a synchronous standby, connected and not, as a role without privileges sees it",
    async () => {
      const primary = await PostgresServer.start({ dir: join(scratchDir(), "primary") });
      const standby = await Standby.of(primary, { dir: join(scratchDir(), "standby") });
      const sql = client(primary.url);
      await sql.unsafe("create role plain login password 'plain-word'; grant create on database postgres to plain");
      const plain = primary.url.replace(/\/\/[^@]*@/, "//plain:plain-word@");
      const both = plain.replace("/postgres", `,127.0.0.1:${standby.port}/postgres`);
      const found = await look(both);
      expect(found.of("standby")).toMatchObject([{ level: "ok" }]);
      expect(found.of("connection").map(({ level }) => level)).toEqual(["ok", "ok"]);
      await standby.kill();
      expect((await look(both)).of("connection").map(({ level }) => level)).toEqual(["ok", "warning"]);
      expect((await look(both)).of("standby")).toMatchObject([{ level: "problem" }]);
    },
    TIMEOUT_MS,
  );

  test(
    "certificates: the right one, and that of another host",
    async () => {
      const root = join(scratchDir(), "root.pem");
      writeFileSync(root, ROOT_CERTIFICATE);
      const good = await PostgresServer.start({ dir: join(scratchDir(), "good"), tls: LOCALHOST });
      const trusted = await look(`${good.url}?sslrootcert=${root}`);
      expect([trusted.code, trusted.of("tls")[0]?.level, trusted.of("connection")[0]?.level]).toEqual([0, "ok", "ok"]);
      const bad = await PostgresServer.start({ dir: join(scratchDir(), "bad"), tls: OTHER_HOST });
      expect((await look(`${bad.url}?sslrootcert=${root}`)).of("connection")).toMatchObject([
        { level: "problem", message: expect.stringMatching(/another name/) },
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    "a connection that is cut while it is looked at",
    async () => {
      const proxy = await TcpProxy.start(server.port);
      proxy.once({ sends: /pg_stat_replication/, passes: false, action: "cut" });
      expect((await look(server.urlAt(proxy.port))).of("failed")).toMatchObject([{ level: "problem" }]);
    },
    TIMEOUT_MS,
  );
});
